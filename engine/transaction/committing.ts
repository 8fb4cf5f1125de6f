/**
 * The transactions of this process that are committing.
 *
 * A lock with this process's own token belongs to a dead attempt unless its transaction is among
 * these (P29). Databases with one liveness object have one token, so each sees the transactions of
 * all of them. Yet each keeps its own, because databases of different stores may commit at the same
 * start timestamp: the end of one such commit must not look like the end of the other. A database
 * looks among its own first. What it finds only among those of another may be a commit of another
 * store; then the locks of its own dead attempt stay until that commit ends, which costs time, not
 * data.
 */
import type { Timestamp } from '../bigtable/index.ts';
import type { Liveness } from '../lock-service/index.ts';

/** Each promise resolves when the commit ends. */
type Commits = Map<Timestamp, Promise<void>>;

/** By liveness: the commits of each database that has any. */
const commitsOf = new WeakMap<Liveness, Set<Commits>>();

export class Committing {
  readonly #own: Commits = new Map();
  readonly #all: Set<Commits>;

  constructor(liveness: Liveness) {
    this.#all = commitsOf.get(liveness) ?? new Set<Commits>();
    commitsOf.set(liveness, this.#all);
  }

  has(startTimestamp: Timestamp): boolean {
    return this.get(startTimestamp) !== undefined;
  }

  /** Resolves when the commit ends. Undefined if there is none. */
  get(startTimestamp: Timestamp): Promise<void> | undefined {
    const own = this.#own.get(startTimestamp);
    if (own !== undefined) return own;
    for (const commits of this.#all) {
      const end = commits.get(startTimestamp);
      if (end !== undefined) return end;
    }
    return undefined;
  }

  set(startTimestamp: Timestamp, end: Promise<void>): void {
    this.#own.set(startTimestamp, end);
    this.#all.add(this.#own);
  }

  /** Resolves when the commits of this database that are in flight now have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.#own.values());
  }

  delete(startTimestamp: Timestamp): void {
    this.#own.delete(startTimestamp);
    if (this.#own.size === 0) this.#all.delete(this.#own);
  }
}
