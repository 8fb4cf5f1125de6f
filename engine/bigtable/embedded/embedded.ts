/**
 * A durable Bigtable in this process, on lmdb: nothing to install, nothing to start.
 *
 *     reads ──▶ a fresh lmdb snapshot ──▶ seeks
 *     mutations ──▶ checked ──▶ group commit ──▶ one lmdb transaction, one fsync ──▶ resolved
 *
 * Several processes of one machine may open one folder. lmdb's writer lock orders their mutations,
 * and killing a process that holds the lock does no harm. While one process opens the store, none
 * commits (door.ts). A process that is *stopped* (SIGSTOP, a debugger) inside a group blocks the
 * others: lmdb has one writer.
 *
 * It has no tablets. Splits are kept and returned, for code that picks random tablets, but every
 * process serves all rows.
 */
import { isMainThread } from 'node:worker_threads';
import type { Database, RootDatabase } from 'lmdb';
import { assert, PercolatorError } from '../../base/index.ts';
import { checkOptions, FLAG, type Kinds, NAME, WHOLE } from '../../base/options.ts';
import type {
  Bigtable,
  CellFilter,
  ConditionalRowMutation,
  Manifest,
  Row,
  RowMutation,
  RowRange,
  TableSchema,
} from '../bigtable.ts';
import { answersTo } from '../answers.ts';
import { durabilityOf } from '../durability.ts';
import {
  validateFilter,
  validateMutation,
  validateRange,
  validateRowKey,
  validateSchema,
} from '../validate.ts';
import {
  EMPTY_CATALOG,
  familyId,
  findTable,
  withDropping,
  withoutTable,
  withTable,
  type Catalog,
  type TableEntry,
} from './catalog.ts';
import { type Door, openDoor } from './door.ts';
import {
  type Environment,
  type EnvironmentSettings,
  makeFolder,
  openEnvironment,
  syncStore,
} from './environment.ts';
import { checkIsStore } from './existing-store.ts';
import { FileWatch } from './file-watch.ts';
import { type Committing, failureOf, transactIn } from './failed-commit.ts';
import { createGroupCommit, type GroupCommit } from './group-commit.ts';
import { withHardExit } from './hard-exit.ts';
import { checkKeyLength, prefixEnd, tablePrefix } from './keys.ts';
import { LargeRows } from './large-rows.ts';
import { readRange, readRow, type Storage } from './read.ts';
import { RowCache } from './row-cache.ts';
import { filterForTable, type TableFilter } from './table-filter.ts';
import { applyConditional, applyMutations } from './write.ts';

export interface EmbeddedOptions {
  /** The folder of the store; created if absent. */
  readonly folder: string;
  /**
   * Whether a mutation resolves only when fsync has put it on the disk. Default true. With false it
   * survives `kill -9` of the process but not a power failure, and a commit costs 20 times less.
   */
  readonly fsync?: boolean | undefined;
  /**
   * Opens a store that must exist, refuses every mutation with READ_ONLY, and leaves the folder's
   * content unchanged. Default false.
   */
  readonly readOnly?: boolean | undefined;
  /**
   * Approximate memory, in bytes, for caching rows that were read. Default 0: none. Too small: rows
   * are evicted before they are read again. It is useless while other processes write, whatever its
   * size: each of their commits empties it.
   */
  readonly rowCacheBytes?: number | undefined;
}

const KINDS: Kinds<EmbeddedOptions> = {
  folder: NAME,
  fsync: FLAG,
  readOnly: FLAG,
  rowCacheBytes: WHOLE,
};

const CATALOG_KEY = 'catalog';
/** A copy of the catalog's version: small enough for every read to check. */
const VERSION_KEY = 'version';
/**
 * How many groups were committed since counting began; row-cache.ts uses it to detect other
 * writers. Absent until a process has a cache, because counting costs a lone mutation a fifteenth
 * of its time.
 */
const GROUPS_KEY = 'groups';
/** Cells purged per transaction when a table is dropped: other writers may commit in between. */
const PURGE_CELLS = 10_000;

/**
 * @throws STORE_UNAVAILABLE if the folder cannot be created or opened, INVALID_ARGUMENT; the
 * message says which
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<Bigtable> {
  checkOptions('openEmbedded', options, KINDS, ['folder']);
  const { fsync = true, readOnly = false, rowCacheBytes = 0 } = options;
  let door: Door | undefined;
  try {
    if (readOnly) checkIsStore(options.folder);
    else await makeFolder(options.folder, { fsync });
    door = openDoor(options.folder, { readOnly });
    const store = await openThrough(door, { ...options, fsync, readOnly, rowCacheBytes });
    if (!readOnly && fsync) await syncStore(options.folder);
    if (!readOnly) await store.finishDrops();
    if (!readOnly && rowCacheBytes > 0) await store.beginCounting();
    return store;
  } catch (cause) {
    await door?.close();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PercolatorError(
      'STORE_UNAVAILABLE',
      `the embedded store in ${options.folder} cannot be opened: ${reason}`,
      { cause },
    );
  }
}

type Settings = EnvironmentSettings & { readonly rowCacheBytes: number };

/** Opens the environment while no process commits. */
function openThrough(door: Door | undefined, settings: Settings): Promise<Embedded> {
  const opening = (): Embedded => new Embedded(openEnvironment(settings), { ...settings, door });
  return door === undefined
    ? Promise.resolve(opening())
    : withHardExit(() => door.passAtOnce(opening));
}

class Embedded implements Bigtable {
  readonly manifest: Manifest;
  readonly #root: RootDatabase;
  /** Undefined in a read-only store that was never opened to write. */
  readonly #door: Door | undefined;
  readonly #cells: Database<Buffer, Buffer>;
  readonly #storage: Storage<Database<Buffer, Buffer>>;
  readonly #cache: RowCache | undefined;
  readonly #catalogs: Database<Catalog | number, string>;
  readonly #commits: GroupCommit;
  readonly #readOnly: boolean;
  readonly #watch: FileWatch;
  /** The catalog as last seen; reloaded when a read or a group finds another version. */
  #catalog: Catalog = EMPTY_CATALOG;
  #closed: Promise<void> | undefined;
  /** The answer to every call once lmdb no longer serves this process. */
  #failure: PercolatorError | undefined;

  constructor(
    { root, cells, catalogs }: Environment,
    settings: Settings & { readonly door: Door | undefined },
  ) {
    const { folder, fsync, readOnly, rowCacheBytes, door } = settings;
    this.#root = root;
    this.#door = door;
    this.#readOnly = readOnly;
    this.#watch = new FileWatch(folder);
    this.#cells = cells;
    this.#storage = { cells, large: new LargeRows() };
    this.#cache = rowCacheBytes === 0 ? undefined : new RowCache(rowCacheBytes);
    this.#catalogs = catalogs;
    this.#commits = createGroupCommit((callback) => this.#transact(callback));
    this.manifest = {
      name: 'embedded',
      conditionalBatch: true,
      ordered: true,
      splits: true,
      durability: durabilityOf({ kind: 'embedded', fsync }),
    };
  }

  async readRow(
    table: string,
    row: string,
    filters: readonly CellFilter[],
  ): Promise<Row | undefined> {
    validateRowKey(row);
    const wanted = this.#look(table, filters);
    return readRow(this.#storageToRead(), wanted.table, row, wanted.filters);
  }

  async readRows(
    table: string,
    rows: readonly string[],
    filters: readonly CellFilter[],
  ): Promise<readonly (Row | undefined)[]> {
    rows.forEach(validateRowKey);
    const wanted = this.#look(table, filters);
    const storage = this.#storageToRead();
    return rows.map((row) => readRow(storage, wanted.table, row, wanted.filters));
  }

  async readRange(
    table: string,
    range: RowRange & { readonly limit: number },
    filters: readonly CellFilter[],
  ): Promise<readonly Row[]> {
    validateRange(range);
    const wanted = this.#look(table, filters);
    const bounds = { start: range.start ?? '', end: range.end, limit: range.limit };
    return readRange(this.#cells, wanted.table, bounds, wanted.filters);
  }

  async checkAndMutateRow(conditional: ConditionalRowMutation): Promise<boolean> {
    this.#assertWritable();
    this.#refresh();
    const { id } = this.#validateConditional(conditional);
    return this.#commits.submit(() => {
      const table = this.#tableForWriting(conditional.table, id);
      this.#cache?.write(table, conditional.row);
      return applyConditional(this.#storage, table, conditional);
    });
  }

  checkAndMutateRows(
    conditionals: readonly ConditionalRowMutation[],
  ): Promise<readonly (boolean | Error)[]> {
    // All are submitted in this turn of the event loop, so they share one group and one fsync.
    return answersTo(conditionals.map((conditional) => this.checkAndMutateRow(conditional)));
  }

  async mutateRows(rows: readonly RowMutation[]): Promise<void> {
    this.#assertWritable();
    this.#refresh();
    const ids = rows.map((row) => this.#validateRowMutation(row).id);
    await this.#commits.submit(() => {
      rows.forEach(({ table: name, row, mutations }, i) => {
        const table = this.#tableForWriting(name, ids[i]);
        this.#cache?.write(table, row);
        applyMutations(this.#cells, table, row, mutations);
      });
    });
  }

  async sampleRowKeys(table: string): Promise<readonly string[]> {
    this.#assertOpen();
    this.#refresh();
    return this.#table(table).splits;
  }

  async createTable(table: string, schema: TableSchema): Promise<void> {
    this.#assertWritable();
    validateSchema(table, schema);
    await this.#changeCatalog((catalog) => withTable(catalog, table, schema));
  }

  async listTables(): Promise<readonly string[]> {
    this.#assertOpen();
    this.#refresh();
    return this.#catalog.tables.filter((table) => !table.dropping).map((table) => table.name);
  }

  async dropTable(table: string): Promise<void> {
    this.#assertWritable();
    await this.#changeCatalog((catalog) =>
      findTable(catalog, table) === undefined ? catalog : withDropping(catalog, table),
    );
    await this.finishDrops();
  }

  /** Purges the tables that any process has dropped and that are not yet purged. */
  async finishDrops(): Promise<void> {
    this.#refresh();
    for (const { id } of this.#catalog.tables.filter((table) => table.dropping)) {
      while ((await this.#commits.submit(() => this.#purgeSome(id))) > 0);
      await this.#changeCatalog((catalog) => withoutTable(catalog, id));
    }
  }

  /** From the next group on, all processes count; until then no cache is used. */
  async beginCounting(): Promise<void> {
    await this.#commits.submit(() => {});
  }

  readonly onChange = (listener: () => void): (() => void) => this.#watch.listen(listener);

  async close(): Promise<void> {
    this.#watch.close();
    this.#closed ??= this.#closeBoth();
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #closeBoth(): Promise<void> {
    await this.#commits.idle();
    await this.#root.close();
    await this.#door?.close();
  }

  /**
   * Makes later reads see everything committed so far, in every process. lmdb keeps one snapshot
   * for a turn of the event loop and longer; a transaction that received its start timestamp
   * meanwhile would look for locks in a state older than its own snapshot (contract, promise 2).
   */
  #refresh(): void {
    this.#root.resetReadTxn();
    try {
      this.#loadCatalog();
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      if (reason.includes('MDB_PANIC')) throw this.#failWith(cause);
      // For example, more processes read than lmdb has slots for.
      const message = `the embedded store cannot be read: ${reason}`;
      throw new PercolatorError('STORE_UNAVAILABLE', message, { cause });
    }
  }

  /**
   * The storage for a read that has just begun: with the cache, if the cache can follow to its
   * snapshot.
   */
  #storageToRead(): Storage {
    const cache = this.#cache;
    const groups = cache && this.#groups();
    if (groups === undefined || cache?.follow(groups) !== true) return this.#storage;
    return { ...this.#storage, cache };
  }

  #groups(): number | undefined {
    return this.#catalogs.get(GROUPS_KEY) as number | undefined;
  }

  #table(name: string): TableEntry {
    const table = findTable(this.#catalog, name);
    if (table === undefined) {
      throw new PercolatorError('TABLE_NOT_FOUND', `there is no table ${name}`);
    }
    return table;
  }

  /** Begins a read. Checks the table and the families of the filters even if there is no row. */
  #look(
    name: string,
    filters: readonly CellFilter[],
  ): { readonly table: TableEntry; readonly filters: readonly TableFilter[] } {
    this.#assertOpen();
    filters.forEach(validateFilter);
    this.#refresh();
    const table = this.#table(name);
    return { table, filters: filters.map((filter) => filterForTable(table, filter)) };
  }

  /**
   * The table that was validated against, if it still exists: another process may have dropped it
   * since, and cells written with its id would never be purged.
   */
  #tableForWriting(name: string, validatedId: number | undefined): TableEntry {
    const table = findTable(this.#catalog, name);
    if (table === undefined || table.id !== validatedId) {
      throw new PercolatorError('TABLE_NOT_FOUND', `table ${name} has been dropped`);
    }
    return table;
  }

  /** Another process may have changed the catalog, even dropped a table and created it again. */
  #loadCatalog(): void {
    const version = this.#catalogs.get(VERSION_KEY) ?? EMPTY_CATALOG.version;
    if (version === this.#catalog.version) return;
    this.#catalog = (this.#catalogs.get(CATALOG_KEY) as Catalog | undefined) ?? EMPTY_CATALOG;
  }

  async #transact(callback: () => void): Promise<void> {
    try {
      if (this.#failure !== undefined) throw this.#failure;
      const door = this.#door;
      assert(door !== undefined, 'a writer has opened the door');
      const group = (): void => {
        this.#loadCatalog();
        this.#countGroup();
        callback();
      };
      await withHardExit(() =>
        isMainThread
          ? door.pass(() => this.#commit(group))
          : door.passAtOnce(() => this.#commitAtOnce(group)),
      );
      this.#cache?.committed();
    } catch (error) {
      this.#cache?.failed();
      this.#catalog = EMPTY_CATALOG; // The group's changes to it were not committed: reload it.
      throw error;
    }
  }

  /** Runs inside the door: no other process commits until it leaves. */
  async #commit(group: () => void): Promise<void> {
    const committing: Committing = { transactionId: undefined };
    try {
      await transactIn(this.#root, committing, group);
    } catch (cause) {
      throw this.#heardOf(committing, cause);
    }
  }

  #commitAtOnce(group: () => void): void {
    const committing: Committing = { transactionId: undefined };
    try {
      this.#root.transactionSync(() => {
        committing.transactionId = this.#root.getWriteTxnId();
        group();
      });
    } catch (cause) {
      throw this.#heardOf(committing, cause);
    }
  }

  #heardOf(committing: Committing, cause: unknown): PercolatorError {
    const { heard, isOver } = failureOf(this.#root, committing, cause);
    if (isOver) this.#failWith(heard);
    return heard;
  }

  /**
   * lmdb no longer serves this process; another process, or the next opening, reads from the disk.
   */
  #failWith(cause: unknown): PercolatorError {
    const message =
      'the embedded store has closed itself because its disk failed in a commit; open it again';
    this.#failure ??= new PercolatorError('STORE_CLOSED', message, { cause });
    return this.#failure;
  }

  /** Counts even where this process has no cache: another one may. */
  #countGroup(): void {
    const groups = this.#groups();
    if (groups === undefined && this.#cache === undefined) return;
    const group = (groups ?? 0) + 1;
    this.#catalogs.putSync(GROUPS_KEY, group);
    this.#cache?.begin(group);
  }

  async #changeCatalog(change: (catalog: Catalog) => Catalog): Promise<void> {
    await this.#commits.submit(() => {
      const changed = change(this.#catalog);
      if (changed === this.#catalog) return;
      this.#catalogs.putSync(CATALOG_KEY, changed);
      this.#catalogs.putSync(VERSION_KEY, changed.version);
      this.#catalog = changed;
    });
  }

  #purgeSome(tableId: number): number {
    const prefix = tablePrefix(tableId);
    const range = { start: prefix, end: prefixEnd(prefix), limit: PURGE_CELLS };
    const keys = [...this.#cells.getKeys(range)];
    for (const key of keys) this.#cells.removeSync(key);
    return keys.length;
  }

  #validateConditional(conditional: ConditionalRowMutation): TableEntry {
    const { table, row, anyOf, ifFound = [], ifNotFound = [] } = conditional;
    if (ifFound.length + ifNotFound.length === 0) {
      throw new PercolatorError(
        'INVALID_ARGUMENT',
        'a conditional mutation must mutate in some case',
      );
    }
    const entry = this.#validateRowMutation({ table, row, mutations: [...ifFound, ...ifNotFound] });
    for (const filter of anyOf) {
      validateFilter(filter);
      familyId(entry, filter.family);
    }
    return entry;
  }

  #validateRowMutation({ table, row, mutations }: RowMutation): TableEntry {
    validateRowKey(row);
    const entry = this.#table(table);
    for (const mutation of mutations) {
      validateMutation(mutation);
      familyId(entry, mutation.family);
      checkKeyLength(row, mutation.qualifier);
    }
    return entry;
  }

  #assertWritable(): void {
    this.#assertOpen();
    if (!this.#readOnly) return;
    throw new PercolatorError('READ_ONLY', 'the embedded store was opened for reading only');
  }

  #assertOpen(): void {
    if (this.#closed !== undefined) {
      throw new PercolatorError('STORE_CLOSED', 'the embedded store was closed');
    }
    if (this.#failure !== undefined) throw this.#failure;
  }
}
