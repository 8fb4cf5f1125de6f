/**
 * Advisory locks on ranges of rows, which keep scanners apart (section 2.4): "each worker acquires
 * a lock from a lightweight lock service before scanning the row. This lock server need not persist
 * state since it is advisory and thus is very scalable."
 *
 * No correctness depends on them. If two scanners run the observers of one row, one of the two runs
 * fails at the acknowledgment and leaves nothing (P49). So a lock may be forgotten at any moment,
 * and every lock expires: a scanner that hangs blocks its rows for at most the time to live.
 */
import type { Clock } from '../base/index.ts';

/** The locks, as one scanner sees them. */
export interface RangeLocks {
  /**
   * Locks the rows from `from` to `to`, both included. Undefined if another scanner holds one of
   * them; the caller's own locks are no obstacle. Without an answer the rows count as free: it does
   * not reject.
   */
  tryLock(range: LockedRange): Promise<RangeLock | undefined>;
}

export interface RangeLock {
  /** Gives the lock up. Twice is harmless. */
  release(): void;
}

export interface LockedRange {
  readonly table: string;
  readonly from: string;
  readonly to: string;
}

interface Held extends LockedRange {
  readonly owner: string;
  readonly untilMs: number;
}

/**
 * Milliseconds until a lock expires. Too small: scanners meet. Too large: if a scanner hangs, no
 * other one visits its rows for that long.
 */
const RANGE_TTL_MS = 10_000;

/** The locks of all scanners, in memory: those of one process, or of the clients of server.ts. */
export class RangeLockTable {
  readonly #clock: Clock;
  readonly #ttlMs: number;
  /** By number. Few: each scanner holds one per batch of rows in flight. */
  readonly #held = new Map<number, Held>();
  #lastNumber = 0;

  constructor(clock: Clock, ttlMs: number = RANGE_TTL_MS) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
  }

  /** The lock's number, or undefined if another owner holds an overlapping lock. */
  lock(owner: string, { table, from, to }: LockedRange): number | undefined {
    const nowMs = this.#clock.monotonicMs();
    for (const [number, held] of this.#held) {
      if (held.untilMs <= nowMs) this.#held.delete(number);
      else if (held.owner !== owner && overlaps(held, { table, from, to })) return undefined;
    }
    this.#held.set(++this.#lastNumber, { owner, table, from, to, untilMs: nowMs + this.#ttlMs });
    return this.#lastNumber;
  }

  unlock(number: number): void {
    this.#held.delete(number);
  }

  unlockAllOf(owner: string): void {
    for (const [number, held] of this.#held) if (held.owner === owner) this.#held.delete(number);
  }

  /** For scanners of this process. */
  of(owner: string): RangeLocks {
    return {
      tryLock: async (range) => {
        const number = this.lock(owner, range);
        return number === undefined ? undefined : { release: () => this.unlock(number) };
      },
    };
  }
}

/**
 * Compares code units, not bytes: they rarely differ, and one lock too many or too few is harmless.
 */
function overlaps(a: LockedRange, b: LockedRange): boolean {
  return a.table === b.table && a.from <= b.to && b.from <= a.to;
}
