/**
 * The end of an open database (P81).
 *
 *     open ──begin──▶ closing: nothing new begins, waits end, commits in flight go on to their end
 *          ──end────▶ closed: nothing is sent to the storage any more
 *
 * A commit that was cut off in the middle would leave its locks. All that meet them would wait for
 * their time to live, because the process lives.
 */
import { type Clock, PercolatorError } from '../base/index.ts';

export class Closing {
  readonly #begun = new AbortController();
  #isOver = false;

  /** Aborted as soon as the database begins to close. */
  get signal(): AbortSignal {
    return this.#begun.signal;
  }

  begin(): void {
    this.#begun.abort('closed'); // Without a reason, it would make an error with a stack.
  }

  end(): void {
    this.begin();
    this.#isOver = true;
  }

  /** For what begins: @throws STORE_CLOSED once the database is closing */
  refuseNew(): void {
    if (this.#begun.signal.aborted) throw wasClosed();
  }

  /** For each call of the storage. Undefined until the database is closed. */
  refusal(): Promise<never> | undefined {
    return this.#isOver ? Promise.reject(wasClosed()) : undefined;
  }

  /**
   * Sleeps for work that need not end: @throws STORE_CLOSED as soon as the database is closing
   */
  async sleep(clock: Clock, ms: number): Promise<void> {
    await clock.sleep(ms, this.signal);
    this.refuseNew();
  }
}

export function wasClosed(): PercolatorError {
  return new PercolatorError('STORE_CLOSED', 'the database was closed');
}
