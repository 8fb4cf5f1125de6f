/**
 * The timestamp oracle (section 2.3): "a server that hands out timestamps in strictly increasing
 * order".
 *
 * Snapshot isolation depends on two promises, which every implementation keeps:
 *
 * 1. No timestamp is handed out twice, and a request made after another one was answered receives a
 *    larger timestamp; across all processes, and across crashes (P35, P36, P37).
 * 2. A request is answered with a timestamp allocated after the request was made, never with one
 *    kept from before. A commit timestamp must be younger than the transaction's last lock: a
 *    reader with a larger start timestamp is then certain to meet the lock or the write (P10, early
 *    commit timestamp).
 *
 * The oracle also keeps the horizon of the garbage collection (P31, snapshot loses versions): a
 * snapshot below it may have lost versions. And it counts the drops of tables (P54, commit during
 * drop): what a process knows of the tables may be out of date once the count has moved. Both are
 * persisted and only move forward. Every timestamp comes with a horizon and a count that were read
 * after the request was made, so each caller learns how far collection had advanced, and whether a
 * table is being dropped, by then.
 */
import type { Timestamp } from '../bigtable/index.ts';

export interface TimestampOracle {
  /** A timestamp larger than every one handed out before this call. */
  next(): Promise<Timestamp>;
  /**
   * The newest horizon that this process has received; only grows. After `next` has resolved, it is
   * at least the horizon that was persisted when `next` was called.
   */
  readonly horizon: Timestamp;
  /** The horizon, read after this call. */
  readHorizon(): Promise<Timestamp>;
  /**
   * Persists the horizon, unless it is already there or above; resolves with its current value.
   * @throws INVALID_ARGUMENT from a server, if no timestamp is above the horizon
   */
  raiseHorizon(horizon: Timestamp): Promise<Timestamp>;
  /**
   * How many drops have been announced, as far as this process has heard; only grows. After `next`
   * has resolved, it is at least the count that was persisted when `next` was called.
   */
  readonly drops: number;
  /** Persists a count above the one that is persisted now; resolves with it. */
  announceDrop(): Promise<number>;
  /**
   * Names the database whose timestamps are wanted (P73, another database's oracle): from now on,
   * each answer is of an oracle of that database, or is an error.
   * @throws WRONG_DATABASE if the oracle belongs to another one
   */
  belongTo(identity: string): Promise<void>;
}

/** Where a batch of timestamps comes from: the store's row, or a server. */
export interface TimestampSource {
  /** `count` consecutive timestamps, for the caller alone. */
  allocate(count: number): Promise<Allocation>;
  readHorizon(): Promise<Timestamp>;
  raiseHorizon(horizon: Timestamp): Promise<Timestamp>;
  announceDrop(): Promise<number>;
  /**
   * Of two successive oracles with a lease, the later one has the larger epoch. A client that has
   * seen it rejects answers of the earlier one. Default 0, for a source that asks the store before
   * each answer: such an answer is never rejected for its epoch.
   */
  readonly epoch?: number | undefined;
  /**
   * Whether it answers callers, at most after a moment in which it changes its row. Default true,
   * for a source without a lease.
   */
  readonly isLeading?: boolean | undefined;
  /** The newest timestamp that it has handed out; default: not known. Only grows. */
  readonly newest?: Timestamp | undefined;
  /** Resolves or rejects when it can hand out no more. Default: never. */
  readonly ended?: Promise<void> | undefined;
  /** The identity of its database; undefined as long as none is known. Never changes after that. */
  readonly identity: string | undefined;
  /** As `TimestampOracle.belongTo`. */
  belongTo(identity: string): Promise<void>;
}

/** A source that keeps its state in the store of its database. */
export interface OwnSource extends TimestampSource {
  readonly identity: string;
}

export interface Allocation {
  /** The first of the timestamps. */
  readonly first: Timestamp;
  /** The horizon and the count of drops, read after the request was made. */
  readonly horizon: Timestamp;
  readonly drops: number;
  /** The epoch in which they were handed out, if the source has epochs. */
  readonly epoch?: number | undefined;
}

/* An oracle whose requests are watched or delayed: for tests, the simulator and the cluster. */

/** The oracle with another `next`; all else goes to the oracle. */
export function withNext(oracle: TimestampOracle, next: () => Promise<Timestamp>): TimestampOracle {
  return {
    next,
    get horizon() {
      return oracle.horizon;
    },
    readHorizon: () => oracle.readHorizon(),
    raiseHorizon: (horizon) => oracle.raiseHorizon(horizon),
    get drops() {
      return oracle.drops;
    },
    announceDrop: () => oracle.announceDrop(),
    belongTo: (identity) => oracle.belongTo(identity),
  };
}
