/**
 * Reading cells from lmdb: a small row in one pass over its keys, a large one by seeks.
 *
 * Everything here is synchronous and runs in one lmdb snapshot, which is what makes a row atomic.
 */
import type { Cell, CellFilter, Row } from '../bigtable.ts';
import { familyId, type TableEntry } from './catalog.ts';
import type { Cells } from './cells.ts';
import {
  behind,
  cellKey,
  columnPrefix,
  cut,
  familyPrefix,
  KEY_BYTES_MAX,
  rowPrefix,
  rowStart,
  splitColumn,
  splitRow,
  tablePrefix,
  timestampOf,
} from './keys.ts';
import { anyPasses, cellsPassing, listSmallRow } from './small-row.ts';

/** The row's cells that pass a filter, or undefined if none does. */
export function readRow(
  cells: Cells,
  table: TableEntry,
  key: string,
  filters: readonly CellFilter[],
): Row | undefined {
  const prefix = rowPrefix(tablePrefix(table.id), key);
  const small = listSmallRow(cells, prefix);
  const found = filters.flatMap((filter) =>
    small === undefined
      ? readFilter(cells, table, prefix, filter)
      : cellsPassing(cells, small, table, filter),
  );
  return found.length === 0 ? undefined : { key, cells: found };
}

/** Whether any cell of the row passes one of the filters; looks at keys only. */
export function anyCell(
  cells: Cells,
  table: TableEntry,
  key: string,
  filters: readonly CellFilter[],
): boolean {
  const prefix = rowPrefix(tablePrefix(table.id), key);
  const exact = exactKeys(table, prefix, filters);
  if (exact !== undefined) return exact.some((one) => cells.doesExist(one));
  const small = listSmallRow(cells, prefix);
  if (small !== undefined) return filters.some((filter) => anyPasses(small, table, filter));
  return filters.some((filter) =>
    columnsOf(cells, table, prefix, filter).some(
      (column) => firstKey(cells, versionRange(column.prefix, filter)) !== undefined,
    ),
  );
}

/** If each filter is about one version of one column, as when a lock becomes a write record: their keys. */
function exactKeys(
  table: TableEntry,
  row: Buffer,
  filters: readonly CellFilter[],
): readonly Buffer[] | undefined {
  const keys: Buffer[] = [];
  for (const { family, qualifier, from, to } of filters) {
    if (qualifier === undefined || from === undefined || from !== to) return undefined;
    const column = columnPrefix(familyPrefix(row, familyId(table, family)), qualifier);
    const key = cellKey(column, from);
    if (key.length <= KEY_BYTES_MAX) keys.push(key); // No cell has a longer one.
  }
  return keys;
}

/** At most `limit` rows with a passing cell, from row `start` on, before row `end`. */
export function readRange(
  cells: Cells,
  table: TableEntry,
  range: { readonly start: string; readonly end: string | undefined; readonly limit: number },
  filters: readonly CellFilter[],
): Row[] {
  const prefix = tablePrefix(table.id);
  const end = range.end === undefined ? behind(prefix) : rowStart(prefix, range.end);
  const rows: Row[] = [];
  let start = rowStart(prefix, range.start);
  while (rows.length < range.limit) {
    const first = firstKey(cells, { start, end });
    if (first === undefined) break;
    const { row: key, prefixLength } = splitRow(first);
    const row = readRow(cells, table, key, filters);
    if (row !== undefined) rows.push(row);
    start = behind(first.subarray(0, prefixLength));
  }
  return rows;
}

function readFilter(
  cells: Cells,
  table: TableEntry,
  row: Buffer,
  filter: CellFilter,
): readonly Cell[] {
  if (passesWholeFamily(filter)) return readFamily(cells, table, row, filter.family);
  const { family, versions } = filter;
  const found: Cell[] = [];
  for (const { qualifier, prefix } of columnsOf(cells, table, row, filter)) {
    const { start, end } = versionRange(prefix, filter);
    const range = versions === undefined ? { start, end } : { start, end, limit: versions };
    for (const { key, value } of cells.getRange(range)) {
      found.push({ family, qualifier, timestamp: timestampOf(key), value });
    }
  }
  return found;
}

function passesWholeFamily({ qualifier, from, to, versions }: CellFilter): boolean {
  return (
    qualifier === undefined && from === undefined && to === undefined && versions === undefined
  );
}

/** Every version of every column, in one pass: what a scan for notifications asks of each row. */
function readFamily(cells: Cells, table: TableEntry, row: Buffer, family: string): readonly Cell[] {
  const prefix = familyPrefix(row, familyId(table, family));
  const found: Cell[] = [];
  for (const { key, value } of cells.getRange({ start: cut(prefix), end: cut(behind(prefix)) })) {
    const { qualifier } = splitColumn(key, row.length);
    found.push({ family, qualifier, timestamp: timestampOf(key), value });
  }
  return found;
}

interface Column {
  readonly qualifier: string;
  readonly prefix: Buffer;
}

/** The columns of the row that the filter names: one, or those of the family that exist. */
function columnsOf(
  cells: Cells,
  table: TableEntry,
  row: Buffer,
  filter: CellFilter,
): readonly Column[] {
  const family = familyPrefix(row, familyId(table, filter.family));
  const { qualifier } = filter;
  if (qualifier !== undefined) return [{ qualifier, prefix: columnPrefix(family, qualifier) }];
  return [...existingColumns(cells, family, row.length)];
}

/** One seek for each column, however many versions it has. */
function* existingColumns(cells: Cells, family: Buffer, rowLength: number): Generator<Column> {
  const end = behind(family);
  let start = family;
  for (;;) {
    const first = firstKey(cells, { start, end });
    if (first === undefined) return;
    const { qualifier } = splitColumn(first, rowLength);
    const prefix = columnPrefix(family, qualifier);
    yield { qualifier, prefix };
    start = behind(prefix);
  }
}

/** Keys are inverted: the newest version wanted comes first, and lmdb's end is exclusive. */
function versionRange(
  column: Buffer,
  { from, to }: CellFilter,
): { readonly start: Buffer; readonly end: Buffer } {
  const start = to === undefined ? column : cellKey(column, to);
  const oldest = from === undefined ? column : cellKey(column, from);
  return { start: cut(start), end: cut(behind(oldest)) };
}

function firstKey(cells: Cells, range: { start: Buffer; end: Buffer }): Buffer | undefined {
  const [first] = cells.getKeys({ start: cut(range.start), end: cut(range.end), limit: 1 });
  return first;
}
