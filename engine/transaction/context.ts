/**
 * What all transactions of one process share: the storage, the services, the options, and who is
 * in flight. Passed first to every verb of the protocol.
 */
import type { Clock, Random } from '../base/index.ts';
import type { Bigtable, Timestamp } from '../bigtable/index.ts';
import { type Liveness } from '../lock-service/index.ts';
import { createLeases, type Leases } from '../leases/index.ts';
import type { TimestampOracle } from '../oracle/index.ts';
import type { TableCatalog } from './catalog.ts';
import type { CellAddress } from './columns.ts';
import { createHeartbeats, type Heartbeats } from './locks/heartbeat.ts';
import { createLockWatch, type LockWatch } from './locks/lock-watch.ts';
import { type Options, type OptionsGiven, withDefaults } from './options.ts';
import { PrefetchModel } from './prefetch/prefetch-model.ts';

/** Counts since the process opened the database. Each moves when the thing has happened. */
export interface Counters {
  begun: number;
  committed: number;
  /** Transactions that lost to another one; each retry that loses counts again. */
  conflicts: number;
  /** Commits whose outcome could not be found out. */
  unknown: number;
  /** Locks of other transactions rolled forward, or back, by this process. */
  rolledForward: number;
  rolledBack: number;
  /** Times a reader waited for a live transaction's lock. */
  lockWaits: number;
  /** Reads and mutations sent to the storage, and how many rows they named. */
  reads: number;
  readRows: number;
  mutations: number;
  mutatedRows: number;
  /** Reads that the storage was not asked for, because all of it had been read along with an earlier one. */
  readsSaved: number;
  /** Cells read along on a guess, and those of them that were asked for. The others were for nothing. */
  prefetched: number;
  prefetchedUsed: number;
}

/** Notify cells that a committed transaction of this process has set. */
export interface CommittedNotification {
  readonly strong: readonly CellAddress[];
  readonly weak: readonly CellAddress[];
  readonly commitTimestamp: Timestamp;
}

export interface Context {
  /** Knows tables by its own names for them (catalog.ts). */
  readonly store: Bigtable;
  /** The same one, which knows tables by the names that users gave them: their incarnations of now. */
  readonly named: Bigtable;
  readonly oracle: TimestampOracle;
  readonly clock: Clock;
  readonly random: Random;
  readonly liveness: Liveness;
  readonly options: Options;
  readonly counters: Counters;
  readonly heartbeats: Heartbeats;
  readonly lockWatch: LockWatch;
  /** What transactions went on to read; undefined if nobody wants to know. */
  readonly prefetchModel: PrefetchModel | undefined;
  /** Keeps from collectors what the transactions of this process still see. */
  readonly leases: Leases;
  /** Transactions of this process between start and end of their commit; resolved when it ends. */
  readonly committing: Map<Timestamp, Promise<void>>;
  /** Work that nobody waits for: secondaries of committed transactions. `settled` waits for it. */
  readonly background: Set<Promise<void>>;
  /** Which columns are observed: writing them leaves a notification. */
  isObserved(table: string, column: string): Promise<boolean>;
  /** Undefined: every table is there for ever, under its own name. */
  readonly catalog: TableCatalog | undefined;
  /** Told of cells whose notifications were committed here, so that a worker of this process need not scan. */
  readonly notified: Set<(notification: CommittedNotification) => void>;
}

export interface Services {
  readonly store: Bigtable;
  /**
   * The same one past all batching: a sign of life must not wait until another call is answered (P25).
   * Default: `store`.
   */
  readonly direct?: Bigtable | undefined;
  readonly oracle: TimestampOracle;
  readonly clock: Clock;
  readonly random: Random;
  readonly liveness: Liveness;
  isObserved(table: string, column: string): Promise<boolean>;
  /** Default: every table is there for ever, under its own name. */
  readonly catalog?: TableCatalog | undefined;
  /** The store, with tables by the names that users gave them. Default: `store`. */
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
  const { store, direct = store, named = store, oracle, clock, liveness } = services;
  const leases = services.leases ?? { store: direct, freshTimestamp: () => oracle.next() };
  return {
    ...services,
    named,
    catalog: services.catalog,
    isObserved: (table, column) => services.isObserved(table, column),
    options,
    leases: createLeases({
      store: leases.store,
      clock,
      token: liveness.self,
      freshTimestamp: () => leases.freshTimestamp(),
      ttlMs: options.leaseTimeToLiveMs,
      lifetimeMsMax: options.snapshotLifetimeMsMax,
    }),
    counters: noCounts(),
    heartbeats: createHeartbeats(direct, clock),
    lockWatch: createLockWatch(services.clock),
    prefetchModel: options.prefetch === 'learn' ? new PrefetchModel() : undefined,
    committing: new Map(),
    background: new Set(),
    notified: new Set(),
  };
}

/** Resolves when the background work of committed transactions is done. */
export async function settled(context: Context): Promise<void> {
  while (context.background.size > 0) await Promise.all(context.background);
}

/** Runs `work` without anybody waiting; its failure is of no consequence (see the caller's comment). */
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
