/**
 * Allocates timestamps "strictly from memory" (section 2.3), as one oracle for all processes,
 * fenced against a second one (P35, two oracles).
 *
 * The allocator that asks the store before each batch (allocator.ts) needs no fence, but pays for
 * it with a read of the store. This one holds a lease on the oracle's row, and reads nothing while
 * the lease lasts:
 *
 *     take over ──▶ hand out from memory ─▶ renew, every third of the time to live ──▶ ...
 *         ▲                 │ not renewed in time                │ another has taken over
 *         └─── watch ◀──────┴────────────────────────────────────┘
 *
 *   1. Read the row. A free lease may be taken over, and our own renewed. Another's lease may be
 *      taken over once its counter has not moved for one time to live, on our own clock: it is not
 *      being renewed.
 *   2. Conditional mutation, "if the row is as I have read it": the counter moves on by one, with
 *      our name. At a takeover, or when half of the range is used up, the limit moves with it.
 *   3. Hand out from memory for 5/6 of the time to live, counted from before step 2 was sent.
 *
 * Which guarantee is needed? Two oracles may answer at the same time, as long as the two promises
 * of oracle.ts hold. Ranges are disjoint, because the limit only moves by conditional mutations
 * (P36, P37). So one danger remains: an answer from an old range to a caller that asked after a new
 * range had answered. It cannot occur:
 *
 * - The old oracle checks its clock after the request has arrived, and hands out only before its
 *   time is over. That is before the new oracle took over: the new one watches for a whole time to
 *   live from after the last renewal was applied, and the old one counts 5/6 of it from before that
 *   renewal was sent. So a caller that receives an old timestamp asked before any new one was
 *   handed out.
 * - A process that is paused after the check, and answers an hour later, answers a caller that
 *   asked before the check. That is why the clock is checked last, in the same turn in which the
 *   timestamps are taken.
 * - A renewal that is late, or arrives twice, finds the counter moved, and is refused.
 *
 * Assumptions: two machines' clocks differ in speed by less than 1/6, and the two clocks of one
 * machine do not both hide a suspend (P59; base/clock.ts). A user who cannot rely on that serves
 * allocator.ts instead. In addition, a client rejects timestamps below one that it has seen, and
 * epochs of leases below the largest it has seen (client.ts).
 *
 * The horizon (P31, snapshot loses versions) and the count of drops (P54, commit during drop) are
 * kept in memory, too, because only the holder of the lease moves them: its mutation is refused
 * when the counter has moved, and the next holder reads both in step 1. While either moves, no
 * timestamp is handed out: each must come with what was persisted when it was asked for.
 *
 * What if the process dies here? Before 2: nothing happened. After it: no timestamp is handed out
 * for one time to live, and the rest of the range never is. If a mutation has no answer, the
 * allocator does not know its outcome and goes back to 1. The next mutation moves the counter, so
 * the lost one then has no effect.
 */
import {
  assert,
  type Clock,
  entropyName,
  hasCode,
  isFinal,
  isWithin,
  type Moment,
  momentOf,
  PercolatorError,
} from '../base/index.ts';
import type { Bigtable, CellFilter, Mutation, Timestamp } from '../bigtable/index.ts';
import { checkCount, checkedRangeSize } from './allocator.ts';
import {
  checkOracle,
  dropsFrom,
  findIdentity,
  horizonFrom,
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
  setLease,
  setLimit,
} from './oracle-row.ts';
import type { Allocation, OwnSource } from './oracle.ts';

export interface LeasedAllocatorOptions {
  /**
   * Timestamps per persisted range. Default 10,000,000. Too small: callers wait for the store. Too
   * large: a restart wastes more numbers, out of 2^53.
   */
  readonly rangeSize?: number | undefined;
  /**
   * Milliseconds that the lease lasts. Default 2,000. After an oracle is killed, no timestamp is
   * handed out for that long. Too small: a store that is slow for a moment ends the lease, and
   * callers wait for the next renewal. Too large: callers wait that long for the next oracle.
   */
  readonly leaseTimeToLiveMs?: number | undefined;
  /**
   * Names this instance in the row. Default: made from entropy. It must never have been used
   * before: reuse hands out duplicate timestamps.
   */
  readonly owner?: string | undefined;
}

export interface LeasedAllocator extends OwnSource, AsyncDisposable {
  /** The epoch of the lease last held; 0 if there was none, and after `close`. */
  readonly epoch: number;
  /**
   * Whether it holds the lease now, and so hands out from memory; also while it moves the horizon
   * or the count of drops, when callers wait for the store.
   */
  readonly isLeading: boolean;
  /**
   * Whether it stands by: another oracle held the lease when this one looked, within the last time
   * to live, and this one goes on looking.
   */
  readonly isWatching: boolean;
  /** Milliseconds for which it hands out without a renewal; 0 if it does not hold the lease. */
  readonly remainingMs: number;
  /** How many timestamps it has handed out. Only grows. */
  readonly handedOut: number;
  /**
   * Resolves when it was closed. Rejects, as soon as it cannot go on, with what ended it:
   * STORE_CLOSED, or WRONG_DATABASE if the store is no longer that of the database. A process that
   * only serves it should end then, so that what starts it again gives it an open store.
   */
  readonly ended: Promise<void>;
  /**
   * Stops handing out and gives the lease up, so that the next oracle does not have to wait. Twice
   * is harmless.
   */
  close(): Promise<void>;
}

const RANGE_SIZE = 10_000_000;
const LEASE_TTL_MS = 2_000;
/** Renewals per time to live: one may fail, and the next one is in time. */
const RENEWALS_PER_TTL = 3;
/** The part of the time to live that we count on; clocks may differ in speed by the rest. */
const COUNTED_ON = 5 / 6;

/**
 * Opens the oracle's row in `store`, and takes the lease over if it is free; otherwise it resolves
 * without the lease, and takes it over in the background once it has ended.
 * @throws INVALID_ARGUMENT for a wrong option
 */
export async function openLeasedAllocator(
  store: Bigtable,
  clock: Clock,
  options: LeasedAllocatorOptions = {},
): Promise<LeasedAllocator> {
  const ttlMs = options.leaseTimeToLiveMs ?? LEASE_TTL_MS;
  if (!(Number.isFinite(ttlMs) && ttlMs > 0)) {
    const message = `leaseTimeToLiveMs must be a finite number above 0, not ${ttlMs}`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  const rangeSize = checkedRangeSize(options.rangeSize ?? RANGE_SIZE);
  const identity = await findIdentity(store);
  const owner = options.owner ?? entropyName();
  const allocator = new Allocator(store, clock, { identity, owner, ttlMs, rangeSize });
  await allocator.start();
  return allocator;
}

class Allocator implements LeasedAllocator {
  readonly identity: string;
  readonly #store: Bigtable;
  readonly #clock: Clock;
  readonly #owner: string;
  readonly #ttlMs: number;
  readonly #rangeSize: number;
  readonly #closed = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  /** The error that ended the renewing, if `close` did not: every caller receives it. */
  #endedBy: unknown;
  /** The end of the queue for reading and mutating the row, one at a time. */
  #turns: Promise<unknown> = Promise.resolve();
  /** When the renewal that we count on was sent; undefined while we count on none. */
  #renewedAt: Moment | undefined;
  /** The same, while we change the row and hand out nothing; undefined at all other times. */
  #renewedBeforeMove: Moment | undefined;
  /** The lease that we wrote last. Our mutations are refused once its counter has moved. */
  #lease: RowLease | undefined;
  /** The next timestamp to hand out, and the end of our range. Both only grow. */
  #next: Timestamp = 0;
  #limit: Timestamp = 0;
  #handedOut = 0;
  /** As persisted, while the lease is valid. */
  #horizon: Timestamp = 0;
  #drops = 0;
  /** Another oracle's lease, and since when we have seen its counter unchanged. */
  #watched = { counter: -1, sinceMs: 0 };
  /** When we last saw another oracle's lease. */
  #lookedAtMs = -Infinity;
  #isExtending = false;

  constructor(
    store: Bigtable,
    clock: Clock,
    own: {
      readonly identity: string;
      readonly owner: string;
      readonly ttlMs: number;
      readonly rangeSize: number;
    },
  ) {
    this.identity = own.identity;
    this.#store = store;
    this.#clock = clock;
    this.#owner = own.owner;
    this.#ttlMs = own.ttlMs;
    this.#rangeSize = own.rangeSize;
    // Callers hear of it, too; until one looks, it must not end the process as unhandled.
    this.#ended.promise.catch(() => {});
  }

  get epoch(): number {
    return this.#lease?.epoch ?? 0;
  }

  get isLeading(): boolean {
    return this.#lasts(this.#renewedAt ?? this.#renewedBeforeMove);
  }

  get isWatching(): boolean {
    const sinceMs = this.#clock.monotonicMs() - this.#lookedAtMs;
    return !this.isLeading && !this.#closed.signal.aborted && sinceMs < this.#ttlMs;
  }

  get remainingMs(): number {
    const since = this.#renewedAt ?? this.#renewedBeforeMove;
    if (since === undefined || !this.#lasts(since)) return 0;
    return since.monotonicMs + this.#ttlMs * COUNTED_ON - this.#clock.monotonicMs();
  }

  get handedOut(): number {
    return this.#handedOut;
  }

  get newest(): Timestamp {
    return Math.max(0, this.#next - 1);
  }

  async belongTo(identity: string): Promise<void> {
    checkOracle(identity, this.identity);
  }

  async start(): Promise<void> {
    await this.#tryToRenew();
    void this.#renewForever();
  }

  async allocate(count: number): Promise<Allocation> {
    checkCount(count);
    for (;;) {
      const allocation = this.#handOut(count);
      if (allocation !== undefined) return allocation;
      await this.#inTurn(() => this.#ensure(count));
    }
  }

  async readHorizon(): Promise<Timestamp> {
    while (!this.#mayHandOut) await this.#inTurn(() => this.#ensure(0));
    return this.#horizon;
  }

  raiseHorizon(wanted: Timestamp): Promise<Timestamp> {
    return this.#inTurn(async () => {
      for (;;) {
        await this.#ensure(0);
        if (this.#horizon >= wanted) return this.#horizon;
        await this.#move(horizonFrom(wanted), setHorizon(wanted), () => {
          this.#horizon = wanted;
        });
      }
    });
  }

  announceDrop(): Promise<number> {
    return this.#inTurn(async () => {
      await this.#ensure(0);
      const wanted = this.#drops + 1;
      while (this.#drops < wanted) {
        await this.#ensure(0);
        await this.#move(dropsFrom(wanted), setDrops(wanted), () => {
          this.#drops = wanted;
        });
      }
      return this.#drops;
    });
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#renewedAt = undefined;
    this.#renewedBeforeMove = undefined;
    await this.#inTurn(async () => {
      this.#renewedAt = undefined; // A renewal may have been in flight.
      if (this.#lease === undefined) return;
      const freed = setFreed(this.#lease.counter + 1);
      try {
        await mutateOracleRow(this.#store, leaseMovedSince(this.#lease), freed);
      } catch (error) {
        if (!(error instanceof PercolatorError)) throw error; // If the lease stays, it expires.
      }
      this.#lease = undefined;
    });
    this.#ended.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  get #mayHandOut(): boolean {
    return this.#lasts(this.#renewedAt);
  }

  #lasts(since: Moment | undefined): boolean {
    return since !== undefined && isWithin(this.#clock, this.#ttlMs * COUNTED_ON, since);
  }

  /** Step 3. No await between the check of the clock and taking the timestamps. */
  #handOut(count: number): Allocation | undefined {
    if (!this.#mayHandOut) return undefined;
    if (this.#next + count > this.#limit) return undefined;
    this.#next += count;
    this.#handedOut += count;
    if (this.#isRunningShort(0)) void this.#extend();
    const first = this.#next - count;
    return { first, horizon: this.#horizon, drops: this.#drops, epoch: this.epoch };
  }

  #isRunningShort(count: number): boolean {
    return this.#limit - this.#next < Math.max(count, this.#rangeSize / 2);
  }

  /** Extends the range before it is needed. If that fails, the caller that needs it tries again. */
  async #extend(): Promise<void> {
    if (this.#isExtending) return;
    this.#isExtending = true;
    await this.#tryToRenew();
    this.#isExtending = false;
  }

  async #renewForever(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await this.#clock.sleep(this.#ttlMs / RENEWALS_PER_TTL, signal, { background: true });
      if (!signal.aborted) await this.#tryToRenew();
    }
  }

  async #tryToRenew(): Promise<void> {
    try {
      await this.#inTurn(() => this.#renew(0));
    } catch (error) {
      if (!isFinal(error)) return;
      // The storage was closed, it is no longer that of the database, or this is a bug.
      this.#endedBy ??= error;
      this.#ended.reject(error);
      this.#closed.abort();
      this.#renewedAt = undefined;
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turns.then(work);
    this.#turns = turn.catch(() => {});
    return turn;
  }

  /** An earlier turn may have renewed already. */
  async #ensure(count: number): Promise<void> {
    if (!this.#mayHandOut || this.#next + count > this.#limit) await this.#renew(count);
  }

  /** Steps 1 and 2. Then we hold the lease and at least `count` timestamps, until it expires. */
  async #renew(count: number): Promise<void> {
    for (;;) {
      if (this.#closed.signal.aborted) throw hasStopped(this.#endedBy);
      const row = await readRowOf(this.identity, this.#store);
      const lease = this.#nextLease(row.lease);
      const range = this.#nextRange(row, count);
      const asRead = [
        ...leaseMovedSince(row.lease),
        limitAbove(row.range.limit),
        horizonFrom(row.horizon + 1),
        dropsFrom(row.drops + 1),
      ];
      const extension = range === row.range ? [] : setLimit(range);
      const sentAt = momentOf(this.#clock);
      const changes = [...setLease(lease), ...extension];
      const isOurs = await mutateOracleRow(this.#store, asRead, changes);
      if (!isOurs) continue;
      this.#lease = lease;
      assert(range.limit >= this.#limit, 'the limit only moves forward');
      this.#limit = range.limit;
      this.#next = Math.max(this.#next, range.start);
      this.#horizon = row.horizon;
      this.#drops = row.drops;
      this.#renewedAt = this.#closed.signal.aborted ? undefined : sentAt;
      return;
    }
  }

  /** The lease that replaces `found`. @throws STORE_UNAVAILABLE if another oracle may hold it */
  #nextLease(found: RowLease): RowLease {
    const counter = found.counter + 1;
    const own = { counter, owner: this.#owner, ttlMs: this.#ttlMs };
    if (found.owner === this.#owner) return { ...own, epoch: found.epoch };
    this.#renewedAt = undefined;
    if (found.owner === '') return { ...own, epoch: counter };
    const nowMs = this.#clock.monotonicMs();
    this.#lookedAtMs = nowMs;
    if (this.#watched.counter !== found.counter) {
      this.#watched = { counter: found.counter, sinceMs: nowMs };
    }
    if (nowMs - this.#watched.sinceMs >= found.ttlMs) return { ...own, epoch: counter };
    throw unavailable(`another timestamp oracle holds the lease (${found.owner})`);
  }

  #nextRange({ range, lease }: OracleRow, count: number): Range {
    const isOurs = range.owner === this.#owner && lease.owner === this.#owner;
    if (isOurs && !this.#isRunningShort(count)) return range;
    return {
      owner: this.#owner,
      start: isOurs ? range.start : range.limit,
      limit: range.limit + Math.max(this.#rangeSize, count),
    };
  }

  /**
   * Changes the row unless `unless` is there, and hands out nothing meanwhile. If the change was
   * refused, or its answer was lost, the row must be read (`#ensure`) before anything else.
   */
  async #move(
    unless: CellFilter,
    change: readonly Mutation[],
    remember: () => void,
  ): Promise<void> {
    assert(this.#lease !== undefined, 'the oracle that changes its row holds the lease');
    const renewedAt = this.#renewedAt;
    this.#renewedBeforeMove = renewedAt;
    this.#renewedAt = undefined;
    const conditions = [...leaseMovedSince(this.#lease), unless];
    try {
      if (!(await mutateOracleRow(this.#store, conditions, change))) return;
      remember(); // Before anything is handed out again.
      if (!this.#closed.signal.aborted) this.#renewedAt = renewedAt;
    } finally {
      this.#renewedBeforeMove = undefined;
    }
  }
}

/**
 * An oracle that ended on its own keeps answering calls with the reason, which is otherwise lost
 * (P56, silent background failures).
 */
function hasStopped(cause: unknown): PercolatorError {
  const message = 'this timestamp oracle has stopped';
  if (cause === undefined) return unavailable(message);
  if (hasCode(cause, 'WRONG_DATABASE')) return cause;
  const reason = cause instanceof Error ? cause.message : 'for a reason that is no error';
  return new PercolatorError('STORE_UNAVAILABLE', `${message}: ${reason}`, { cause });
}

function unavailable(message: string): PercolatorError {
  return new PercolatorError('STORE_UNAVAILABLE', message);
}
