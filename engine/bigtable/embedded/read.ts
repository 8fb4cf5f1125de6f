/**
 * Reading cells from lmdb: one row by seeks, a range by one pass over its keys.
 *
 * Everything here is synchronous and runs in one lmdb snapshot, which is what makes a row atomic.
 */
import type { RangeIterable } from 'lmdb';
import type { Cell, CellFilter, Row } from '../bigtable.ts';
import { TIMESTAMP_MAX } from '../bigtable.ts';
import { familyId, type TableEntry } from './catalog.ts';
import {
  behind,
  cellKey,
  columnPrefix,
  cut,
  familyPrefix,
  rowPrefix,
  rowStart,
  splitColumn,
  splitRow,
  tablePrefix,
  timestampOf,
} from './keys.ts';

/** The part of an lmdb database that reading needs. */
export interface Cells {
  get(key: Buffer): Buffer | undefined;
  getKeys(range: { start: Buffer; end: Buffer; limit?: number }): RangeIterable<Buffer>;
  getRange(range: {
    start: Buffer;
    end: Buffer;
    limit?: number;
  }): RangeIterable<{ key: Buffer; value: Buffer }>;
}

/** The row's cells that pass a filter, or undefined if none does. */
export function readRow(
  cells: Cells,
  table: TableEntry,
  key: string,
  filters: readonly CellFilter[],
): Row | undefined {
  const prefix = rowPrefix(tablePrefix(table.id), key);
  const found = filters.flatMap((filter) => readFilter(cells, table, prefix, filter));
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
  return filters.some((filter) =>
    columnsOf(cells, table, prefix, filter).some(
      (column) => firstKey(cells, versionRange(column, filter)) !== undefined,
    ),
  );
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
  const { family } = filter;
  const found: Cell[] = [];
  const limit = filter.versions === undefined ? {} : { limit: filter.versions };
  for (const column of columnsOf(cells, table, row, filter)) {
    const { qualifier } = column;
    for (const { key, value } of cells.getRange({ ...versionRange(column, filter), ...limit })) {
      found.push({ family, qualifier, timestamp: timestampOf(key), value });
    }
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
function versionRange(column: Column, filter: CellFilter): { start: Buffer; end: Buffer } {
  return {
    start: cut(cellKey(column.prefix, filter.to ?? TIMESTAMP_MAX)),
    end: cut(behind(cellKey(column.prefix, filter.from ?? 0))),
  };
}

function firstKey(cells: Cells, range: { start: Buffer; end: Buffer }): Buffer | undefined {
  const [first] = cells.getKeys({ start: cut(range.start), end: cut(range.end), limit: 1 });
  return first;
}
