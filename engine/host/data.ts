/**
 * `percolator tables`, `get`, `scan`, `changes`, `backup`, `restore` and `parked`: what is in a
 * database, for its operator.
 *
 * They are transactions like those of any other process, of the present or of a timestamp. Only
 * `tables create` and `restore` make a store where there is none: elsewhere a slip in the name of a
 * folder would make an empty database, and show that.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import process from 'node:process';
import {
  backup,
  type BackupOptions,
  readBackup,
  type RestoreOptions,
  restoreRead,
} from '../backup/index.ts';
import { compareTexts, systemClock, type Warning } from '../base/index.ts';
import { rowBatches, type Timestamp } from '../bigtable/index.ts';
import {
  type ChangeEvent,
  changeJson,
  type ChangesOptions,
  debeziumEnvelope,
  jsonValue,
  type JsonValue,
  RESOLVED_MS,
} from '../changes/index.ts';
import type { Percolator } from '../database.ts';
import type { ParkedCell } from '../observer/index.ts';
import { allDefinitions } from '../tables/index.ts';
import { everywhere, isOfEngine, type Snapshot, WRITE } from '../transaction/index.ts';
import { type Configuration, wrong } from './configuration.ts';
import { connectTo, noStore } from './connect.ts';

/** Writes to standard output. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Opens a database that is there, and closes it when `use` is done. */
async function withDatabase<T>(
  configuration: Configuration,
  use: (percolator: Percolator) => Promise<T>,
): Promise<T> {
  checkStoreExists(configuration);
  await using percolator = await connectTo(configuration, { onWarning: warn });
  return await use(percolator);
}

/** A tool goes on without a lock service, and says so. */
function warn({ sentence, isOver }: Warning): void {
  if (!isOver) process.stderr.write(`percolator: ${sentence}.\n`);
}

/** @throws INVALID_ARGUMENT if the store is a folder that is not there */
export function checkStoreExists({ store }: Configuration): void {
  if (store === undefined) throw noStore();
  if (store.kind !== 'embedded' || existsSync(store.folder)) return;
  throw wrong(`the store ${store.folder} does not exist: percolator tables create makes it`);
}

/* Tables. */

export async function listTables(configuration: Configuration, asJson: boolean): Promise<number> {
  const tables = await withDatabase(configuration, definedTables);
  for (const { name, observedColumns, sharedColumns } of tables) {
    const columns = (what: string, names: readonly string[]): readonly string[] =>
      names.length === 0 ? [] : [`${what}: ${names.join(', ')}`];
    const all = [...columns('observed', observedColumns), ...columns('shared', sharedColumns)];
    const asObject = { table: name, observedColumns, sharedColumns };
    say(asJson ? JSON.stringify(asObject) : [name, ...all].join('  '));
  }
  return 0;
}

interface DefinedTable {
  readonly name: string;
  readonly observedColumns: readonly string[];
  readonly sharedColumns: readonly string[];
}

async function definedTables({
  store,
}: Pick<Percolator, 'store'>): Promise<readonly DefinedTable[]> {
  const definitions = await allDefinitions(store);
  return [...definitions].flatMap(([name, one]) => {
    if (one?.state !== 'there') return [];
    const { observedColumns, sharedColumns = [] } = one;
    return [{ name, observedColumns, sharedColumns }];
  });
}

export async function createTable(
  configuration: Configuration,
  table: string,
  definition: Omit<DefinedTable, 'name'> & { readonly splits: readonly string[] },
): Promise<number> {
  await using percolator = await connectTo(configuration, { onWarning: warn });
  await percolator.createTable(table, definition);
  return 0;
}

export async function dropTable(configuration: Configuration, table: string): Promise<number> {
  return withDatabase(configuration, async (percolator) => {
    if (!(await definedTables(percolator)).some(({ name }) => name === table)) {
      throw wrong(`there is no table ${table}`);
    }
    await percolator.dropTable(table);
    return 0;
  });
}

/* Cells. */

/** The value to standard output, as it is; exit code 1 if there is none. */
export async function getCell(
  configuration: Configuration,
  cell: { readonly table: string; readonly row: string; readonly column: string },
  at: Timestamp | undefined,
): Promise<number> {
  return withDatabase(configuration, async (percolator) => {
    await using snapshot = await percolator.snapshot(at);
    const value = await snapshot.get(cell);
    if (value === undefined) {
      process.stderr.write('percolator get: the cell has no value.\n');
      return 1;
    }
    process.stdout.write(value);
    process.stdout.write('\n');
    return 0;
  });
}

export interface ScanWanted {
  readonly table: string;
  /** Exclusive: `to`. All rows begin with `prefix`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly prefix?: string | undefined;
  /** Undefined: all. */
  readonly columns?: readonly string[] | undefined;
  readonly at?: Timestamp | undefined;
  readonly limit: number;
  readonly json: boolean;
}

export async function scanTable(configuration: Configuration, wanted: ScanWanted): Promise<number> {
  return withDatabase(configuration, async (percolator) => {
    await using snapshot = await percolator.snapshot(wanted.at);
    let rows = 0;
    for await (const { row, values } of rowsOf(percolator, snapshot, wanted)) {
      if (rows++ === wanted.limit) {
        const more = `percolator scan: there are more rows than --limit ${wanted.limit}.\n`;
        process.stderr.write(more);
        break;
      }
      for (const line of linesOf(row, values, wanted.json)) say(line);
    }
    return 0;
  });
}

async function* rowsOf(
  percolator: Percolator,
  snapshot: Snapshot,
  { table, from, to, prefix = '', columns }: ScanWanted,
): AsyncGenerator<{ readonly row: string; readonly values: ReadonlyMap<string, Uint8Array> }> {
  const isBelow = from === undefined || compareTexts(from, prefix) < 0;
  const start = isBelow && prefix !== '' ? prefix : from;
  const batches =
    columns === undefined
      ? columnsByBatch(percolator, table, { start, end: to })
      : [{ range: { start, end: to }, columns }];
  for await (const batch of batches) {
    if (batch.columns.length === 0) continue;
    for await (const row of snapshot.scan({ table, ...batch.range, columns: batch.columns })) {
      if (!row.row.startsWith(prefix)) return;
      yield row;
    }
  }
}

/**
 * The columns of each part of a table: those that have a write record. A column that was deleted
 * and collected has none, and no snapshot that may be taken sees it.
 */
async function* columnsByBatch(
  percolator: Percolator,
  table: string,
  range: { readonly start: string | undefined; readonly end: string | undefined },
): AsyncGenerator<{ readonly range: object; readonly columns: readonly string[] }> {
  const { store } = percolator;
  const stored = await percolator.storedName(table);
  const filters = [{ ...everywhere(WRITE), versions: 1 }];
  for await (const batch of rowBatches(store, stored, range, filters)) {
    const qualifiers = new Set(
      batch.rows.flatMap(({ cells }) => cells.map((one) => one.qualifier)),
    );
    const columns = [...qualifiers].map((one) => one.slice(0, -`:${WRITE}`.length));
    yield {
      range: batch.range,
      columns: columns.filter((one) => !isOfEngine(one)).toSorted(),
    };
  }
}

function linesOf(
  row: string,
  values: ReadonlyMap<string, Uint8Array>,
  asJson: boolean,
): readonly string[] {
  const shown = [...values].map(([column, value]) => [column, jsonValue(value)] as const);
  if (asJson) return [JSON.stringify({ row, values: Object.fromEntries(shown) })];
  return shown.map(([column, value]) => [row, column, value].map(fieldOf).join('\t'));
}

/** On one line, between tabs. */
function fieldOf(field: JsonValue): string {
  if (typeof field !== 'string') return `base64:${field.base64}`;
  return /\p{Cc}/u.test(field) ? JSON.stringify(field) : field;
}

/* Changes. */

export interface ChangesWanted extends ChangesOptions {
  readonly table: string;
  /** Whether each change is an envelope as Debezium has it, instead of a line of our own. */
  readonly debezium: boolean;
}

/**
 * Until it is interrupted, with `follow`; otherwise until all changes of now were printed. Between
 * now and now there is none, but there is a cursor.
 */
export async function printChanges(
  configuration: Configuration,
  { table, debezium, ...options }: ChangesWanted,
): Promise<number> {
  const signal = interruption();
  const isNow = options.from === undefined && options.follow !== true;
  const wanted = { ...options, before: debezium, resolvedMs: RESOLVED_MS, signal };
  await withDatabase(configuration, async (percolator) => {
    const lineOf = (event: ChangeEvent): object =>
      debezium && event.kind === 'change'
        ? debeziumEnvelope(event, { name: 'percolator', nowMs: systemClock.wallMs() })
        : changeJson(event);
    for await (const event of percolator.changes(table, wanted)) {
      await sayInTime(JSON.stringify(lineOf(event)), signal);
      if (isNow) break;
    }
  });
  if (isNow) process.stderr.write(`percolator changes: ${ONLY_NOW}.\n`);
  // What a reader does not take would keep the process alive.
  if (signal.aborted && process.stdout.writableNeedDrain) process.exit(0);
  return 0;
}

/** Aborts at the first of these signals; a second one ends the process. */
function interruption(): AbortSignal {
  const interrupted = new AbortController();
  const stop = (): void => interrupted.abort('interrupted');
  process.once('SIGINT', stop).once('SIGTERM', stop);
  return interrupted.signal;
}

const ONLY_NOW =
  'this is the cursor of now; --from 0 prints all changes that are kept, and --follow those to come';

/** Waits while standard output takes nothing: a reader that is slow must not fill the memory. */
async function sayInTime(line: string, signal: AbortSignal): Promise<void> {
  if (process.stdout.write(`${line}\n`)) return;
  await once(process.stdout, 'drain', { signal }).catch(() => undefined); // Interrupted.
}

/*
 * Backups, as operators and timers call them. Where they go, and how long they are kept, is theirs
 * to say: nothing here removes a file.
 */

export async function makeBackup(
  configuration: Configuration,
  options: BackupOptions,
): Promise<number> {
  const signal = interruption();
  return unlessInterrupted(signal, 'backup', () =>
    withDatabase(configuration, async (percolator) => {
      const { path, from, to, cells, bytes, whyFull } = await backup(percolator, {
        ...options,
        signal,
      });
      const kind = from === 0 ? 'full' : `changes since ${from}`;
      if (whyFull !== undefined) process.stderr.write(`percolator backup: ${whyFull}.\n`);
      say(`${path}  ${kind} up to ${to}, ${cells} cells, ${bytes} bytes`);
      return 0;
    }),
  );
}

/** Exit code 1 if it was interrupted; it has put everything in order before. */
async function unlessInterrupted(
  signal: AbortSignal,
  command: string,
  run: () => Promise<number>,
): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
    process.stderr.write(`percolator ${command}: it was interrupted, and nothing is left of it.\n`);
    return 1;
  }
}

/** Makes the store, if it is a folder that is not there, and the backup can be restored. */
export async function restoreBackup(
  configuration: Configuration,
  options: RestoreOptions,
): Promise<number> {
  if (!existsSync(options.from)) throw wrong(`there is no backup ${options.from}`);
  const signal = interruption();
  return unlessInterrupted(signal, 'restore', async () => {
    const read = await readBackup({ ...options, signal });
    await using percolator = await connectTo(configuration, { onWarning: warn });
    const { at, tables, cells, pending } = await restoreRead(percolator, read);
    say(`${tables.length} tables as of ${at}, ${cells} cells: ${tables.join(', ')}`);
    if (pending > 0) say(`Observers will run for ${pending} cells.`);
    return 0;
  });
}

/* Parked cells. */

export interface ParkedWanted {
  /** Undefined: all tables. */
  readonly table: string | undefined;
  readonly row: string | undefined;
  readonly column: string | undefined;
  /** Puts them back to work instead of listing them. */
  readonly replay: boolean;
  /** Of each table. Undefined: all. */
  readonly limit: number | undefined;
  readonly json: boolean;
}

/** More than can be parked: what is asked for may be the last of them. */
const LISTED_MAX = 1_000_000;

export async function parkedCells(
  configuration: Configuration,
  wanted: ParkedWanted,
): Promise<number> {
  return withDatabase(configuration, async (percolator) => {
    const all = (await definedTables(percolator)).map(({ name }) => name);
    const tables = wanted.table === undefined ? all : [wanted.table];
    let count = 0;
    for (const table of tables) {
      let inTable = 0;
      const parked = await percolator.listParked(table, LISTED_MAX);
      for (const cell of parked.filter((one) => isWanted(one, wanted))) {
        if (wanted.limit !== undefined && inTable++ === wanted.limit) {
          process.stderr.write(
            `percolator parked: there are more in ${table} than --limit ${wanted.limit}.\n`,
          );
          break;
        }
        count++;
        if (wanted.replay) await percolator.replayParked(cell);
        else say(wanted.json ? JSON.stringify(cell) : parkedLine(cell));
      }
    }
    if (wanted.replay) say(`${count} ${count === 1 ? 'cell is' : 'cells are'} dirty again.`);
    else if (count === 0 && !wanted.json) say('No cell is parked.');
    return 0;
  });
}

function isWanted(cell: ParkedCell, { row, column }: ParkedWanted): boolean {
  return (row ?? cell.row) === cell.row && (column ?? cell.column) === cell.column;
}

function parkedLine({ table, row, column, failures, error }: ParkedCell): string {
  return [table, row, column, `${failures} failures`, error].map(fieldOf).join('\t');
}
