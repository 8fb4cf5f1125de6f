/**
 * Restore: a database gets the tables of a backup, as of the backup or of any timestamp that its
 * series covers, on any store. A move from a folder to a cluster is a backup and a restore.
 *
 *     all files are read, and checked to their ends: nothing is written before
 *       the full one         ─▶ checked
 *       those that follow    ─▶ of each cell, its last change up to the timestamp, in memory
 *     the tables are created  ─▶ the full one is read again, row by row, with the changes in it
 *                             ─▶ bulk load
 *
 * The tables must not exist before. They are not in use until all is loaded: what fails is dropped
 * again, and a process that dies leaves tables that are not whole, which the next restore refuses.
 *
 * What is restored is new to the database: all of it is committed at two new timestamps
 * (bulk-load.ts). Observers do not run again for what they had seen: cells are restored with the
 * acknowledgments that were newer than they. They run for what they had yet to see, deletes
 * included. Between two backups of a series it is not known exactly what that was; there they run
 * for all that changed since the earlier one.
 */
import { compareTexts, PercolatorError } from '../base/index.ts';
import { checkOptions, NAME, oneOf, type OptionRules, SIGNAL, WHOLE } from '../base/options.ts';
import type { Timestamp } from '../bigtable/index.ts';
import { type BulkLoader, type BulkRow, openBulkLoader } from '../bulk-load.ts';
import { bytesOfJson } from '../changes/index.ts';
import type { Percolator } from '../database.ts';
import { allDefinitions } from '../tables/index.ts';
import { acknowledgedBy, type CellAddress, isAcknowledgment } from '../transaction/index.ts';
import { backupLines } from './backup-file.ts';
import {
  type BackedUpTable,
  type BackupFile,
  type BackupLine,
  type CellLine,
  filesFor,
  type Header,
  isHeader,
} from './chain.ts';

export interface RestoreOptions {
  /** The folder of a series of backups, or a single full one. */
  readonly from: string;
  /** The timestamp to restore. Default: that of the last backup. */
  readonly at?: Timestamp | undefined;
  /** `again`: observers run for all cells that they observe. Default `go on`. */
  readonly observers?: 'go on' | 'again' | undefined;
  /** Gives the restore up when it aborts, and drops its tables. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

const RULES: OptionRules<RestoreOptions> = {
  from: NAME,
  at: WHOLE,
  observers: oneOf('go on', 'again'),
  signal: SIGNAL,
};

export interface RestoreReport {
  /** What was committed up to it, in the database of the backup, is restored. */
  readonly at: Timestamp;
  readonly tables: readonly string[];
  readonly cells: number;
  /** Cells for which observers will run. */
  readonly pending: number;
}

/**
 * @throws STORE_DAMAGED if a file is damaged; INVALID_ARGUMENT if the files do not reach `at`, or a
 *   table exists: in both cases nothing has been written; the reason of `signal`
 */
export async function restore(
  percolator: Percolator,
  options: RestoreOptions,
): Promise<RestoreReport> {
  return restoreRead(percolator, await readBackup(options));
}

/** What a backup has to restore, checked to its end. Nothing is written. */
export interface ReadBackup {
  readonly plan: RestorePlan;
  readonly options: RestoreOptions;
}

/** The first half of `restore`, for a caller that opens no database for a damaged backup. */
export async function readBackup(options: RestoreOptions): Promise<ReadBackup> {
  checkOptions('restore', options, RULES, ['from']);
  return { plan: await readFiles(filesFor(options.from, options.at), options), options };
}

/** The second half. */
export async function restoreRead(
  percolator: Percolator,
  { plan, options }: ReadBackup,
): Promise<RestoreReport> {
  const definitions = await allDefinitions(percolator.store);
  const existing = plan.tables.find(({ table }) => definitions.get(table)?.state === 'there');
  if (existing !== undefined) {
    const message = `table ${existing.table} exists: restore into another database, or drop it, also if it is from a restore that did not end`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  const created: string[] = [];
  try {
    for (const { table, observedColumns, sharedColumns, splits } of plan.tables) {
      await percolator.createTable(table, { observedColumns, sharedColumns, splits });
      created.push(table); // One that is refused may be another process's.
    }
    return await new Loading(percolator, plan, options).run();
  } catch (error) {
    for (const table of created) await percolator.dropTable(table).catch(() => undefined);
    throw error;
  }
}

/** A cell of a row, as it is to be restored. */
type RestoredCell = Pick<CellLine, 'value' | 'commit' | 'start'>;
type RestoredRow = Map<string, RestoredCell>;

interface TableToRestore extends BackedUpTable {
  /** The file that has all of its cells. */
  readonly base: string;
  /** What has changed since, by row. */
  readonly changes: Map<string, RestoredRow>;
  /** By row and column: the observers that may have had yet to see the cell; `undefined`: all. */
  readonly pending: Map<string, Map<string, Set<string> | undefined>>;
}

interface RestorePlan {
  readonly at: Timestamp;
  readonly tables: readonly TableToRestore[];
  /** What was committed after it has no exact list of what was pending. */
  readonly pendingKnownTo: Timestamp;
}

/* Reading. */

async function readFiles(
  files: readonly BackupFile[],
  { at: wanted, signal }: RestoreOptions,
): Promise<RestorePlan> {
  let before: Header | undefined;
  let tables = new Map<string, TableToRestore>();
  let at = wanted ?? Infinity;
  let pendingKnownTo = 0;
  for (const { path } of files) {
    const lines = backupLines(path);
    const header = await readHeader(path, lines, before);
    const isPart = header.to > at;
    if (isPart && before === undefined) throw onlyAsOf(path, header, at);
    if (isPart) checkSameTables(before, header, at);
    if (files.at(-1)?.path === path && wanted === undefined) at = header.to;
    tables = await readTables({ path, lines, header, at, signal }, tables);
    pendingKnownTo = isPart ? header.from : header.to;
    before = header;
  }
  if (before === undefined || at > before.to) {
    const message = `the backup cannot be restored to ${at}: it ends at ${before?.to}`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  return { at, tables: [...tables.values()], pendingKnownTo };
}

async function readHeader(
  path: string,
  lines: AsyncGenerator<object>,
  before: Header | undefined,
): Promise<Header> {
  const { value } = await lines.next();
  if (typeof value !== 'object' || !isHeader(value)) {
    throw new PercolatorError(
      'STORE_DAMAGED',
      `${path} is no backup of this version of the engine`,
    );
  }
  const goesOn =
    value.from === (before?.to ?? 0) && (before?.database ?? value.database) === value.database;
  if (goesOn) return value;
  if (before === undefined) {
    const message = `${path} has only what has changed since ${value.from}: restore from its folder`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  const message = `${path} does not go on from the backup before it, which ends at ${before.to}`;
  throw new PercolatorError('INVALID_ARGUMENT', message);
}

function onlyAsOf(path: string, { to }: Header, at: Timestamp): PercolatorError {
  const message = `${path} is a full backup, as of ${to} alone: it cannot be restored to ${at}`;
  return new PercolatorError('INVALID_ARGUMENT', message);
}

/** Which tables there were between two backups is known only if they are the same in both. */
function checkSameTables(
  before: Header | undefined,
  { tables, from, to }: Header,
  at: Timestamp,
): void {
  const known = new Set(before?.tables.map(({ stored }) => stored));
  const isSame =
    before?.tables.length === tables.length && tables.every(({ stored }) => known.has(stored));
  if (isSame) return;
  const message = `between ${from} and ${to} a table was created or dropped: restore to one of the two instead of ${at}`;
  throw new PercolatorError('INVALID_ARGUMENT', message);
}

/** The tables after a file has been applied to those before it. */
async function readTables(
  file: {
    readonly path: string;
    readonly lines: AsyncGenerator<object>;
    readonly header: Header;
    readonly at: Timestamp;
    readonly signal: AbortSignal | undefined;
  },
  before: ReadonlyMap<string, TableToRestore>,
): Promise<Map<string, TableToRestore>> {
  const { path, lines, header, at, signal } = file;
  const tables = new Map<string, TableToRestore>();
  for (const one of header.tables) {
    const { base = path, changes = new Map() } = sameTable(before, one) ?? {};
    tables.set(one.table, { ...one, base, changes, pending: new Map() });
  }
  let table: TableToRestore | undefined;
  let isWhole = false;
  for await (const line of lines as AsyncGenerator<BackupLine>) {
    signal?.throwIfAborted();
    if (line.table !== undefined || line.pendingIn !== undefined) {
      table = tables.get(line.table ?? line.pendingIn ?? '');
      isWhole = line.whole === true;
    } else if (table !== undefined && line.pending !== undefined) notePending(table, line);
    else if (table !== undefined && !isWhole && isCell(line) && line.commit <= at) {
      getOrMake(table.changes, line.row, () => new Map()).set(line.column, line);
    }
  }
  return tables;
}

function sameTable(
  before: ReadonlyMap<string, TableToRestore>,
  { table, stored }: BackedUpTable,
): TableToRestore | undefined {
  const one = before.get(table);
  return one?.stored === stored ? one : undefined;
}

function notePending(
  { pending }: TableToRestore,
  { pending: row = '', ...line }: BackupLine,
): void {
  const { column = '', observer } = line;
  const columns = getOrMake(pending, row, () => new Map());
  if (observer === undefined) columns.set(column, undefined);
  else if (!columns.has(column)) columns.set(column, new Set([observer]));
  else columns.get(column)?.add(observer);
}

function isCell(line: BackupLine): line is CellLine {
  return line.row !== undefined && line.commit !== undefined;
}

function getOrMake<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}

/* Loading. */

class Loading {
  readonly #percolator: Percolator;
  readonly #plan: RestorePlan;
  readonly #again: boolean;
  readonly #signal: AbortSignal | undefined;
  /** Deleted cells that observers had yet to see. */
  readonly #deleted: CellAddress[] = [];
  #cells = 0;
  #pending = 0;

  constructor(percolator: Percolator, plan: RestorePlan, { observers, signal }: RestoreOptions) {
    this.#percolator = percolator;
    this.#plan = plan;
    this.#again = observers === 'again';
    this.#signal = signal;
  }

  async run(): Promise<RestoreReport> {
    const { at, tables } = this.#plan;
    const loader = await openBulkLoader(this.#percolator);
    for (const path of new Set(tables.map(({ base }) => base))) await this.#load(loader, path);
    this.#signal?.throwIfAborted();
    await loader.finish();
    await this.#delete();
    const names = tables.map(({ table }) => table);
    return { at, tables: names, cells: this.#cells, pending: this.#pending };
  }

  /** The tables of which this file has all cells. */
  async #load(loader: BulkLoader, path: string): Promise<void> {
    const tables = new Map(this.#plan.tables.map((one) => [one.table, one]));
    for await (const { table, rows } of sectionsOf(path)) {
      const known = tables.get(table);
      if (known?.base !== path) {
        for await (const _ of rows); // Passed over.
        continue;
      }
      for await (const [row, cells] of merged(rows, known.changes)) {
        this.#signal?.throwIfAborted();
        await this.#add(loader, known, { row, cells });
      }
    }
  }

  async #add(
    loader: BulkLoader,
    table: TableToRestore,
    { row, cells }: { readonly row: string; readonly cells: RestoredRow },
  ): Promise<void> {
    const values = [...cells].flatMap(([column, { value }]) =>
      value === null || isAcknowledgment(column) ? [] : [{ column, value: bytesOfJson(value) }],
    );
    const acknowledged = this.#again ? [] : this.#acknowledged(table, row, cells);
    const seen = new Set(acknowledged.map(({ column }) => column));
    const isPending = ({ column }: { readonly column: string }): boolean =>
      table.observedColumns.includes(column) && !seen.has(column);
    this.#cells += values.length;
    this.#pending += values.filter(isPending).length;
    if (!this.#again) this.#noteDeleted(table, row, cells);
    if (values.length === 0) return;
    const bulkRow: BulkRow = { table: table.table, row, cells: values, acknowledged };
    await loader.add(bulkRow);
  }

  /** The observers that have seen what the row has, for columns where all of them have. */
  #acknowledged(
    table: TableToRestore,
    row: string,
    cells: RestoredRow,
  ): { readonly observer: string; readonly column: string }[] {
    const fresh = [...cells].flatMap(([name, { start }]) => {
      if (!isAcknowledgment(name)) return [];
      const by = acknowledgedBy(name);
      const cell = cells.get(by.column);
      return cell !== undefined && cell.value !== null && start > cell.commit ? [by] : [];
    });
    const isSeen = ({ column }: { readonly column: string }): boolean => {
      if ((cells.get(column)?.commit ?? 0) > this.#plan.pendingKnownTo) return false;
      const columns = table.pending.get(row);
      if (columns?.has(column) !== true) return true;
      const late = columns.get(column);
      if (late === undefined) return false;
      const done = new Set(fresh.filter((by) => by.column === column).map((by) => by.observer));
      return late.difference(done).size === 0;
    };
    return fresh.filter(isSeen);
  }

  #noteDeleted(
    { table, pending, observedColumns }: TableToRestore,
    row: string,
    cells: RestoredRow,
  ): void {
    const columns = new Set(pending.get(row)?.keys());
    for (const [column, { value, commit }] of cells) {
      const isLate = commit > this.#plan.pendingKnownTo && observedColumns.includes(column);
      if (value === null && isLate) columns.add(column);
    }
    for (const column of columns) {
      const value = cells.get(column)?.value ?? null;
      if (value === null && !isAcknowledgment(column)) this.#deleted.push({ table, row, column });
    }
  }

  /** By transactions, which leave a record of each delete, and a notification. */
  async #delete(): Promise<void> {
    if (!this.#again) await this.#findDeletedRows();
    for (let at = 0; at < this.#deleted.length; at += DELETES) {
      const some = this.#deleted.slice(at, at + DELETES);
      await this.#percolator.transact(async (transaction) => {
        for (const cell of some) transaction.delete(cell);
      });
    }
    this.#pending += this.#deleted.length;
  }

  /** Rows of which nothing is left are in no file. */
  async #findDeletedRows(): Promise<void> {
    const known = new Set(this.#deleted.map(nameOf));
    await using snapshot = await this.#percolator.snapshot();
    for (const { table, pending } of this.#plan.tables) {
      for (const [row, columns] of pending) {
        for (const column of columns.keys()) {
          const cell = { table, row, column };
          const isKnown = known.has(nameOf(cell)) || (await snapshot.get(cell)) !== undefined;
          if (!isKnown) this.#deleted.push(cell);
        }
      }
    }
  }
}

/** In one transaction. */
const DELETES = 100;

function nameOf({ table, row, column }: CellAddress): string {
  return JSON.stringify([table, row, column]);
}

type RowOfCells = readonly [row: string, cells: RestoredRow];

/** The whole tables of a file, in turn: the rows of one must be read before the next. */
async function* sectionsOf(
  path: string,
): AsyncGenerator<{ readonly table: string; readonly rows: AsyncGenerator<RowOfCells> }> {
  const lines = backupLines(path) as AsyncGenerator<BackupLine>;
  let next = await lines.next();
  while (next.done !== true) {
    const { table, whole } = next.value;
    next = await lines.next();
    if (table !== undefined && whole === true) yield { table, rows: rowsOf() };
  }

  async function* rowsOf(): AsyncGenerator<RowOfCells> {
    let row: string | undefined;
    let cells: RestoredRow = new Map();
    for (; next.done !== true && isCell(next.value); next = await lines.next()) {
      const line: CellLine = next.value;
      if (row !== undefined && row !== line.row) {
        yield [row, cells];
        cells = new Map();
      }
      ({ row } = line);
      cells.set(line.column, line);
    }
    if (row !== undefined) yield [row, cells];
  }
}

/** Rows in the order of their keys, each with what has changed in it. */
async function* merged(
  rows: AsyncGenerator<RowOfCells>,
  changes: ReadonlyMap<string, RestoredRow>,
): AsyncGenerator<RowOfCells> {
  const pending = [...changes].toSorted(([a], [b]) => compareTexts(b, a)); // The first one last.
  for await (const [row, cells] of rows) {
    for (let one = pending.at(-1); one !== undefined && compareTexts(one[0], row) < 0;) {
      yield one;
      pending.pop();
      one = pending.at(-1);
    }
    const changed = pending.at(-1)?.[0] === row ? pending.pop()?.[1] : undefined;
    yield [row, changed === undefined ? cells : new Map([...cells, ...changed])];
  }
  yield* pending.toReversed();
}
