/**
 * A Percolator database: storage, timestamp oracle and liveness put together.
 *
 *     const percolator = await openPercolator({ folder: 'data' });
 *     await percolator.createTable('accounts');
 *     await percolator.transact(async (transaction) => { ... });
 *
 * Several processes may open one folder; they share tables, transactions and observers.
 */
import {
  type Clock,
  createRandom,
  entropySeed,
  PercolatorError,
  type Random,
  systemClock,
  type TransactionName,
} from './base/index.ts';
import {
  batchBigtable,
  type BatchingCounters,
  type BatchingOptions,
  type Bigtable,
  openEmbedded,
  type Timestamp,
} from './bigtable/index.ts';
import {
  type CollectionReport,
  collectGarbage,
  Collector,
  type CollectorOptions,
  type CollectorServices,
} from './garbage-collection/index.ts';
import { LeaseWatch, type Liveness, localProcesses } from './lock-service/index.ts';
import {
  listParked,
  type Observer,
  type ParkedCell,
  replayParked,
  Worker,
  type WorkerOptions,
} from './observer/index.ts';
import { batchTimestamps, openAllocator, type TimestampOracle } from './oracle/index.ts';
import { readDefinitions, type TableDefinition, Tables } from './tables.ts';
import {
  begin,
  type Context,
  type Counters,
  createContext,
  isMark,
  type OptionsGiven,
  outcomeOf,
  settled,
  type Snapshot,
  snapshotAt,
  transact,
  type Transaction,
  type TransactionOptions,
} from './transaction/index.ts';

export interface PercolatorOptions extends OptionsGiven {
  /** Folder of an embedded store, opened and closed with the database. Give this or `store`. */
  readonly folder?: string | undefined;
  /** Whether the embedded store waits for the disk. Default true; see `EmbeddedOptions.fsync`. */
  readonly fsync?: boolean | undefined;
  /** Memory of the embedded store for rows that were read. Default 0; see `EmbeddedOptions.rowCacheBytes`. */
  readonly rowCacheBytes?: number | undefined;
  /** A storage that the caller has opened, and closes. */
  readonly store?: Bigtable | undefined;
  /**
   * Merges the operations of concurrent transactions into fewer calls of the store (section 2.5; bigtable/batching.ts).
   * Default 'off'. Worth it where a call costs more than its rows: over a network. The oracle batches by itself.
   */
  readonly batching?: Omit<BatchingOptions, 'isUrgent'> | 'off' | undefined;
  /** Defaults: the oracle kept in the store, this machine's clock, chance and processes. */
  readonly oracle?: TimestampOracle | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly liveness?: Liveness | undefined;
}

export interface Percolator extends AsyncDisposable {
  readonly store: Bigtable;
  readonly counters: Readonly<Counters>;
  /** All zero with batching off. */
  readonly batchingCounters: Readonly<BatchingCounters>;
  /** Creates a table; harmless if it exists with the same definition. */
  createTable(table: string, definition?: TableDefinition): Promise<void>;
  dropTable(table: string): Promise<void>;
  /** Runs `body` as a transaction until it commits; it may run several times (see transact.ts). */
  transact<T>(
    body: (transaction: Transaction) => Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>;
  /** A transaction that the caller commits, and retries. */
  begin(options?: TransactionOptions): Promise<Transaction>;
  /**
   * A read-only view at `timestamp`, or of now. Close it, best with `await using`: until then it keeps
   * what it sees from being collected, for at most `snapshotLifetimeMsMax`.
   * @throws INVALID_ARGUMENT for a timestamp that is yet to come: what it sees would still change
   * @throws STALE_SNAPSHOT for a timestamp below the horizon: what it saw may have been collected
   */
  snapshot(timestamp?: Timestamp, options?: TransactionOptions): Promise<Snapshot>;
  /** How a transaction that ended with COMMIT_UNKNOWN ended after all. */
  outcomeOf(transaction: TransactionName): Promise<'committed' | 'rolled back'>;
  /** Starts a worker that runs the observers until it is stopped. */
  startWorker(observers: readonly Observer[], options?: WorkerOptions): Worker;
  /**
   * Collects old versions, deleted cells and markers that nobody needs any more: one cycle, which takes at
   * least `messageLifetimeMs`.
   */
  collectGarbage(options?: CollectorOptions): Promise<CollectionReport>;
  /** Starts a collector that does so until it is stopped. One for a database is enough; more do no harm. */
  startCollector(options?: CollectorOptions): Collector;
  /** Cells whose observers failed too often; at most `limit` (default 1,000). */
  listParked(table: string, limit?: number): Promise<readonly ParkedCell[]>;
  replayParked(cell: ParkedCell): Promise<void>;
  /** Resolves when the background work of committed transactions is done. */
  settled(): Promise<void>;
  /** Waits for background work and closes what was opened. Stop workers and collectors first. */
  close(): Promise<void>;
}

/** @throws STORE_UNAVAILABLE if the folder cannot be opened, INVALID_ARGUMENT if an option is wrong */
export async function openPercolator(options: PercolatorOptions): Promise<Percolator> {
  const store = options.store ?? (await openFolder(options));
  try {
    return await openOn(store, options);
  } catch (error) {
    if (options.store === undefined) await store.close();
    throw error;
  }
}

async function openFolder(options: PercolatorOptions): Promise<Bigtable> {
  const { folder, fsync, rowCacheBytes } = options;
  if (folder !== undefined && folder !== '') return openEmbedded({ folder, fsync, rowCacheBytes });
  throw new PercolatorError('INVALID_ARGUMENT', 'a database needs a folder, or an open store');
}

async function openOn(store: Bigtable, options: PercolatorOptions): Promise<Percolator> {
  const random = options.random ?? createRandom(entropySeed());
  const tables = new Tables(store);
  await tables.open();
  const clock = options.clock ?? systemClock;
  const { batching = 'off' } = options;
  const withMarks = batching === 'off' ? batching : { ...batching, isUrgent: isMark };
  const batched = batchBigtable(store, clock, withMarks);
  const oracle = options.oracle ?? batchTimestamps(await openAllocator(store));
  const services = {
    store: batched.store,
    direct: store,
    oracle,
    clock,
    random,
    // Not from the run's seed: two databases of one seed would take each other's locks for their own.
    liveness: options.liveness ?? localProcesses(String(entropySeed())),
    isObserved: (table: string, column: string) => tables.isObserved(table, column),
  };
  const context = createContext(services, options);
  const ownsStore = options.store === undefined;
  return new Database(context, { tables, ownsStore, batchingCounters: batched.counters });
}

class Database implements Percolator {
  readonly store: Bigtable;
  readonly counters: Readonly<Counters>;
  readonly batchingCounters: Readonly<BatchingCounters>;
  readonly #context: Context;
  readonly #tables: Tables;
  readonly #ownsStore: boolean;
  readonly #collection: CollectorServices;

  constructor(
    context: Context,
    parts: {
      readonly tables: Tables;
      readonly ownsStore: boolean;
      readonly batchingCounters: Readonly<BatchingCounters>;
    },
  ) {
    this.#context = context;
    this.#tables = parts.tables;
    this.#ownsStore = parts.ownsStore;
    this.batchingCounters = parts.batchingCounters;
    // One watch for all collectors: what it has seen of leases counts for each of them.
    const watch = new LeaseWatch(context.store, context.clock);
    this.#collection = { context, watch, listTables: () => listTables(context.store) };
    this.store = context.store;
    this.counters = context.counters;
  }

  createTable(table: string, definition: TableDefinition = {}): Promise<void> {
    return this.#tables.create(table, definition);
  }

  dropTable(table: string): Promise<void> {
    return this.#tables.drop(table);
  }

  transact<T>(
    body: (transaction: Transaction) => Promise<T>,
    options?: TransactionOptions,
  ): Promise<T> {
    return transact(this.#context, body, options);
  }

  begin(options?: TransactionOptions): Promise<Transaction> {
    return begin(this.#context, options);
  }

  async snapshot(timestamp?: Timestamp, options?: TransactionOptions): Promise<Snapshot> {
    if (timestamp !== undefined) await this.#checkPast(timestamp);
    return snapshotAt(this.#context, timestamp, options);
  }

  outcomeOf(transaction: TransactionName): Promise<'committed' | 'rolled back'> {
    return outcomeOf(this.#context, transaction);
  }

  startWorker(observers: readonly Observer[], options: WorkerOptions = {}): Worker {
    return new Worker(this.#context, observers, options);
  }

  collectGarbage(options: CollectorOptions = {}): Promise<CollectionReport> {
    return collectGarbage(this.#collection, options);
  }

  startCollector(options: CollectorOptions = {}): Collector {
    return new Collector(this.#collection, options);
  }

  listParked(table: string, limit = 1_000): Promise<readonly ParkedCell[]> {
    return listParked(this.store, table, limit);
  }

  replayParked(cell: ParkedCell): Promise<void> {
    return replayParked(this.#context, cell);
  }

  settled(): Promise<void> {
    return settled(this.#context);
  }

  async #checkPast(timestamp: Timestamp): Promise<void> {
    const now = await this.#context.oracle.next();
    if (timestamp <= now) return;
    const message = `a snapshot is of the past: at most ${now}, not ${timestamp}`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }

  async close(): Promise<void> {
    await settled(this.#context);
    this.#context.heartbeats.stop();
    await this.#context.leases.close();
    if (this.#ownsStore) await this.store.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** The Percolator tables, without their companions. */
async function listTables(store: Bigtable): Promise<readonly string[]> {
  return [...(await readDefinitions(store)).keys()];
}
