/**
 * Allocates timestamps from ranges that are persisted before use (section 2.3).
 *
 * "The oracle periodically allocates a range of timestamps by writing the highest allocated timestamp
 * to stable storage; given an allocated range of timestamps, the oracle can satisfy future requests
 * strictly from memory. If the oracle restarts, the timestamps will jump forward to the maximum
 * allocated timestamp (but will never go backwards)."
 *
 * The range is one row of the store:
 *
 *     oracle:limit @ 2,000,001  =  {owner, start}    everything below 2,000,001 is given away:
 *                                                 from `start` on to `owner`, the rest before
 *
 * Several processes may allocate from one row, which is how an embedded store is shared. To allocate:
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
 * Beside it stands the horizon of the garbage collection, read by the same read:
 *
 *     oracle:horizon @ 1,700,000        snapshots below 1,700,000 may have lost versions
 *
 * It is moved by a conditional mutation, "unless a horizon there or above exists": a late copy moves nothing back.
 *
 * What if we die here? Before the conditional mutation: nothing happened. After it: the rest of the
 * range is never handed out, which costs nothing.
 */
import { entropySeed, PercolatorError } from '../base/index.ts';
import {
  type Bigtable,
  type CellFilter,
  type Mutation,
  type Timestamp,
  TIMESTAMP_MAX,
} from '../bigtable/index.ts';
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
}

/** What the row says, in one read. */
export interface OracleRow {
  readonly range: Range;
  readonly horizon: Timestamp;
}

interface Range {
  readonly owner: string;
  readonly start: Timestamp;
  /** Exclusive. */
  readonly limit: Timestamp;
}

export const ORACLE_TABLE = 'timestamp-oracle';
const ROW = 'range';
const LIMIT = { family: 'oracle', qualifier: 'limit' } as const;
const HORIZON = { family: 'oracle', qualifier: 'horizon' } as const;
const RANGE_SIZE = 100_000;
/** Timestamp 0 is never handed out: it stands for "before everything". */
const NOTHING_ALLOCATED: Range = { owner: '', start: 1, limit: 1 };

/** Opens the oracle's row in `store`, creating its table if absent. */
export async function openAllocator(
  store: Bigtable,
  options: AllocatorOptions = {},
): Promise<TimestampSource> {
  const rangeSize = options.rangeSize ?? RANGE_SIZE;
  if (!Number.isSafeInteger(rangeSize) || rangeSize < 1) {
    throw new PercolatorError('INVALID_ARGUMENT', `rangeSize must be 1 or more, not ${rangeSize}`);
  }
  await store.createTable(ORACLE_TABLE, { families: [LIMIT.family] });
  // From the operating system, never from the run's seed: two processes with one seed, or one process
  // started twice, would take each other's range for their own and hand out the same timestamps.
  const owner = options.owner ?? `${entropySeed()}-${entropySeed()}`;
  return new Allocator(store, owner, rangeSize);
}

class Allocator implements TimestampSource {
  readonly #store: Bigtable;
  /** Unique to this instance: a restarted process must not take its predecessor's range for its own. */
  readonly #owner: string;
  readonly #rangeSize: number;
  /** The next timestamp to hand out of our range. Only grows. */
  #next: Timestamp = 0;

  constructor(store: Bigtable, owner: string, rangeSize: number) {
    this.#store = store;
    this.#owner = owner;
    this.#rangeSize = rangeSize;
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
      await this.#mutate(
        [{ ...HORIZON, from: wanted }],
        [
          { kind: 'set', ...HORIZON, timestamp: wanted, value: new Uint8Array() },
          { kind: 'erase', ...HORIZON, from: 0, to: wanted - 1 },
        ],
      );
    }
  }

  #readRow(): Promise<OracleRow> {
    return readOracleRow(this.#store);
  }

  /**
   * Puts our name on the timestamps behind `seen`, unless somebody was faster; resolves with the first of
   * those asked for. The mutation is the moment of their allocation, as otherwise the read is. Whoever
   * read the row once more instead could find each time that somebody else has taken over in between;
   * several who do so in step would never hand out anything.
   */
  async #takeRange(seen: Range, count: number): Promise<Timestamp | undefined> {
    const limit = seen.limit + Math.max(this.#rangeSize, count);
    if (limit > TIMESTAMP_MAX) {
      // Larger ones would lose digits, and two of them be one (P38).
      throw new PercolatorError('INVALID_ARGUMENT', `there are no timestamps above ${seen.limit}`);
    }
    const start = seen.owner === this.#owner ? seen.start : seen.limit;
    const value = Buffer.from(JSON.stringify({ owner: this.#owner, start }));
    const isOurs = await this.#mutate(
      [{ ...LIMIT, from: seen.limit + 1 }],
      [
        { kind: 'set', ...LIMIT, timestamp: limit, value },
        { kind: 'erase', ...LIMIT, from: 0, to: limit - 1 },
      ],
    );
    const first = Math.max(this.#next, start);
    // Another call of ours may have handed out of it while the answer was on its way.
    if (!isOurs || first + count > limit) return undefined;
    this.#next = first + count;
    return first;
  }

  /** Mutates the row unless one of `anyOf` exists. Resolves to whether it certainly did. */
  async #mutate(anyOf: readonly CellFilter[], ifNotFound: readonly Mutation[]): Promise<boolean> {
    const mutation = { table: ORACLE_TABLE, row: ROW, anyOf, ifNotFound };
    try {
      return !(await this.#store.checkAndMutateRow(mutation));
    } catch (error) {
      // The answer was lost: the next read tells what became of it.
      if (!(error instanceof PercolatorError && error.code === 'STORE_IN_DOUBT')) throw error;
      return false;
    }
  }
}

/** The newest range and the horizon, in one read. */
export async function readOracleRow(store: Bigtable): Promise<OracleRow> {
  const filters = [
    { ...LIMIT, versions: 1 },
    { ...HORIZON, versions: 1 },
  ];
  const cells = (await store.readRow(ORACLE_TABLE, ROW, filters))?.cells ?? [];
  const newest = cells.find(({ qualifier }) => qualifier === LIMIT.qualifier);
  const horizon = cells.find(({ qualifier }) => qualifier === HORIZON.qualifier)?.timestamp ?? 0;
  if (newest === undefined) return { range: NOTHING_ALLOCATED, horizon };
  const { owner, start } = JSON.parse(Buffer.from(newest.value).toString()) as Range;
  return { range: { owner, start, limit: newest.timestamp }, horizon };
}
