/**
 * Liveness of workers (section 2.2): "running workers write a token into the Chubby lockservice to
 * indicate they belong to the system; other workers can use the existence of this token as a sign
 * that the worker is alive (the token is automatically deleted when the process exits)."
 *
 * Liveness is only ever a hint that makes clean-up faster. A living worker that is taken for dead
 * loses its transactions, never data: what decides is the conditional mutation of the primary
 * (P26).
 */
export interface Liveness {
  /**
   * This process's token: written into its locks. Databases may share this object. No other object
   * may have its token: a database with one object would take live locks of a database with the
   * other for locks of its own dead attempts, and roll them back at once (P29). No data is lost:
   * these commits fail with ROLLED_BACK.
   */
  readonly self: string;
  /**
   * True if the owner of the token has exited, as far as is known here; false if it is alive, or if
   * nothing is known. A process that was stopped, or cut off, may be reported dead and go on (P26).
   */
  isDead(token: string): boolean;
}
