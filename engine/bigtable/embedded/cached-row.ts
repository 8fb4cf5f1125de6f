/**
 * A row in the cache: all cells of a small row, or the heads of the columns of a large row that
 * were read.
 *
 *     newest ─▶  @95  @91  @90  @84 │ @77 … @3        a column with a hundred versions
 *                      head         │ in the store    read as of 93: @91, from the head
 *                                                     read as of 80: the head does not know
 *
 * A hot row, for example the last trade of a security, has many versions until garbage is
 * collected, and nearly every read wants the newest. With the head, reading it costs the same with
 * a hundred versions as with one.
 */
import type { Cell } from '../bigtable.ts';
import type { TableEntry } from './catalog.ts';
import type { Cells } from './cells.ts';
import { splitColumn, timestampOf } from './keys.ts';
import type { ListedRow } from './small-row.ts';
import { columnName, type TableFilter } from './table-filter.ts';

export interface CachedColumn {
  /** Newest first. */
  readonly cells: readonly Cell[];
  /** Whether the column has no other cells. */
  readonly isWhole: boolean;
}

export interface CachedRow {
  /** By name; in key order if the row is whole. */
  readonly columns: ReadonlyMap<string, CachedColumn>;
  /** Whether the row has no other cells, in any column. */
  readonly isWhole: boolean;
}

/**
 * Maximum cached cells per column of a large row. Larger: more are copied after each write of the
 * row, mostly in vain. Smaller: transactions that began some versions ago ask the store.
 */
const HEAD_CELLS = 4;

/** Approximate memory of a row and of a cell, in addition to the bytes of their values. */
const ROW_BYTES = 500;
const CELL_BYTES = 250;

/** A whole small row; undefined if it has values too long to be listed. */
export function wholeRow(
  table: TableEntry,
  { prefix, keys, values }: ListedRow,
): CachedRow | undefined {
  const copies = copied(values);
  if (copies === undefined) return undefined;
  const columns = new Map<string, { readonly cells: Cell[]; readonly isWhole: true }>();
  for (const [i, value] of copies.entries()) {
    const key = keys[i] as Buffer;
    const { familyId, qualifier } = splitColumn(key, prefix.length);
    const family = table.families[familyId] ?? '';
    const name = columnName(familyId, qualifier);
    const column = columns.get(name) ?? { cells: [], isWhole: true };
    column.cells.push({ family, qualifier, timestamp: timestampOf(key), value });
    columns.set(name, column);
  }
  return { columns, isWhole: true };
}

/** The head of the column with these keys; empty if it has values too long to be listed. */
export function headOf(
  cells: Cells,
  { family, qualifier }: { readonly family: string; readonly qualifier: string },
  range: { readonly start: Buffer; readonly end: Buffer },
): CachedColumn {
  const listed = [...cells.getRange({ ...range, limit: HEAD_CELLS })];
  const copies = copied(listed.map(({ value }) => value));
  if (copies === undefined) return { cells: [], isWhole: false };
  const head = listed.map(({ key }, i) => {
    return { family, qualifier, timestamp: timestampOf(key), value: copies[i] as Buffer };
  });
  return { cells: head, isWhole: head.length < HEAD_CELLS };
}

/**
 * Adds the cells that pass the filter, in order. False, and nothing added, if the cached row lacks
 * them.
 */
export function addCached(
  found: Cell[],
  { columns, isWhole }: CachedRow,
  filter: TableFilter,
): boolean {
  const { column, family, suffix = '' } = filter;
  if (column !== undefined) {
    const cached = columns.get(column);
    return cached === undefined ? isWhole : addVersions(found, cached, filter);
  }
  if (!isWhole) return false;
  for (const cached of columns.values()) {
    const [first] = cached.cells;
    if (first?.family !== family || !first.qualifier.endsWith(suffix)) continue;
    addVersions(found, cached, filter);
  }
  return true;
}

function addVersions(
  found: Cell[],
  { cells, isWhole }: CachedColumn,
  { from = 0, to = Infinity, versions = Infinity }: TableFilter,
): boolean {
  const before = found.length;
  for (const cell of cells) {
    if (found.length - before === versions || cell.timestamp < from) return true;
    if (cell.timestamp <= to) found.push(cell);
  }
  if (isWhole || found.length - before === versions) return true;
  found.length = before;
  return false;
}

/** The approximate memory of the row. */
export function bytesOf({ columns }: CachedRow): number {
  let bytes = ROW_BYTES;
  for (const { cells } of columns.values()) {
    bytes += CELL_BYTES * Math.max(1, cells.length); // A column without cells has a name.
    for (const { value } of cells) bytes += value.length;
  }
  return bytes;
}

/**
 * Copies the values into memory of their own. They were in chunks of Node's pool, and a small
 * cached value would keep a whole chunk alive.
 */
function copied(values: readonly (Buffer | undefined)[]): readonly Buffer[] | undefined {
  const listed = values.filter((value) => value !== undefined);
  if (listed.length < values.length) return undefined;
  const bytes = Buffer.allocUnsafeSlow(listed.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  return listed.map((value) => {
    const start = end;
    end += value.copy(bytes, start);
    return bytes.subarray(start, end);
  });
}
