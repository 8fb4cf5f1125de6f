/**
 * A Percolator database: storage, timestamp oracle and liveness put together.
 *
 *     const percolator = await openDatabase({ store: createMemoryBigtable() });
 *     await percolator.createTable('accounts');
 *     await percolator.transact(async (transaction) => { ... });
 *
 * It runs wherever JavaScript does, in a browser too. Folders, and the processes of this machine,
 * come from its host (percolator.ts).
 */
import {
  type Clock,
  createRandom,
  entropyName,
  entropySeed,
  PercolatorError,
  type Random,
  systemClock,
  type TransactionName,
  takeAll,
  Warnings,
} from './base/index.ts';
import {
  checkOptions,
  CLOCK,
  FLAG,
  FUNCTION,
  isObject,
  type OptionRules,
  NAME,
  objectWith,
  POSITIVE,
  TEXT,
} from './base/options.ts';
import {
  batchBigtable,
  type BatchingCounters,
  type BatchingOptions,
  type Bigtable,
  type Timestamp,
} from './bigtable/index.ts';
import { settingsOf as checkBatching } from './bigtable/batching/scheduler.ts';
import { type Feeds, FeedsOfContext } from './changes/index.ts';
import {
  type CollectionReport,
  collectGarbage,
  Collector,
  type CollectGarbageOptions,
  type CollectorOptions,
  type CollectorServices,
} from './garbage-collection/index.ts';
import type { Liveness, LocalLiveness, RangeLocks } from './lock-service/index.ts';
import { LeaseWatch, noteTimes, timestampOf } from './leases/index.ts';
import {
  checkObservers,
  listParked,
  type Observer,
  type ParkedCell,
  replayParked,
  Worker,
  type WorkerOptions,
} from './observer/index.ts';
import {
  batchTimestamps,
  identify,
  type Identity,
  identityIn,
  openAllocator,
  type TimestampOracle,
} from './oracle/index.ts';
import {
  checkCanBeStored,
  createTablesTable,
  findIncarnation,
  bigtableByUserName,
  StoredCatalog,
  type TableDefinition,
  TableAdministration,
} from './tables/index.ts';
import { type AnyColumns, type Columns, Table } from './typed/index.ts';
import type { Reading, Telemetry } from './telemetry/index.ts';
import {
  begin,
  checkBackoff,
  Closing,
  type Context,
  type Counters,
  createContext,
  isNotification,
  OPTION_RULES,
  type OptionsGiven,
  outcomeOf,
  settled,
  type Snapshot,
  snapshotAt,
  storeUntilClosed,
  transact,
  type Transaction,
  type TransactOptions,
  type TransactionOptions,
} from './transaction/index.ts';

export interface PercolatorOptions extends OptionsGiven {
  /** Folder of an embedded store, opened and closed with the database. Give this or `store`. */
  readonly folder?: string | undefined;
  /** Whether the embedded store waits for the disk. Default true; see `EmbeddedOptions.fsync`. */
  readonly fsync?: boolean | undefined;
  /** A storage that the caller has opened, and closes. */
  readonly store?: Bigtable | undefined;
  /**
   * Merges the operations of concurrent transactions into fewer calls of the store (section 2.5;
   * bigtable/batching/). Default 'off'. It pays off where a call costs more than its rows: over a
   * network. The oracle does its own batching.
   */
  readonly batching?: Omit<BatchingOptions, 'isUrgent'> | 'off' | undefined;
  /**
   * Milliseconds between notes of which timestamp it is (leases/times.ts): they let any process
   * open a snapshot of a time. Default: this process notes none. Too small: a write each time. Too
   * large: a snapshot of a time is one of that much earlier.
   */
  readonly timesEveryMs?: number | undefined;
  /** Defaults: the oracle kept in the store; this machine's clock, randomness and processes. */
  readonly oracle?: TimestampOracle | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly liveness?: Liveness | undefined;
  /** Where measurements and spans go: `createTelemetry`. Default: nothing is measured. */
  readonly telemetry?: Telemetry | undefined;
}

const RULES: OptionRules<PercolatorOptions> = {
  ...OPTION_RULES,
  folder: NAME,
  fsync: FLAG,
  store: objectWith('an open store', { checkAndMutateRow: FUNCTION }),
  batching: {
    expected: 'off or an object',
    accepts: (value) => value === 'off' || isObject(value),
  },
  timesEveryMs: POSITIVE,
  oracle: objectWith('a timestamp oracle', { next: FUNCTION }),
  clock: CLOCK,
  random: objectWith('a source of random numbers', { fraction: FUNCTION }),
  liveness: objectWith('an object with the text self and the function isDead', {
    self: TEXT,
    isDead: FUNCTION,
  }),
  telemetry: objectWith('what createTelemetry returns', { storeOf: FUNCTION, watch: FUNCTION }),
};

/** What a database needs of the machine, unless the caller gives it. */
export interface DatabaseHost {
  readonly openFolder: (folder: string, fsync: boolean | undefined) => Promise<Bigtable>;
  /** @param nonce distinguishes several databases in one process */
  readonly processes: (nonce: string) => LocalLiveness;
  /** The locks of the scanners of all workers that name no other ones. Default: none. */
  readonly rangeLocks?: RangeLocks | undefined;
  /** Closes what was opened for the database, when all else has been closed. */
  readonly closeAfter?: (() => Promise<void>) | undefined;
}

/** Without files, and with nothing known of other processes: their locks wait out their time. */
const ANYWHERE: DatabaseHost = {
  openFolder: (folder) => {
    const message = `the folder ${folder} needs Node, Deno or Bun, and its own openPercolator; give a store`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  },
  processes: (nonce) => ({
    self: `anywhere/${entropyName()}/${nonce}`,
    isDead: () => false,
    leave: () => {},
  }),
};

/**
 * Every call is refused with WRONG_DATABASE as soon as the store, or the oracle, is seen to belong
 * to another database (oracle/oracle-row.ts).
 */
export interface Percolator extends Feeds, AsyncDisposable {
  /** Uses the storage's names of tables; see `storedName`. */
  readonly store: Bigtable;
  readonly counters: Readonly<Counters>;
  /** All zero with batching off. */
  readonly batchingCounters: Readonly<BatchingCounters>;
  /**
   * Creates a table; harmless if it exists with the same definition. Transactions and snapshots
   * that began before see nothing of it: they are refused with STALE_SNAPSHOT. The name has 1 to 37
   * characters (ASCII letters, digits, - _ .), does not begin with - or ., and is none that the
   * engine uses: `percolator-*`, `timestamp-oracle`, `*.notify`, `*.i<number>`.
   * @throws TABLE_MISMATCH if it exists with another definition
   * @throws TABLE_NOT_FOUND if it is defined, and the storage lacks it or its companion
   * @throws INVALID_ARGUMENT for an impossible name
   * @throws LOCKED if an unfinished drop has to be finished first, as `dropTable` does
   */
  createTable(table: string, definition?: TableDefinition): Promise<void>;
  /**
   * Drops a table with all that is in it; harmless if there is none. Transactions that write it and
   * have not committed fail with TABLE_NOT_FOUND, and so do its readers. Looks through the locks of
   * all tables, because a transaction may have left locks whose fate only its cells in this table
   * tell. May be called again after any failure.
   * @throws LOCKED if a live transaction has kept its lock for longer than `lockWaitMsMax`
   * @throws TABLE_MISMATCH if its definition cannot be decoded or, for a later incarnation, is
   *   lost; or if another program made it in another form
   */
  dropTable(table: string): Promise<void>;
  /**
   * The storage's name of the table: the table's own name or, if it was dropped and created again,
   * another one. It serves to inspect what is stored; transactions do not need it.
   * @throws TABLE_NOT_FOUND
   */
  storedName(table: string): Promise<string>;
  /**
   * A handle of the table: rows as objects, with a codec or a validator for each column
   * (typed/table.ts). Without `columns` any column, of bytes. Nothing is asked of the storage.
   */
  table(table: string): Table;
  table<const C extends Columns>(table: string, columns: C): Table<C>;
  /** Runs `body` as a transaction until it commits; it may run several times (see transact.ts). */
  transact<T>(
    body: (transaction: Transaction) => Promise<T>,
    options?: TransactOptions,
  ): Promise<T>;
  /** A transaction that the caller commits, and retries. */
  begin(options?: TransactionOptions): Promise<Transaction>;
  /**
   * A read-only view at a timestamp, at a time, or of the present. A view at a time sees nothing
   * that began to commit later, and may be earlier by the interval at which times were noted
   * (`timesEveryMs`). Close it, best with `await using`: until
   * then it keeps what it sees from being collected, for at most `snapshotLifetimeMsMax`.
   * @throws INVALID_ARGUMENT for a timestamp in the future: what it sees would still change
   * @throws STALE_SNAPSHOT for a timestamp below the horizon: what it saw may have been collected;
   *   or for a time by which none was noted
   */
  snapshot(at?: Timestamp | Date, options?: TransactionOptions): Promise<Snapshot>;
  /**
   * How a transaction that ended with COMMIT_UNKNOWN ended after all. An error says nothing about
   * that: the transaction must not be run again because of it, even if `isRetryable` is true.
   * @throws STALE_SNAPSHOT if the outcome will never be known: it is so long ago that the evidence
   *   has been collected, or the table of its primary was dropped
   * @throws LOCKED if it is still committing; STORE_UNAVAILABLE, STORE_IN_DOUBT: ask again later
   */
  outcomeOf(transaction: TransactionName): Promise<'committed' | 'rolled back'>;
  /**
   * Starts a worker that runs the observers until it is stopped. All workers of a column need all
   * of its observers, or some miss changes (observer/observer.ts).
   * @throws INVALID_ARGUMENT for a wrong option, for no observer, for one of a table or a column
   *   that can never exist, or two of one name on one column
   */
  startWorker(observers: readonly Observer[], options?: WorkerOptions): Worker;
  /**
   * Collects old versions, deleted cells and rollback records that are no longer needed: one cycle
   * that looks at every row, or the rest of such a cycle that was interrupted. Before a new cycle,
   * it waits until every other process has renewed its lease, or the lease has lapsed: that of a
   * dead process lapses once it has been watched for its time to live. Where the store is not a
   * folder, a new cycle also waits for `messageLifetimeMs`, unless a cycle that looked at every row
   * has already deleted as much as it may.
   */
  collectGarbage(options?: CollectGarbageOptions): Promise<CollectionReport>;
  /**
   * Starts a collector that runs cycle after cycle until it is stopped. One per database is enough;
   * more are harmless. Where the storage knows which rows are old, most cycles look only at what
   * has changed.
   */
  startCollector(options?: CollectorOptions): Collector;
  /** Cells whose observers failed too often, in row order; at most `limit` (default 1,000). */
  listParked(table: string, limit?: number): Promise<readonly ParkedCell[]>;
  /** Makes a parked cell dirty again, so that its observers run, and takes it off the list. */
  replayParked(cell: ParkedCell): Promise<void>;
  /** Resolves when the background work of committed transactions is done. */
  settled(): Promise<void>;
  /**
   * Closes what was opened; twice is harmless. Stop workers and collectors first: those that are
   * left end with STORE_CLOSED, and so does at once all that waits, or that begins later. A commit
   * in flight, and background work, goes on to its end, for up to `lockWaitMsMax`: cut off, it
   * would leave its locks. Rejects with the first failure, when all has been closed.
   */
  close(): Promise<void>;
}

/**
 * @throws STORE_UNAVAILABLE if the folder cannot be opened, or no oracle answers; INVALID_ARGUMENT
 *   for a wrong option; WRONG_DATABASE if the oracle belongs to another database than the store
 */
export async function openDatabase(
  options: PercolatorOptions,
  host: DatabaseHost = ANYWHERE,
): Promise<Percolator> {
  checkOptions('openPercolator', options, RULES);
  const { batching, store: given } = options;
  if (isObject(batching)) checkBatching(batching);
  checkBackoff(options);
  for (const name of ['folder', 'fsync'] as const) {
    if (given === undefined || options[name] === undefined) continue;
    const message = `${name} is for a store that openPercolator opens, but store is given`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  const store = given ?? (await openFolder(options, host));
  try {
    return await openOn(store, options, host);
  } catch (error) {
    if (options.store === undefined) await store.close();
    throw error;
  }
}

async function openFolder(
  { folder, fsync }: PercolatorOptions,
  host: DatabaseHost,
): Promise<Bigtable> {
  if (folder !== undefined) return host.openFolder(folder, fsync);
  throw new PercolatorError('INVALID_ARGUMENT', 'a database needs a folder, or an open store');
}

async function openOn(
  unmeasured: Bigtable,
  options: PercolatorOptions,
  host: DatabaseHost,
): Promise<Percolator> {
  const { telemetry } = options;
  const closing = new Closing();
  const store = storeUntilClosed(telemetry?.storeOf(unmeasured) ?? unmeasured, closing);
  const random = options.random ?? createRandom(entropySeed());
  await createTablesTable(store);
  const clock = options.clock ?? systemClock;
  const { batching = 'off' } = options;
  const withNotifications =
    batching === 'off' ? batching : { ...batching, isUrgent: isNotification };
  const batched = batchBigtable(store, clock, withNotifications);
  const { oracle: source, identity } = await openOracle(store, clock, options.oracle); // Of one database.
  const oracle = telemetry?.oracleOf(source) ?? source;
  const catalog = new StoredCatalog(store, oracle, identity);
  // Not from the run's seed: two databases with one seed would take each other's locks for their
  // own.
  const local = host.processes(String(entropySeed()));
  const services = {
    store: batched.store,
    unbatchedStore: store,
    sharedStore: unmeasured,
    oracle,
    clock,
    random,
    liveness: options.liveness ?? local,
    isObserved: async (table: string, column: string) =>
      (await findIncarnation(catalog, table)).observedColumns.has(column),
    catalog,
    identity,
    storeByUserName: bigtableByUserName(batched.store, catalog),
    telemetry,
    closing,
  };
  const context = createContext(services, options);
  if (options.timesEveryMs !== undefined) {
    const warnings = new Warnings(undefined);
    const noting = { store: context.store, clock, oracle: context.oracle, warnings };
    void noteTimes(noting, options.timesEveryMs, closing.signal);
  }
  const tables = new TableAdministration(context, store, catalog);
  const ownsStore = options.store === undefined;
  const { counters: batchingCounters } = batched;
  const parts = { identity, tables, catalog, ownsStore, batchingCounters, local, host };
  return new Database(context, parts);
}

/**
 * The oracle, and the identity of the database, which both have (P73, another database's oracle).
 */
async function openOracle(
  store: Bigtable,
  clock: Clock,
  given: TimestampOracle | undefined,
): Promise<{ readonly oracle: TimestampOracle; readonly identity: Identity }> {
  if (given === undefined) {
    const source = await openAllocator(store, { clock });
    return { oracle: batchTimestamps(source), identity: identityIn(store, source.identity) };
  }
  const identity = await identify(store);
  await given.belongTo(identity.name);
  return { oracle: given, identity };
}

class Database extends FeedsOfContext implements Percolator {
  readonly store: Bigtable;
  readonly counters: Readonly<Counters>;
  readonly batchingCounters: Readonly<BatchingCounters>;
  readonly #context: Context;
  readonly #identity: Identity;
  readonly #tables: TableAdministration;
  readonly #catalog: StoredCatalog;
  readonly #ownsStore: boolean;
  readonly #local: LocalLiveness;
  readonly #host: DatabaseHost;
  readonly #collection: CollectorServices;
  readonly #endReadings: (() => void) | undefined;
  #closed: Promise<void> | undefined;

  constructor(
    context: Context,
    parts: {
      readonly identity: Identity;
      readonly tables: TableAdministration;
      readonly catalog: StoredCatalog;
      readonly ownsStore: boolean;
      readonly batchingCounters: Readonly<BatchingCounters>;
      /** Unused if a liveness was given. */
      readonly local: LocalLiveness;
      readonly host: DatabaseHost;
    },
  ) {
    super(context);
    this.#context = context;
    this.#identity = parts.identity;
    this.#tables = parts.tables;
    this.#catalog = parts.catalog;
    this.#ownsStore = parts.ownsStore;
    this.#local = parts.local;
    this.#host = parts.host;
    this.batchingCounters = parts.batchingCounters;
    // One watch for all collectors: what it has seen of leases counts for each of them.
    const leaseWatch = new LeaseWatch(context.store, context.clock);
    this.#collection = {
      context,
      watch: leaseWatch,
      listTables: (needs) => parts.tables.list(needs),
    };
    this.store = context.store;
    this.counters = context.counters;
    this.#endReadings = context.telemetry?.watch(() => readingsOf(context));
  }

  async createTable(table: string, definition: TableDefinition = {}): Promise<void> {
    await this.#check();
    return this.#tables.create(table, definition);
  }

  async dropTable(table: string): Promise<void> {
    await this.#check();
    return this.#tables.drop(table);
  }

  async storedName(table: string): Promise<string> {
    await this.#check();
    await this.#catalog.look([table]); // What this process knows may be out of date.
    return (await findIncarnation(this.#catalog, table)).stored;
  }

  table<const C extends Columns = AnyColumns>(table: string, columns?: C): Table<C> {
    checkCanBeStored(table);
    return new Table(this, table, columns);
  }

  transact<T>(
    body: (transaction: Transaction) => Promise<T>,
    options?: TransactOptions,
  ): Promise<T> {
    return transact(this.#context, body, options);
  }

  begin(options?: TransactionOptions): Promise<Transaction> {
    return begin(this.#context, options);
  }

  async snapshot(at?: Timestamp | Date, options?: TransactionOptions): Promise<Snapshot> {
    this.#context.closing.refuseNew();
    const timestamp = at === undefined ? undefined : await timestampOf(this.#context, at);
    return snapshotAt(this.#context, timestamp, options);
  }

  async outcomeOf(transaction: TransactionName): Promise<'committed' | 'rolled back'> {
    await this.#check();
    return outcomeOf(this.#context, transaction);
  }

  startWorker(observers: readonly Observer[], options: WorkerOptions = {}): Worker {
    checkObservers(observers);
    for (const { table } of observers) checkCanBeStored(table);
    const { rangeLocks } = this.#host;
    const withLocks = rangeLocks === undefined ? options : { rangeLocks, ...options };
    return new Worker(this.#context, observers, withLocks);
  }

  async collectGarbage(options: CollectGarbageOptions = {}): Promise<CollectionReport> {
    await this.#check();
    return collectGarbage(this.#collection, options);
  }

  startCollector(options: CollectorOptions = {}): Collector {
    return new Collector(this.#collection, options);
  }

  async listParked(table: string, limit = 1_000): Promise<readonly ParkedCell[]> {
    await this.#check();
    return listParked(this.#context.storeByUserName, table, limit);
  }

  async replayParked(cell: ParkedCell): Promise<void> {
    await this.#check();
    const { storeByUserName: store, oracle } = this.#context;
    return replayParked({ store, oracle }, cell);
  }

  settled(): Promise<void> {
    return settled(this.#context);
  }

  /** @throws STORE_CLOSED, WRONG_DATABASE */
  async #check(): Promise<void> {
    this.#context.closing.refuseNew();
    await this.#identity.check();
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** Whatever has failed before it, the store above all is closed (P81, closed during commits). */
  async #close(): Promise<void> {
    const { closing, heartbeats, leases } = this.#context;
    closing.begin();
    await takeAll([
      () => this.#inTime(this.#committed()),
      () => heartbeats.stop(),
      () => this.#inTime(leases.close()),
      () => closing.end(),
      () => (this.#ownsStore ? this.store.close() : undefined),
      () => this.#local.leave(),
      () => this.#endReadings?.(),
      () => this.#host.closeAfter?.(),
    ]);
  }

  async #committed(): Promise<void> {
    await this.#context.committing.ended();
    await settled(this.#context);
  }

  /** An oracle or a storage that never answers must not keep the database open. */
  async #inTime(work: Promise<void>): Promise<void> {
    const { clock, options } = this.#context;
    const ended = new AbortController();
    try {
      await Promise.race([work, clock.sleep(options.lockWaitMsMax, ended.signal)]);
    } finally {
      ended.abort();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** What is read of a database when metrics are collected. */
function readingsOf({ counters, leases, oracle, telemetry }: Context): readonly Reading[] {
  const { conflicts, lockWaits, rolledForward, rolledBack } = counters;
  const { horizon } = oracle;
  const { remainingMs } = leases;
  return [
    { metric: 'percolator.transaction.conflicts', value: conflicts },
    { metric: 'percolator.lock.waits', value: lockWaits },
    resolved('forward', rolledForward),
    resolved('back', rolledBack),
    {
      metric: 'percolator.lease.remaining',
      value: remainingMs === undefined ? undefined : remainingMs / 1_000,
      attributes: { 'percolator.lease': 'snapshots' },
    },
    {
      metric: 'percolator.horizon.age',
      value: horizon === 0 ? undefined : telemetry?.agesOf(oracle).secondsSince(horizon),
    },
  ];

  function resolved(direction: 'forward' | 'back', value: number): Reading {
    const attributes = { 'percolator.resolution': direction };
    return { metric: 'percolator.lock.resolved', value, attributes };
  }
}
