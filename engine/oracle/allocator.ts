/**
 * Allocates timestamps from ranges that are persisted before use (section 2.3).
 *
 * "The oracle periodically allocates a range of timestamps by writing the highest allocated
 * timestamp to stable storage; given an allocated range of timestamps, the oracle can satisfy
 * future requests strictly from memory. If the oracle restarts, the timestamps will jump forward to
 * the maximum allocated timestamp (but will never go backwards)."
 *
 * The range is one row of the store (oracle-row.ts). Several processes may allocate from it, which
 * is how they share an embedded store. To allocate:
 *
 *   1. Read the row. If the newest limit is ours and leaves enough, hand out from memory.
 *   2. Otherwise write a higher limit with our name, unless another process has written one since
 *      (a conditional mutation), and hand out of that range; on a conflict, go back to 1.
 *
 * Why read first, each time? Another process may have taken a range above ours and handed out of
 * it. Handing out of ours after that would go backwards. The read is the moment of the allocation:
 * a process that takes over later also answers later, so order is kept even if this process is
 * paused between the read and the answer. On the embedded store the read costs microseconds.
 *
 * The same read returns the horizon of the garbage collection and the count of drops, stored next
 * to the range. A conditional mutation moves either, "unless it is there or above", so a late copy
 * of the mutation cannot move it back.
 *
 * An oracle service that holds a lease on the row (leased-allocator.ts) does not read the row, so
 * no other process may allocate meanwhile. An allocator that meets a lease waits once for its whole
 * time to live: then either the lease has ended and is struck off, or a service is running and must
 * be asked instead.
 *
 * What if the process dies here? Before the conditional mutation: nothing happened. After it: the
 * rest of the range is never handed out, which costs nothing.
 */
import { type Clock, entropyName, PercolatorError, systemClock } from '../base/index.ts';
import { check, COUNT } from '../base/options.ts';
import type { Bigtable, CellFilter, Mutation, Timestamp } from '../bigtable/index.ts';
import {
  checkOracle,
  dropsFrom,
  findIdentity,
  horizonFrom,
  LEASED,
  leaseMovedSince,
  limitAbove,
  mutateOracleRow,
  type OracleRow,
  type Range,
  readRowOf,
  type RowLease,
  setDrops,
  setFreed,
  setHorizon,
  setLimit,
} from './oracle-row.ts';
import type { Allocation, OwnSource } from './oracle.ts';

export interface AllocatorOptions {
  /**
   * Timestamps per persisted range. Default 100,000. Too small: a durable write every few batches
   * of callers. Too large: a restart wastes more numbers, out of 2^53.
   */
  readonly rangeSize?: number | undefined;
  /**
   * Names this instance in the row. Default: made from the operating system's entropy. It must
   * never have been used before: reuse hands out duplicate timestamps.
   */
  readonly owner?: string | undefined;
  /** Waits for the end of an oracle service's lease. Default: the system's. */
  readonly clock?: Clock | undefined;
}

const RANGE_SIZE = 100_000;

/**
 * Opens the oracle's row in `store`, creating its table if absent. If its database has no identity,
 * it gets one.
 * @throws INVALID_ARGUMENT for a `rangeSize` that is not a whole number of at least 1
 */
export async function openAllocator(
  store: Bigtable,
  options: AllocatorOptions = {},
): Promise<OwnSource> {
  const rangeSize = checkedRangeSize(options.rangeSize ?? RANGE_SIZE);
  const identity = await findIdentity(store);
  // From the operating system, never from the run's seed: two processes with one seed, or one
  // process started twice, would each take the other's range for their own and hand out duplicates.
  const owner = options.owner ?? entropyName();
  const { clock = systemClock } = options;
  return new Allocator(store, owner, { identity, rangeSize, clock });
}

/** After a part of a timestamp, all later ones would have parts. @throws INVALID_ARGUMENT */
export function checkCount(count: number): void {
  check('the count of timestamps', count, COUNT);
}

/** @throws INVALID_ARGUMENT if it is not a whole number of at least 1 */
export function checkedRangeSize(rangeSize: number): number {
  if (Number.isSafeInteger(rangeSize) && rangeSize >= 1) return rangeSize;
  const message = `rangeSize must be a whole number above 0, not ${rangeSize}`;
  throw new PercolatorError('INVALID_ARGUMENT', message);
}

class Allocator implements OwnSource {
  readonly identity: string;
  readonly #store: Bigtable;
  /** Unique to this instance: a restarted process must not claim its predecessor's range. */
  readonly #owner: string;
  readonly #rangeSize: number;
  readonly #clock: Clock;
  /** The next timestamp to hand out of our range. It only grows. */
  #next: Timestamp = 0;
  /** The row as it was last read. */
  #read: OracleRow | undefined;

  constructor(
    store: Bigtable,
    owner: string,
    own: { readonly identity: string; readonly rangeSize: number; readonly clock: Clock },
  ) {
    this.identity = own.identity;
    this.#store = store;
    this.#owner = owner;
    this.#rangeSize = own.rangeSize;
    this.#clock = own.clock;
  }

  async belongTo(identity: string): Promise<void> {
    checkOracle(identity, this.identity);
  }

  async allocate(count: number): Promise<Allocation> {
    checkCount(count);
    for (;;) {
      const { range, horizon, drops } = await this.#readRow();
      if (range.owner === this.#owner) {
        this.#next = Math.max(this.#next, range.start);
        if (this.#next + count <= range.limit) {
          this.#next += count;
          return { first: this.#next - count, horizon, drops };
        }
      }
      const first = await this.#takeRange(range, count);
      if (first !== undefined) return { first, horizon, drops };
    }
  }

  async readHorizon(): Promise<Timestamp> {
    return (await this.#readRow()).horizon;
  }

  async raiseHorizon(wanted: Timestamp): Promise<Timestamp> {
    for (;;) {
      const horizon = await this.readHorizon();
      if (horizon >= wanted) return horizon;
      await this.#mutate([horizonFrom(wanted)], setHorizon(wanted));
    }
  }

  async announceDrop(): Promise<number> {
    const wanted = (await this.#readRow()).drops + 1;
    for (;;) {
      await this.#mutate([dropsFrom(wanted)], setDrops(wanted));
      const { drops } = await this.#readRow();
      if (drops >= wanted) return drops;
    }
  }

  /** Reads the row; if a lease is on it, waits until the lease has ended. */
  async #readRow(): Promise<OracleRow> {
    for (;;) {
      const row = await readRowOf(this.identity, this.#store, this.#read);
      this.#read = row;
      if (row.lease.owner === '') return row;
      await this.#strikeOff(row.lease);
    }
  }

  /** @throws STORE_UNAVAILABLE if the lease is still held */
  async #strikeOff(lease: RowLease): Promise<void> {
    const endMs = this.#clock.monotonicMs() + lease.ttlMs;
    // Timers may wake early, and then the owner could still count on its lease.
    while (this.#clock.monotonicMs() < endMs) {
      await this.#clock.sleep(endMs - this.#clock.monotonicMs());
    }
    const freed = setFreed(lease.counter + 1);
    let now: RowLease;
    do {
      if (await mutateOracleRow(this.#store, leaseMovedSince(lease), freed)) return;
      now = (await readRowOf(this.identity, this.#store)).lease;
      if (now.owner === '') return;
    } while (now.counter === lease.counter); // The request was lost.
    throw new PercolatorError(
      'STORE_UNAVAILABLE',
      `the timestamps of this store are handed out by an oracle service (${lease.owner}): ` +
        'connect to it, or stop it',
    );
  }

  /**
   * Writes our name on the timestamps after `seen`, unless another process was faster. Resolves
   * with the first of the timestamps asked for; undefined if the row must be read again. The moment
   * of their allocation is the mutation, not a read. If the row were read once more before they are
   * handed out, each read could find that another process has taken over in between, and several
   * processes in step would never hand out anything.
   */
  async #takeRange(seen: Range, count: number): Promise<Timestamp | undefined> {
    const limit = seen.limit + Math.max(this.#rangeSize, count);
    const start = seen.owner === this.#owner ? seen.start : seen.limit;
    const isOurs = await this.#mutate(
      [limitAbove(seen.limit)],
      setLimit({ owner: this.#owner, start, limit }),
    );
    const first = Math.max(this.#next, start);
    // A concurrent call of ours may have handed out of the range while the answer was in flight.
    if (!isOurs || first + count > limit) return undefined;
    this.#next = first + count;
    return first;
  }

  /** Mutates the row unless one of `anyOf` exists, or a lease is on it. */
  #mutate(anyOf: readonly CellFilter[], ifNotFound: readonly Mutation[]): Promise<boolean> {
    return mutateOracleRow(this.#store, [...anyOf, LEASED], ifNotFound);
  }
}
