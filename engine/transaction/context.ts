/**
 * What all transactions of one open database share: the storage, the services, the options, and the
 * commits in flight. It is the first argument of every operation of the protocol.
 */
import type { Clock, Random } from '../base/index.ts';
import type { Bigtable, Timestamp } from '../bigtable/index.ts';
import { type Liveness } from '../lock-service/index.ts';
import { createLeases, type Leases, leaseToken } from '../leases/index.ts';
import type { Identity, TimestampOracle } from '../oracle/index.ts';
import type { TableCatalog } from './catalog.ts';
import type { Cause } from './cause.ts';
import { type CallCounters, countCalls } from './counting.ts';
import type { CellAddress } from './columns.ts';
import { Closing } from './closing.ts';
import { Committing } from './committing.ts';
import { createHeartbeats, type Heartbeats } from './locks/heartbeat.ts';
import { createLockWatch, type LockWatch } from './locks/lock-watch.ts';
import { type Options, type OptionsGiven, withDefaults } from './options.ts';
import { PrefetchModel } from './prefetch/prefetch-model.ts';

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
}

export interface Context {
  /** Counts its calls. Uses the storage's own names of tables (catalog.ts). */
  readonly store: Bigtable;
  /** The same storage by the users' names of tables, each meaning its current incarnation. */
  readonly named: Bigtable;
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
  /** Undefined: every table exists for ever, under its own name. */
  readonly catalog: TableCatalog | undefined;
  /** Of the database; undefined: not compared with anything. */
  readonly identity: Identity | undefined;
  /**
   * Called with cells whose notifications were committed here,
   * which saves this process's workers a scan.
   */
  readonly notified: Set<(notification: CommittedNotification) => void>;
  /** How many workers this process has started. Only grows. */
  workersStarted: number;
}

export interface Services {
  readonly store: Bigtable;
  /**
   * The same storage without batching: a heartbeat must not wait for the answer to another call
   * (P25). Default: `store`.
   */
  readonly direct?: Bigtable | undefined;
  readonly oracle: TimestampOracle;
  readonly clock: Clock;
  readonly random: Random;
  readonly liveness: Liveness;
  isObserved(table: string, column: string): Promise<boolean>;
  /** Default: every table exists for ever, under its own name. */
  readonly catalog?: TableCatalog | undefined;
  /** Default: none is compared. */
  readonly identity?: Identity | undefined;
  /** The storage by the users' names of tables. Default: `store`. */
  readonly named?: Bigtable | undefined;
  /** Default: kept in the store, with timestamps of the oracle as bounds. */
  readonly leases?: LeaseSource | undefined;
}

/** Where the lease of the process is kept, and where its bounds come from. */
export interface LeaseSource {
  readonly store: Bigtable;
  freshTimestamp(): Promise<Timestamp>;
}

export function createContext(services: Services, given: OptionsGiven = {}): Context {
  const options = withDefaults(given);
  const counters = noCounts();
  const { store, direct = store, named = store, oracle, clock, liveness } = services;
  const nonce = nonceOf(services);
  const closing = new Closing();
  const leases = services.leases ?? { store: direct, freshTimestamp: () => oracle.next() };
  return {
    ...services,
    store: countCalls(store, counters, closing),
    named: countCalls(named, counters, closing),
    catalog: services.catalog,
    identity: services.identity,
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
    heartbeats: createHeartbeats(direct, clock),
    lockWatch: createLockWatch(services.clock),
    prefetchModel: options.prefetch === 'learn' ? new PrefetchModel() : undefined,
    closing,
    committing: new Committing(liveness),
    background: new Set(),
    notified: new Set(),
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
function nonceOf({ store, direct = store, liveness, random }: Services): number {
  const { self } = liveness;
  const counts = [direct, liveness].map((shared) => {
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
