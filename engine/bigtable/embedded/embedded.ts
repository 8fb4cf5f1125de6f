/**
 * A Bigtable in this process, durable, on lmdb: nothing to install, nothing to start.
 *
 *     reads ──▶ a fresh lmdb snapshot ──▶ seeks
 *     mutations ──▶ checked ──▶ group commit ──▶ one lmdb transaction, one fsync ──▶ resolved
 *
 * Several processes of one machine may open one folder: lmdb's writer lock orders their
 * mutations, and a process that is killed while it holds the lock is survived. A process that is
 * *stopped* (SIGSTOP, a debugger) inside a group keeps the others waiting: lmdb has one writer.
 *
 * What it does not do: it has no tablets. Splits are kept and returned, so that code which picks
 * random tablets has some, but all rows are served by whoever asks.
 */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { open, type Database, type DatabaseOptions, type Key, type RootDatabase } from 'lmdb';
import { assert, PercolatorError } from '../../base/index.ts';
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
import { LISTED_VALUE_BYTES_MAX } from './cells.ts';
import { type Door, openDoor } from './door.ts';
import { checkIsStore } from './existing-store.ts';
import { FileWatch } from './file-watch.ts';
import { createGroupCommit, type GroupCommit } from './group-commit.ts';
import { withHardExit } from './hard-exit.ts';
import { behind, checkKeyLength, tablePrefix } from './keys.ts';
import { LargeRows } from './large-rows.ts';
import { readRange, readRow, type Storage } from './read.ts';
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
   * Opens a store that must exist, refuses every mutation with READ_ONLY, and leaves what is in the
   * folder as it is. Default false.
   */
  readonly readOnly?: boolean | undefined;
}

interface EmbeddedSettings {
  readonly folder: string;
  readonly fsync: boolean;
  readonly readOnly: boolean;
}

const CATALOG_KEY = 'catalog';
/** The catalog's version once more, alone: small enough to be looked at by every read. */
const VERSION_KEY = 'version';
/** lmdb takes keys of 4,026 bytes from this page size on. */
const PAGE_BYTES = 8192;
/** Cells purged per transaction when a table is dropped: others may write in between. */
const PURGE_CELLS = 10_000;

/** The cells: keys and values as they are. */
const CELLS = {
  name: 'cells',
  keyEncoder: {
    writeKey: (key: Buffer, target: Buffer, start: number): number => {
      target.set(key, start);
      return start + key.length;
    },
    // As lmdb's own for binary keys, into Node's pool.
    readKey: (target: Buffer, start: number, end: number): Buffer => {
      const key = Buffer.allocUnsafe(end - start);
      target.copy(key, 0, start, end);
      return key;
    },
  },
  // As lmdb's own `binary`, which takes a value out of the read buffer by `slice`; this is 1 µs less.
  encoder: {
    encode: (value: Buffer): Buffer => value,
    // A pass over cells tells the length. A point get does not: its buffer says how long the value is.
    decode: (shared: Buffer, listed?: number): Buffer | undefined => {
      if (listed !== undefined && listed > LISTED_VALUE_BYTES_MAX) return undefined;
      const length = listed ?? shared.length;
      const value = Buffer.allocUnsafe(length);
      shared.copy(value, 0, 0, length);
      return value;
    },
  },
} as const;

/** @throws STORE_UNAVAILABLE if the folder cannot be created or opened; the message names it */
export async function openEmbedded(options: EmbeddedOptions): Promise<Bigtable> {
  const { fsync = true, readOnly = false } = options;
  let door: Door | undefined;
  try {
    if (readOnly) checkIsStore(options.folder);
    else await makeFolder(options.folder);
    door = openDoor(options.folder, { readOnly });
    const store = await openBehind(door, { ...options, fsync, readOnly });
    if (!readOnly) await store.finishDrops();
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

/** While nobody commits. */
function openBehind(door: Door | undefined, options: EmbeddedSettings): Promise<Embedded> {
  const { folder, fsync, readOnly } = options;
  const opening = (): Embedded => {
    const root = open({
      path: folder,
      noSubdir: false,
      pageSize: PAGE_BYTES,
      maxDbs: 4,
      // Strict: visible and durable at the same moment. The default lets readers, and so other
      // transactions, act on a commit that a power failure may still undo.
      overlappingSync: false,
      noSync: !fsync,
      readOnly,
    });
    return new Embedded(root, { folder, fsync, readOnly, door });
  };
  return door === undefined
    ? Promise.resolve(opening())
    : withHardExit(() => door.passAtOnce(opening));
}

/**
 * Makes the folder and those above it that are missing. Not `mkdir`'s own `recursive`: where the
 * system denies that a folder exists which it refuses to make, as in /proc, that never returns.
 */
async function makeFolder(folder: string): Promise<void> {
  const missing: string[] = [];
  for (let next = resolve(folder); !existsSync(next); next = dirname(next)) missing.push(next);
  for (const next of missing.toReversed()) {
    await mkdir(next).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error; // Another process was faster.
    });
  }
}

class Embedded implements Bigtable {
  readonly manifest: Manifest;
  readonly #root: RootDatabase;
  /** Undefined in a store that is only read, and that nobody has ever opened to write. */
  readonly #door: Door | undefined;
  readonly #cells: Database<Buffer, Buffer>;
  readonly #storage: Storage<Database<Buffer, Buffer>>;
  readonly #catalogs: Database<Catalog | number, string>;
  readonly #commits: GroupCommit;
  readonly #readOnly: boolean;
  readonly #watch: FileWatch;
  /** The catalog as last seen; reloaded when a read or a group finds another version. */
  #catalog: Catalog = EMPTY_CATALOG;
  #closed: Promise<void> | undefined;

  constructor(
    root: RootDatabase,
    { folder, fsync, readOnly, door }: EmbeddedSettings & { readonly door: Door | undefined },
  ) {
    this.#root = root;
    this.#door = door;
    this.#readOnly = readOnly;
    this.#watch = new FileWatch(folder);
    this.#cells = openDatabase(root, CELLS);
    this.#storage = { cells: this.#cells, large: new LargeRows() };
    this.#catalogs = openDatabase(root, { name: 'catalog', encoding: 'json' });
    this.#commits = createGroupCommit((callback) => this.#transact(callback));
    this.manifest = {
      name: 'embedded',
      conditionalBatch: true,
      ordered: true,
      splits: true,
      durability: fsync
        ? 'every commit is on disk (fsync, in groups) before it is answered'
        : 'a commit survives kill -9 of the process, not a power failure (no fsync)',
    };
  }

  async readRow(
    table: string,
    row: string,
    filters: readonly CellFilter[],
  ): Promise<Row | undefined> {
    validateRowKey(row);
    const wanted = this.#look(table, filters);
    return readRow(this.#storage, wanted.table, row, wanted.filters);
  }

  async readRows(
    table: string,
    rows: readonly string[],
    filters: readonly CellFilter[],
  ): Promise<readonly (Row | undefined)[]> {
    rows.forEach(validateRowKey);
    const wanted = this.#look(table, filters);
    return rows.map((row) => readRow(this.#storage, wanted.table, row, wanted.filters));
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
    return this.#commits.submit(() =>
      applyConditional(this.#storage, this.#tableForWriting(conditional.table, id), conditional),
    );
  }

  async checkAndMutateRows(
    conditionals: readonly ConditionalRowMutation[],
  ): Promise<readonly (boolean | Error)[]> {
    // All are submitted in this turn of the event loop, so they share one group and one fsync.
    const answers = await Promise.allSettled(
      conditionals.map((conditional) => this.checkAndMutateRow(conditional)),
    );
    return answers.map((answer) =>
      answer.status === 'fulfilled' ? answer.value : asError(answer.reason),
    );
  }

  async mutateRows(rows: readonly RowMutation[]): Promise<void> {
    this.#assertWritable();
    this.#refresh();
    const ids = rows.map((row) => this.#validateRowMutation(row).id);
    await this.#commits.submit(() => {
      rows.forEach(({ table, row, mutations }, i) => {
        applyMutations(this.#cells, this.#tableForWriting(table, ids[i]), row, mutations);
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

  /** Purges the tables that were dropped, by whoever, and not yet purged. */
  async finishDrops(): Promise<void> {
    this.#refresh();
    for (const { id } of this.#catalog.tables.filter((table) => table.dropping)) {
      while ((await this.#commits.submit(() => this.#purgeSome(id))) > 0);
      await this.#changeCatalog((catalog) => withoutTable(catalog, id));
    }
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
   * Makes what follows see everything committed so far, in every process. lmdb keeps one snapshot for a turn of the
   * event loop and longer; a transaction that got its start timestamp meanwhile would look for
   * locks in a state older than its own snapshot (contract, promise 2).
   */
  #refresh(): void {
    this.#root.resetReadTxn();
    this.#loadCatalog();
  }

  #table(name: string): TableEntry {
    const table = findTable(this.#catalog, name);
    if (table === undefined) {
      throw new PercolatorError('TABLE_NOT_FOUND', `there is no table ${name}`);
    }
    return table;
  }

  /** Begins a read: the table, if it has the families of the filters, also when no row is there to tell. */
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
   * The table that was validated against, if it is still there: another process may have dropped it
   * since, and its id would then write cells that nobody ever purges.
   */
  #tableForWriting(name: string, validatedId: number | undefined): TableEntry {
    const table = findTable(this.#catalog, name);
    if (table === undefined || table.id !== validatedId) {
      throw new PercolatorError('TABLE_NOT_FOUND', `table ${name} has been dropped`);
    }
    return table;
  }

  /** Another process may have changed the catalog, even dropped a table and made it again. */
  #loadCatalog(): void {
    const version = this.#catalogs.get(VERSION_KEY) ?? EMPTY_CATALOG.version;
    if (version === this.#catalog.version) return;
    this.#catalog = (this.#catalogs.get(CATALOG_KEY) as Catalog | undefined) ?? EMPTY_CATALOG;
  }

  async #transact(callback: () => void): Promise<void> {
    try {
      const door = this.#door;
      assert(door !== undefined, 'who writes has opened the door');
      const group = (): void => {
        this.#loadCatalog();
        callback();
      };
      await withHardExit(() =>
        isMainThread
          ? door.pass(() => this.#root.transaction(group))
          : door.passAtOnce(() => this.#root.transactionSync(group)),
      );
    } catch (error) {
      this.#catalog = EMPTY_CATALOG; // What the group made of it was not committed: load it anew.
      throw error;
    }
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
    const range = { start: prefix, end: behind(prefix), limit: PURGE_CELLS };
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
  }
}

/** lmdb makes a database that is missing, but not in a store that is only read. */
function openDatabase<V, K extends Key>(
  root: RootDatabase,
  options: DatabaseOptions & { readonly name: string },
): Database<V, K> {
  const database = root.openDB<V, K>(options) as Database<V, K> | undefined;
  if (database !== undefined) return database;
  throw new Error(`it is an lmdb folder, but not a store of ours: it has no ${options.name}`);
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
