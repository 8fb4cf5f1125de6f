/**
 * Reading cells from lmdb: a small row in one pass over its keys, a large one by seeks; or from the
 * cache.
 *
 * Everything here is synchronous and runs in one lmdb snapshot, which is what makes a row atomic.
 */
import { assert } from '../../base/index.ts';
import type { Cell, Row } from '../bigtable.ts';
import { addCached, type CachedRow, headOf, wholeRow } from './cached-row.ts';
import type { TableEntry } from './catalog.ts';
import type { Cells } from './cells.ts';
import {
  cellKey,
  columnPrefix,
  cut,
  familyPrefix,
  KEY_BYTES_MAX,
  prefixEnd,
  rowOfPrefix,
  rowPrefix,
  rowStart,
  splitColumn,
  tablePrefix,
  timestampOf,
} from './keys.ts';
import type { LargeRows } from './large-rows.ts';
import type { RowCache } from './row-cache.ts';
import {
  addPassing,
  isSmall,
  type ListedRow,
  listRow,
  listRows,
  listSmallRowKeys,
} from './small-row.ts';
import { passes, type TableFilter } from './table-filter.ts';

/** The cells, and what is known of their rows. */
export interface Storage<C extends Cells = Cells> {
  readonly cells: C;
  readonly large: LargeRows;
  /** As of the snapshot that is read; undefined if there is no cache. */
  readonly cache?: RowCache | undefined;
}

interface RowAddress {
  readonly table: TableEntry;
  readonly key: string;
}

/** The row's cells that pass a filter, or undefined if none does. */
export function readRow(
  storage: Storage,
  table: TableEntry,
  key: string,
  filters: readonly TableFilter[],
): Row | undefined {
  const cached = storage.cache?.get(table, key);
  const at = { table, key };
  const found =
    cached === undefined
      ? readCells(storage, at, filters)
      : readCached(storage, at, cached, filters);
  return found.length === 0 ? undefined : { key, cells: found };
}

function readCells(
  storage: Storage,
  at: RowAddress,
  filters: readonly TableFilter[],
): readonly Cell[] {
  const { cells, large, cache } = storage;
  const { table, key } = at;
  const prefix = rowPrefix(tablePrefix(table.id), key);
  if (!large.has(table, key)) {
    const row = listRow(cells, prefix);
    if (isSmall(row)) {
      const whole = cache && wholeRow(table, row);
      if (whole !== undefined) cache?.put(table, key, whole);
      return readListed(cells, row, filters);
    }
    large.add(table, key);
  }
  if (cache === undefined) return seek(cells, prefix, filters);
  return readCached(storage, at, NOTHING_CACHED, filters);
}

const NOTHING_CACHED: CachedRow = { columns: new Map(), isWhole: false };

/**
 * Maximum cached columns per row. Larger: each new one copies the names of the others. Smaller:
 * wide rows are read by seeks.
 */
const HEADS_MAX = 64;

/** Reads what the cache lacks, and caches the heads of the columns. */
function readCached(
  { cells, cache }: Storage,
  { table, key }: RowAddress,
  cached: CachedRow,
  filters: readonly TableFilter[],
): readonly Cell[] {
  const found: Cell[] = [];
  let row = cached;
  for (const filter of filters) {
    if (addCached(found, row, filter)) continue;
    const prefix = rowPrefix(tablePrefix(table.id), key);
    row = withHead(cells, prefix, row, filter);
    if (addCached(found, row, filter)) continue;
    // One by one: a family may have more cells than a call takes arguments.
    for (const cell of readFilter(cells, prefix, filter)) found.push(cell);
  }
  if (row !== cached) cache?.put(table, key, row);
  return found;
}

/**
 * The row with the head of the filter's column added; the same row if it has that head, or many
 * heads.
 */
function withHead(
  cells: Cells,
  prefix: Buffer,
  row: CachedRow,
  { family, familyId, qualifier, column }: TableFilter,
): CachedRow {
  if (qualifier === undefined || column === undefined) return row;
  if (row.columns.has(column) || row.columns.size === HEADS_MAX) return row;
  const start = columnPrefix(familyPrefix(prefix, familyId), qualifier);
  const range = { start: cut(start), end: cut(prefixEnd(start)) };
  const head = headOf(cells, { family, qualifier }, range);
  return { columns: new Map(row.columns).set(column, head), isWhole: false };
}

/** Whether any cell of the row passes one of the filters; looks at keys only. */
export function anyCell(
  { cells, large }: Storage,
  table: TableEntry,
  key: string,
  filters: readonly TableFilter[],
): boolean {
  const prefix = rowPrefix(tablePrefix(table.id), key);
  const exact = exactKeys(prefix, filters);
  if (exact !== undefined) return exact.some((one) => cells.doesExist(one));
  const small = large.has(table, key) ? undefined : listSmallRowKeys(cells, prefix);
  if (small !== undefined) {
    return filters.some((filter) => small.some((one) => passes(one, prefix.length, filter)));
  }
  return filters.some((filter) =>
    columnsOf(cells, prefix, filter).some(
      (column) => firstKey(cells, versionRange(column.prefix, filter)) !== undefined,
    ),
  );
}

/**
 * The exact keys, if each filter asks for one version of one column, as when a lock becomes a write
 * record.
 */
function exactKeys(row: Buffer, filters: readonly TableFilter[]): readonly Buffer[] | undefined {
  const keys: Buffer[] = [];
  for (const { familyId, qualifier, from, to } of filters) {
    if (qualifier === undefined || from === undefined || from !== to) return undefined;
    const key = cellKey(columnPrefix(familyPrefix(row, familyId), qualifier), from);
    if (key.length <= KEY_BYTES_MAX) keys.push(key); // No cell has a longer one.
  }
  return keys;
}

/** At most `limit` rows with a passing cell, from row `start` on, before row `end`. */
export function readRange(
  cells: Cells,
  table: TableEntry,
  range: { readonly start: string; readonly end: string | undefined; readonly limit: number },
  filters: readonly TableFilter[],
): Row[] {
  const prefix = tablePrefix(table.id);
  const end = range.end === undefined ? prefixEnd(prefix) : rowStart(prefix, range.end);
  const rows: Row[] = [];
  for (const row of listRows(cells, rowStart(prefix, range.start), end)) {
    const found = readListed(cells, row, filters);
    if (found.length > 0) rows.push({ key: rowOfPrefix(row.prefix), cells: found });
    if (rows.length === range.limit) break;
  }
  return rows;
}

function readListed(
  cells: Cells,
  row: ListedRow,
  filters: readonly TableFilter[],
): readonly Cell[] {
  if (!isSmall(row)) return seek(cells, row.prefix, filters);
  const found: Cell[] = [];
  for (const filter of filters) addPassing(found, cells, row, filter);
  return found;
}

function seek(cells: Cells, row: Buffer, filters: readonly TableFilter[]): readonly Cell[] {
  return filters.flatMap((filter) => readFilter(cells, row, filter));
}

function readFilter(cells: Cells, row: Buffer, filter: TableFilter): readonly Cell[] {
  if (passesWholeFamily(filter)) return readFamily(cells, row, filter);
  const { family, versions } = filter;
  const found: Cell[] = [];
  for (const { qualifier, prefix } of columnsOf(cells, row, filter)) {
    const { start, end } = versionRange(prefix, filter);
    const range = versions === undefined ? { start, end } : { start, end, limit: versions };
    for (const { key, value } of valuesIn(cells, range)) {
      found.push({ family, qualifier, timestamp: timestampOf(key), value });
    }
  }
  return found;
}

/** The cells of a range, including the long values that a pass leaves out. */
function* valuesIn(
  cells: Cells,
  range: Parameters<Cells['getRange']>[0],
): Generator<{ readonly key: Buffer; readonly value: Buffer }> {
  for (const { key, value = cells.get(key) } of cells.getRange(range)) {
    assert(value !== undefined, 'a value listed by a snapshot is in it');
    yield { key, value };
  }
}

function passesWholeFamily(filter: TableFilter): boolean {
  const { qualifier, suffix, from, to, versions } = filter;
  return [qualifier, suffix, from, to, versions].every((limit) => limit === undefined);
}

/**
 * Every version of every column, in one pass: a scan for notifications asks for that in each row.
 */
function readFamily(cells: Cells, row: Buffer, { family, familyId }: TableFilter): readonly Cell[] {
  const prefix = familyPrefix(row, familyId);
  const found: Cell[] = [];
  const range = { start: cut(prefix), end: cut(prefixEnd(prefix)) };
  for (const { key, value } of valuesIn(cells, range)) {
    const { qualifier } = splitColumn(key, row.length);
    found.push({ family, qualifier, timestamp: timestampOf(key), value });
  }
  return found;
}

interface Column {
  readonly qualifier: string;
  readonly prefix: Buffer;
}

/** The columns that the filter names: one, or all existing ones of the family. */
function columnsOf(cells: Cells, row: Buffer, filter: TableFilter): readonly Column[] {
  const family = familyPrefix(row, filter.familyId);
  const { qualifier, suffix = '' } = filter;
  if (qualifier !== undefined) return [{ qualifier, prefix: columnPrefix(family, qualifier) }];
  return existingColumns(cells, family, row.length)
    .filter((column) => column.qualifier.endsWith(suffix))
    .toArray();
}

/** One seek for each column, however many versions it has. */
function* existingColumns(cells: Cells, family: Buffer, rowLength: number): Generator<Column> {
  const end = prefixEnd(family);
  let start = family;
  for (;;) {
    const first = firstKey(cells, { start, end });
    if (first === undefined) return;
    const { qualifier } = splitColumn(first, rowLength);
    const prefix = columnPrefix(family, qualifier);
    yield { qualifier, prefix };
    start = prefixEnd(prefix);
  }
}

/**
 * Timestamps in keys are inverted: the newest wanted version comes first, and lmdb's end is
 * exclusive.
 */
function versionRange(
  column: Buffer,
  { from, to }: TableFilter,
): { readonly start: Buffer; readonly end: Buffer } {
  const start = to === undefined ? column : cellKey(column, to);
  const oldest = from === undefined ? column : cellKey(column, from);
  return { start: cut(start), end: cut(prefixEnd(oldest)) };
}

function firstKey(cells: Cells, range: { start: Buffer; end: Buffer }): Buffer | undefined {
  const [first] = cells.getKeys({ start: cut(range.start), end: cut(range.end), limit: 1 });
  return first;
}
