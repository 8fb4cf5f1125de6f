/**
 * Advisory locks on ranges of rows, which keep scanners apart (section 2.4): "each worker acquires
 * a lock from a lightweight lock service before scanning the row. This lock server need not persist
 * state since it is advisory and thus is very scalable."
 *
 * No correctness depends on them. If two scanners run the observers of one row, one of the two runs
 * fails at the acknowledgment and leaves nothing (P49, scanners bunch up). So a lock may be
 * forgotten at any moment, and every lock expires: a scanner that hangs blocks its rows for at most
 * the time to live.
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

interface HeldRange extends LockedRange {
  readonly number: number;
  readonly owner: string;
  readonly untilMs: number;
}

/**
 * Milliseconds until a lock expires. Too small: scanners meet. Too large: if a scanner hangs, no
 * other one visits its rows for that long.
 */
const RANGE_TTL_MS = 10_000;
/**
 * The most locks of one owner: its oldest one then ends. Far more than scanners hold, each of which
 * has one for each batch of rows in flight; a client that never releases any must not fill the
 * memory of the service.
 */
const LOCKS_MAX = 10_000;

/** The locks of all scanners, in memory: those of one process, or of the clients of server.ts. */
export class RangeLockTable {
  readonly #clock: Clock;
  readonly #ttlMs: number;
  /** By number, and so in the order in which they expire. */
  readonly #held = new Map<number, HeldRange>();
  /** The same locks; no set is empty. */
  readonly #byTable = new Map<string, Set<HeldRange>>();
  readonly #byOwner = new Map<string, Set<HeldRange>>();
  #lastNumber = 0;

  constructor(clock: Clock, ttlMs: number = RANGE_TTL_MS) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
  }

  /** The lock's number, or undefined if another owner holds an overlapping lock. */
  lock(owner: string, { table, from, to }: LockedRange): number | undefined {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    for (const held of this.#byTable.get(table) ?? []) {
      if (held.owner !== owner && overlaps(held, { from, to })) return undefined;
    }
    const number = ++this.#lastNumber;
    this.#add({ number, owner, table, from, to, untilMs: nowMs + this.#ttlMs });
    return number;
  }

  unlock(number: number): void {
    const held = this.#held.get(number);
    if (held === undefined) return;
    this.#held.delete(number);
    removeFrom(this.#byTable, held.table, held);
    removeFrom(this.#byOwner, held.owner, held);
  }

  unlockAllOf(owner: string): void {
    for (const { number } of this.#byOwner.get(owner) ?? []) this.unlock(number);
  }

  #expire(nowMs: number): void {
    for (const { number, untilMs } of this.#held.values()) {
      if (untilMs > nowMs) return;
      this.unlock(number);
    }
  }

  #add(held: HeldRange): void {
    this.#held.set(held.number, held);
    addTo(this.#byTable, held.table, held);
    const own = addTo(this.#byOwner, held.owner, held);
    const [oldest] = own;
    if (own.size > LOCKS_MAX && oldest !== undefined) this.unlock(oldest.number);
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
function overlaps(a: Omit<LockedRange, 'table'>, b: Omit<LockedRange, 'table'>): boolean {
  return a.from <= b.to && b.from <= a.to;
}

function addTo(
  sets: Map<string, Set<HeldRange>>,
  key: string,
  held: HeldRange,
): ReadonlySet<HeldRange> {
  const set = sets.get(key) ?? new Set<HeldRange>();
  sets.set(key, set);
  return set.add(held);
}

function removeFrom(sets: Map<string, Set<HeldRange>>, key: string, held: HeldRange): void {
  const set = sets.get(key);
  set?.delete(held);
  if (set?.size === 0) sets.delete(key);
}
