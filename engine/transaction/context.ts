/**
 * What all transactions of one open database share: the storage, the services, the options, and the
 * commits in flight. It is the first argument of every operation of the protocol.
 *
 *     Services + Options ─▶ createContext ─▶ Context: what each operation uses
 *                                             ├─ Committing: the commits in flight
 *                                             ├─ Counters: what was done, and sent to the store
 *                                             └─ Options; backoffMs
 *
 * Two of its parts are known only by what they promise here. The *lease* of this process tells
 * garbage collectors below which timestamp it still reads; a transaction takes a *hold* on it, so
 * that what it sees stays (leases/leases.ts). The *catalog* says which *incarnation* a table's name
 * means, if the table was dropped and created again (bound-tables.ts).
 */
import type { SpanContext } from '@opentelemetry/api';
import type { Clock, Random } from '../base/index.ts';
import {
  check,
  COUNT,
  filledIn,
  type Given,
  oneOf,
  option,
  type OptionDefaults,
  POSITIVE,
} from '../base/options.ts';
import { type Bigtable, decorate, type Timestamp } from '../bigtable/index.ts';
import { createLeases, type Leases, leaseToken } from '../leases/index.ts';
import type { Liveness } from '../lock-service/index.ts';
import type { Identity, TimestampOracle } from '../oracle/index.ts';
import type { Telemetry } from '../telemetry/index.ts';
import type { TableCatalog } from './bound-tables.ts';
import { Closing, oracleUntilClosed } from './closing.ts';
import type { CellAddress } from './columns.ts';
import { createHeartbeats, createLockWatch, type Heartbeats, type LockWatch } from './locks.ts';
import type { Cause } from './notifications.ts';
import { PrefetchModel } from './prefetch-model.ts';

/** Counts since the process opened the database. Each counts what has already happened. */
export interface Counters extends CallCounters {
  begun: number;
  committed: number;
  /** Transactions that lost to another one; each retry that loses counts again. */
  conflicts: number;
  /** Commits whose outcome could not be found out. */
  unknown: number;
  /** Locks of other transactions rolled forward, or back, by this process. */
  rolledForward: number;
  rolledBack: number;
  /** Times a reader, or the drop of a table, waited for a live transaction's lock. */
  lockWaits: number;
  /** Reads not sent to the storage, because all their cells had been read ahead. */
  readsSaved: number;
  /** Cells read ahead on a guess, and how many of them were asked for. The others were wasted. */
  prefetched: number;
  prefetchedUsed: number;
}

/** Notify cells that a committed transaction of this process has set. */
export interface CommittedNotification {
  readonly strong: readonly CellAddress[];
  readonly weak: readonly CellAddress[];
  readonly commitTimestamp: Timestamp;
  /** Undefined unless the transaction is a run of an observer. */
  readonly cause: Cause | undefined;
  /** Of the transaction, if spans are wanted. */
  readonly span: SpanContext | undefined;
}

/** A worker of this process, which is told at once: that saves it the scan. */
export interface NotificationListener {
  /** Whether it runs observers of the cell. */
  observes(cell: CellAddress): boolean;
  /** Called once the transaction has committed. */
  tell(notification: CommittedNotification): void;
}

export interface Context {
  /** Counts its calls. Uses the storage's own names of tables (bound-tables.ts). */
  readonly store: Bigtable;
  /** The same storage by the users' names of tables, each meaning its current incarnation. */
  readonly storeByUserName: Bigtable;
  readonly oracle: TimestampOracle;
  readonly clock: Clock;
  readonly random: Random;
  readonly liveness: Liveness;
  /** Tells apart the databases that one process has opened with one liveness token. */
  readonly nonce: number;
  readonly options: Options;
  readonly counters: Counters;
  readonly heartbeats: Heartbeats;
  readonly lockWatch: LockWatch;
  /** What transactions went on to read; undefined if prefetching is off. */
  readonly prefetchModel: PrefetchModel | undefined;
  /** Keeps what the transactions of this process still see from being collected. */
  readonly leases: Leases;
  readonly closing: Closing;
  /** Transactions that are committing in the databases of this process that share the liveness. */
  readonly committing: Committing;
  /**
   * Work that no caller waits for: secondaries of committed transactions, and notify cells of
   * transactions that may not have committed yet. `settled` waits for it.
   */
  readonly background: Set<Promise<void>>;
  /** Which columns are observed: a write to one leaves a notification. */
  isObserved(table: string, column: string): Promise<boolean>;
  /** Undefined: every table exists forever, under its own name. */
  readonly catalog: TableCatalog | undefined;
  /** Without a catalog: the columns of every table whose cells several transactions may lock. */
  readonly sharedColumns: ReadonlySet<string>;
  /** Of the database; undefined: not compared with anything. */
  readonly identity: Identity | undefined;
  /** Undefined: nothing is measured. */
  readonly telemetry: Telemetry | undefined;
  readonly workers: Set<NotificationListener>;
  /** How many workers this process has started. Only grows. */
  workersStarted: number;
}

export interface EngineServices {
  readonly store: Bigtable;
  /**
   * The same storage without batching: a heartbeat must not wait for the answer to another call
   * (P25, late heartbeats). Default: `store`.
   */
  readonly unbatchedStore?: Bigtable | undefined;
  readonly oracle: TimestampOracle;
  readonly clock: Clock;
  readonly random: Random;
  readonly liveness: Liveness;
  isObserved(table: string, column: string): Promise<boolean>;
  /** Default: every table exists forever, under its own name. */
  readonly catalog?: TableCatalog | undefined;
  /** Without a catalog. Default: none. */
  readonly sharedColumns?: ReadonlySet<string> | undefined;
  /** Default: none is compared. */
  readonly identity?: Identity | undefined;
  /** The storage by the users' names of tables. Default: `store`. */
  readonly storeByUserName?: Bigtable | undefined;
  /** Default: nothing is measured. */
  readonly telemetry?: Telemetry | undefined;
  /** Default: kept in the store, with timestamps of the oracle as bounds. */
  readonly leases?: LeaseSource | undefined;
  /** Whose `storeUntilClosed` the stores are. Default: the database is never closed. */
  readonly closing?: Closing | undefined;
  /** The storage as databases share it, without what each has put around it. Default: `store`. */
  readonly sharedStore?: Bigtable | undefined;
}

/** Where the lease of the process is kept, and where its bounds come from. */
export interface LeaseSource {
  readonly store: Bigtable;
  freshTimestamp(): Promise<Timestamp>;
}

export function createContext(services: EngineServices, given: OptionsGiven = {}): Context {
  const options = filledIn(OPTION_RULES, given);
  const counters = noCounts();
  const { store, unbatchedStore = store, storeByUserName = store } = services;
  const { oracle, clock, liveness } = services;
  const nonce = nonceOf(services);
  const { closing = new Closing() } = services;
  const guarded = oracleUntilClosed(oracle, closing);
  services.telemetry?.isCalledBy(oracle, guarded);
  const leases = services.leases ?? { store: unbatchedStore, freshTimestamp: () => oracle.next() };
  return {
    ...services,
    store: countCalls(store, counters),
    storeByUserName: countCalls(storeByUserName, counters),
    oracle: guarded,
    catalog: services.catalog,
    sharedColumns: services.sharedColumns ?? new Set(),
    identity: services.identity,
    telemetry: services.telemetry,
    isObserved: (table, column) => services.isObserved(table, column),
    nonce,
    options,
    leases: createLeases({
      store: leases.store,
      clock,
      token: leaseToken(liveness.self, nonce),
      freshTimestamp: () => leases.freshTimestamp(),
      ttlMs: options.leaseTimeToLiveMs,
      lifetimeMsMax: options.snapshotLifetimeMsMax,
    }),
    counters,
    heartbeats: createHeartbeats(unbatchedStore, clock),
    lockWatch: createLockWatch(services.clock),
    prefetchModel: options.prefetch === 'learn' ? new PrefetchModel() : undefined,
    closing,
    committing: new Committing(liveness),
    background: new Set(),
    workers: new Set(),
    workersStarted: 0,
  };
}

/** By a store, or a liveness: how many databases have used it, by their liveness tokens. */
const users = new WeakMap<object, Map<string, number>>();

/**
 * Drawn from the run's seed, so that a run can be repeated. Databases with one seed and one
 * liveness token differ by their count, if they share the store or the liveness: a count for the
 * whole process would depend on earlier runs.
 */
function nonceOf({ store, sharedStore = store, liveness, random }: EngineServices): number {
  const { self } = liveness;
  const counts = [sharedStore, liveness].map((shared) => {
    const ofShared = users.get(shared) ?? new Map<string, number>();
    users.set(shared, ofShared);
    return ofShared;
  });
  const count = Math.max(...counts.map((ofShared) => ofShared.get(self) ?? 0));
  for (const ofShared of counts) ofShared.set(self, count + 1);
  return random.fork(`lease ${count}`).integer(0, 2 ** 31 - 1);
}

/** Resolves when all background work is done. */
export async function settled(context: Context): Promise<void> {
  while (context.background.size > 0) await Promise.all(context.background);
}

/**
 * Runs `work` without a waiting caller;
 * its failure has no consequence (see the caller's comment).
 */
export function inBackground(context: Context, work: Promise<void>): void {
  const tracked = work
    .catch(() => {})
    .finally(() => {
      context.background.delete(tracked);
    });
  context.background.add(tracked);
}

function noCounts(): Counters {
  return {
    begun: 0,
    committed: 0,
    conflicts: 0,
    unknown: 0,
    rolledForward: 0,
    rolledBack: 0,
    lockWaits: 0,
    reads: 0,
    readRows: 0,
    mutations: 0,
    mutatedRows: 0,
    readsSaved: 0,
    prefetched: 0,
    prefetchedUsed: 0,
  };
}

/*
 * The transactions of this process that are committing.
 *
 * A lock with this process's own token belongs to a dead attempt unless its transaction is among
 * these (P29, own dead attempts). Databases with one liveness object have one token, so each sees
 * the transactions of all of them. Yet each keeps its own, because databases of different stores
 * may commit at the same start timestamp: the end of one such commit must not look like the end of
 * the other. A database looks among its own first. What it finds only among those of another may be
 * a commit of another store; then the locks of its own dead attempt stay until that commit ends,
 * which costs time, not data.
 */

/** Each promise resolves when the commit ends. */
type Commits = Map<Timestamp, Promise<void>>;

/** By liveness: the commits of each database that has any. */
const commitsOf = new WeakMap<Liveness, Set<Commits>>();

export class Committing {
  readonly #own: Commits = new Map();
  readonly #all: Set<Commits>;
  /** Commit timestamps of those that have sent notifications, by start timestamp. */
  readonly #notifying = new Map<Timestamp, Timestamp>();
  readonly #commitTimestamps = new Set<Timestamp>();

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

  /** A commit of this database sends its notifications. */
  notifies(startTimestamp: Timestamp, commitTimestamp: Timestamp): void {
    this.#notifying.set(startTimestamp, commitTimestamp);
    this.#commitTimestamps.add(commitTimestamp);
  }

  /**
   * Whether a notification of this timestamp is of a commit of this database that is in flight: the
   * workers will be told if it commits.
   */
  isNotifying(commitTimestamp: Timestamp): boolean {
    return this.#commitTimestamps.has(commitTimestamp);
  }

  delete(startTimestamp: Timestamp): void {
    const commitTimestamp = this.#notifying.get(startTimestamp);
    if (commitTimestamp !== undefined) this.#commitTimestamps.delete(commitTimestamp);
    this.#notifying.delete(startTimestamp);
    this.#own.delete(startTimestamp);
    if (this.#own.size === 0) this.#all.delete(this.#own);
  }
}

/*
 * Counts the calls that a process sends to the storage: for transactions, scanners and collectors
 * alike. A decorator, so that the verbs of the protocol do not count.
 */

/** Reads and mutations sent to the storage, and how many rows they named or, for a range, found. */
interface CallCounters {
  reads: number;
  readRows: number;
  mutations: number;
  mutatedRows: number;
}

/** `store`, with each call counted in `counters` when it is sent; the rows of a range when read. */
function countCalls(store: Bigtable, counters: CallCounters): Bigtable {
  const read = (rows: number): void => {
    counters.reads++;
    counters.readRows += rows;
  };
  const mutate = (rows: number): void => {
    counters.mutations++;
    counters.mutatedRows += rows;
  };
  return decorate(store, {
    readRow: (...given) => {
      read(1);
      return store.readRow(...given);
    },
    readRows: (table, rows, filters) => {
      read(rows.length);
      return store.readRows(table, rows, filters);
    },
    readRange: async (...given) => {
      read(0);
      const rows = await store.readRange(...given);
      counters.readRows += rows.length;
      return rows;
    },
    checkAndMutateRow: (conditional) => {
      mutate(1);
      return store.checkAndMutateRow(conditional);
    },
    checkAndMutateRows: (conditionals) => {
      mutate(conditionals.length);
      return store.checkAndMutateRows(conditionals);
    },
    mutateRows: (rows) => {
      mutate(rows.length);
      return store.mutateRows(rows);
    },
  });
}

/* The options of transactions: unit, default, cost of a wrong value; and what each must be. */

export interface Options {
  /**
   * Milliseconds without a change of a lock's heartbeat after which its worker is presumed dead.
   * Default 5,000. Too small: live transactions are rolled back and retried while their process is
   * busy. Too large: readers wait that long for the locks of a worker that crashed on another
   * machine.
   */
  readonly lockTimeToLiveMs: number;
  /**
   * Milliseconds that a read, or the drop of a table, waits for a live transaction's lock before it
   * fails with LOCKED; after as long, `collectGarbage` leaves its cycle incomplete. Default 10,000.
   * Too small: reads fail while large commits are in flight. Too large: a stuck writer is noticed
   * late.
   */
  readonly lockWaitMsMax: number;
  /**
   * How often `transact` runs a transaction before it gives up with the last error, and `outcomeOf`
   * looks before it fails with LOCKED. Default 100. Too small: callers see the conflicts of hot
   * cells as errors. Too large: only time is lost.
   */
  readonly attemptsMax: number;
  /**
   * Milliseconds for which `transact` goes on trying while nothing answers: the store, the oracle
   * (STORE_UNAVAILABLE), or the owner of a lock (LOCKED). Counted from the first such failure in a
   * row; the attempt that is running then is the last one. Default 15,000: where a call waits for
   * 10,000, an error after about half a minute. Too small: callers see short outages as errors. Too
   * large: they wait as long for a store that is gone.
   */
  readonly unansweredMsMax: number;
  /**
   * Milliseconds of backoff between attempts and between looks at a lock. The n-th is drawn from 0
   * to `backoffMsMin` × 2^n, at most `backoffMsMax`. Defaults 1 and 256. Too small: losers meet
   * again, and the store serves more calls. Too large: they wait although the cell is free.
   */
  readonly backoffMsMin: number;
  readonly backoffMsMax: number;
  /**
   * How often a mutation without a clear answer is sent before its outcome is called unknown: the
   * commit of the primary, and notifications that are waited for, this often in all; a prewrite
   * once, and then this often again. Default 5. Too small: short outages of the store surface as
   * STORE_UNAVAILABLE, or as COMMIT_UNKNOWN. Too large: in a long outage, callers wait longer for
   * their error.
   */
  readonly inDoubtAttemptsMax: number;
  /**
   * Milliseconds for which a transaction or snapshot keeps the versions that it sees from being
   * collected. Default 600,000. Afterwards it goes on, reading the horizon after each read, until
   * it is stale. Too small: long scans fail with STALE_SNAPSHOT. Too large: a forgotten snapshot
   * keeps garbage.
   */
  readonly snapshotLifetimeMsMax: number;
  /**
   * Milliseconds for which a collector respects the lease of a process that does not renew it,
   * counted from when it first sees the lease. Default 30,000. Too small: after a pause of the
   * process, its transactions ask for the horizon at each read. Too large: a dead process keeps
   * garbage that much longer, and `collectGarbage` waits that long for it.
   */
  readonly leaseTimeToLiveMs: number;
  /**
   * 'learn': a read also fetches the columns of its row that transactions of the same kind went on
   * to read (reads.ts). Default 'off': each read fetches what was asked for. Where each row is
   * read in one go anyway, learning costs a little time and saves nothing.
   */
  readonly prefetch: 'off' | 'learn';
}

export type OptionsGiven = Given<Options>;

export const OPTION_RULES: OptionDefaults<Options> = {
  lockTimeToLiveMs: option(POSITIVE, 5_000),
  lockWaitMsMax: option(POSITIVE, 10_000),
  attemptsMax: option(COUNT, 100),
  unansweredMsMax: option(POSITIVE, 15_000),
  backoffMsMin: option(POSITIVE, 1),
  backoffMsMax: option(POSITIVE, 256),
  inDoubtAttemptsMax: option(COUNT, 5),
  snapshotLifetimeMsMax: option(POSITIVE, 600_000),
  leaseTimeToLiveMs: option(POSITIVE, 30_000),
  prefetch: option(oneOf('off', 'learn'), 'off'),
};

/** @throws INVALID_ARGUMENT if no backoff could be as long as the first one may be */
export function checkBackoff(given: OptionsGiven): void {
  const { backoffMsMin, backoffMsMax } = filledIn(OPTION_RULES, given);
  const accepts = (): boolean => backoffMsMin <= backoffMsMax;
  check('backoffMsMin', backoffMsMin, {
    expected: `at most backoffMsMax, ${backoffMsMax}`,
    accepts,
  });
}

/* Capped exponential backoff with full jitter: losers must not meet again in step (P23). */

/** Milliseconds to wait before attempt number `attempt` + 1; the first attempt is number 1. */
export function backoffMs({ options, random }: Context, attempt: number): number {
  const ceiling = Math.min(options.backoffMsMax, options.backoffMsMin * 2 ** Math.min(attempt, 20));
  return ceiling * random.fraction();
}
