/**
 * Allocates timestamps from ranges that are persisted before use (section 2.3).
 *
 * "The oracle periodically allocates a range of timestamps by writing the highest allocated timestamp
 * to stable storage; given an allocated range of timestamps, the oracle can satisfy future requests
 * strictly from memory. If the oracle restarts, the timestamps will jump forward to the maximum
 * allocated timestamp (but will never go backwards)."
 *
 * The range is one row of the store (oracle-row.ts). Several processes may allocate from it, which is how an
 * embedded store is shared. To allocate:
 *
 *   1. read the row. If the newest limit is ours and leaves enough, hand out from memory.
 *   2. otherwise put a higher limit with our name on it, if nobody has put one since (a conditional
 *      mutation), and hand out of that; on a conflict, go back to 1.
 *
 * Why read first, each time? Another process may have taken a range above ours, and handed out of it.
 * To hand out of ours after that would go backwards. The read is the moment at which the
 * allocation happens: whoever takes over later also answers later, so order is kept even if this process is
 * paused between the read and the answer. On the embedded store the read costs microseconds.
 *
 * Beside it stands the horizon of the garbage collection, read by the same read. It is moved by a conditional
 * mutation, "unless a horizon there or above exists": a late copy moves nothing back.
 *
 * While an oracle service holds a lease on the row (leased-allocator.ts) it does not look at the row, so everybody
 * else must keep out. Whoever meets a lease waits once for as long as it may last: either it has ended, and is
 * struck off, or there is a service to be asked instead.
 *
 * What if we die here? Before the conditional mutation: nothing happened. After it: the rest of the
 * range is never handed out, which costs nothing.
 */
import { type Clock, entropySeed, PercolatorError, systemClock } from '../base/index.ts';
import type { Bigtable, CellFilter, Mutation, Timestamp } from '../bigtable/index.ts';
import {
  createOracleTable,
  horizonFrom,
  LEASED,
  leaseMovedSince,
  limitAbove,
  mutateOracleRow,
  type OracleRow,
  type Range,
  readOracleRow,
  type RowLease,
  setFreed,
  setHorizon,
  setLimit,
} from './oracle-row.ts';
import type { Allocation, TimestampSource } from './oracle.ts';

export interface AllocatorOptions {
  /**
   * Timestamps per persisted range. Default 100,000. Too small: a durable write for every few
   * batches of callers. Too large: only numbers are lost at a restart, of 2^53.
   */
  readonly rangeSize?: number | undefined;
  /**
   * Names this instance in the row. Default: made up from the operating system's entropy. Wrong if anybody
   * has ever used it before: he is then given timestamps again that were handed out already.
   */
  readonly owner?: string | undefined;
  /** Waits for the end of an oracle service's lease. Default: the system's. */
  readonly clock?: Clock | undefined;
}

const RANGE_SIZE = 100_000;

/** Opens the oracle's row in `store`, creating its table if absent. */
export async function openAllocator(
  store: Bigtable,
  options: AllocatorOptions = {},
): Promise<TimestampSource> {
  const rangeSize = checkedRangeSize(options.rangeSize ?? RANGE_SIZE);
  await createOracleTable(store);
  // From the operating system, never from the run's seed: two processes with one seed, or one process
  // started twice, would take each other's range for their own and hand out the same timestamps.
  const owner = options.owner ?? `${entropySeed()}-${entropySeed()}`;
  return new Allocator(store, owner, { rangeSize, clock: options.clock ?? systemClock });
}

/** @throws INVALID_ARGUMENT if it is not a whole number from 1 on */
export function checkedRangeSize(rangeSize: number): number {
  if (Number.isSafeInteger(rangeSize) && rangeSize >= 1) return rangeSize;
  throw new PercolatorError('INVALID_ARGUMENT', `rangeSize must be 1 or more, not ${rangeSize}`);
}

class Allocator implements TimestampSource {
  readonly #store: Bigtable;
  /** Unique to this instance: a restarted process must not take its predecessor's range for its own. */
  readonly #owner: string;
  readonly #rangeSize: number;
  readonly #clock: Clock;
  /** The next timestamp to hand out of our range. Only grows. */
  #next: Timestamp = 0;

  constructor(
    store: Bigtable,
    owner: string,
    { rangeSize, clock }: { readonly rangeSize: number; readonly clock: Clock },
  ) {
    this.#store = store;
    this.#owner = owner;
    this.#rangeSize = rangeSize;
    this.#clock = clock;
  }

  async allocate(count: number): Promise<Allocation> {
    for (;;) {
      const { range, horizon } = await this.#readRow();
      if (range.owner === this.#owner) {
        this.#next = Math.max(this.#next, range.start);
        if (this.#next + count <= range.limit) {
          this.#next += count;
          return { first: this.#next - count, horizon };
        }
      }
      const first = await this.#takeRange(range, count);
      if (first !== undefined) return { first, horizon };
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

  /** What the row says, while it is nobody's. */
  #readRow(): Promise<OracleRow> {
    return readOracleRow(this.#store, (lease) => this.#strikeOff(lease));
  }

  /** @throws STORE_UNAVAILABLE if somebody still holds the lease */
  async #strikeOff(lease: RowLease): Promise<void> {
    await this.#clock.sleep(lease.ttlMs);
    const freed = setFreed(lease.counter + 1);
    if (await mutateOracleRow(this.#store, leaseMovedSince(lease), freed)) return;
    if ((await readOracleRow(this.#store)).lease.owner === '') return;
    throw new PercolatorError(
      'STORE_UNAVAILABLE',
      `the timestamps of this store are handed out by an oracle service (${lease.owner}): ` +
        'connect to it, or stop it',
    );
  }

  /**
   * Puts our name on the timestamps behind `seen`, unless somebody was faster; resolves with the first of
   * those asked for. The mutation is the moment of their allocation, as otherwise the read is. Whoever
   * read the row once more instead could find each time that somebody else has taken over in between;
   * several who do so in step would never hand out anything.
   */
  async #takeRange(seen: Range, count: number): Promise<Timestamp | undefined> {
    const limit = seen.limit + Math.max(this.#rangeSize, count);
    const start = seen.owner === this.#owner ? seen.start : seen.limit;
    const isOurs = await this.#mutate(
      [limitAbove(seen.limit)],
      setLimit({ owner: this.#owner, start, limit }),
    );
    const first = Math.max(this.#next, start);
    // Another call of ours may have handed out of it while the answer was on its way.
    if (!isOurs || first + count > limit) return undefined;
    this.#next = first + count;
    return first;
  }

  /** Mutates the row unless one of `anyOf` exists, or somebody has leased it. */
  #mutate(anyOf: readonly CellFilter[], ifNotFound: readonly Mutation[]): Promise<boolean> {
    return mutateOracleRow(this.#store, [...anyOf, LEASED], ifNotFound);
  }
}
