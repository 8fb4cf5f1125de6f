/**
 * Small rows, read in one pass over their cells.
 *
 * A seek costs lmdb a few microseconds, a step to the next cell a fraction of one, and a Percolator
 * read asks for three to nine columns of a row that usually has few cells. So the cells of the row
 * are listed first, up to a limit; if those are all, the filters are answered from the list. A row
 * with more cells, for example a hot cell with a thousand versions, is read by seeks instead, which
 * cost the same however many versions there are (for its cached part see cached-row.ts). The rows
 * of a range are listed in one pass, too.
 */
import type { Cell } from '../bigtable.ts';
import type { Cells } from './cells.ts';
import {
  cut,
  isOfRow,
  isSameColumn,
  prefixEnd,
  rowPrefixOf,
  splitColumn,
  timestampOf,
} from './keys.ts';
import { passes, type TableFilter } from './table-filter.ts';

/**
 * A row with more cells is not small. Larger: more waste on large rows. Smaller: more rows read by
 * seeks.
 */
const SMALL_ROW_CELLS = 32;

export interface ListedRow {
  /** The common prefix of the row's keys. */
  readonly prefix: Buffer;
  /** The keys of all its cells, in order; in a row that is not small, of the first ones. */
  readonly keys: Buffer[];
  /** Their values, except for long ones (cells.ts). */
  readonly values: (Buffer | undefined)[];
}

export function isSmall({ keys }: ListedRow): boolean {
  return keys.length <= SMALL_ROW_CELLS;
}

export function listRow(cells: Cells, prefix: Buffer): ListedRow {
  const row = emptyRow(prefix);
  const range = { start: cut(prefix), end: cut(prefixEnd(prefix)), limit: SMALL_ROW_CELLS + 1 };
  for (const { key, value } of cells.getRange(range)) {
    row.keys.push(key);
    row.values.push(value);
  }
  return row;
}

/** The keys of the row, or undefined if it is not small. */
export function listSmallRowKeys(cells: Cells, prefix: Buffer): readonly Buffer[] | undefined {
  const range = { start: cut(prefix), end: cut(prefixEnd(prefix)), limit: SMALL_ROW_CELLS + 1 };
  const keys = [...cells.getKeys(range)];
  return keys.length > SMALL_ROW_CELLS ? undefined : keys;
}

/**
 * The rows that have cells between two keys: in one pass, with a new pass after each row that is
 * not small.
 */
export function* listRows(cells: Cells, start: Buffer, end: Buffer): Generator<ListedRow> {
  let from: Buffer | undefined = start;
  while (from !== undefined) {
    const rows: Generator<ListedRow> = listUpToLarge(cells, from, end);
    from = undefined;
    for (const row of rows) {
      yield row;
      if (!isSmall(row)) from = prefixEnd(row.prefix);
    }
  }
}

/** The rows up to and including the first that is not small. */
function* listUpToLarge(cells: Cells, start: Buffer, end: Buffer): Generator<ListedRow> {
  let row: ListedRow | undefined;
  for (const { key, value } of cells.getRange({ start: cut(start), end: cut(end) })) {
    if (row === undefined || !isOfRow(key, row.prefix)) {
      if (row !== undefined) yield row;
      row = emptyRow(rowPrefixOf(key));
    }
    row.keys.push(key);
    row.values.push(value);
    if (!isSmall(row)) break;
  }
  if (row !== undefined) yield row;
}

function emptyRow(prefix: Buffer): ListedRow {
  return { prefix, keys: [], values: [] };
}

/** Adds the cells of a small row that pass the filter, in order. */
export function addPassing(
  found: Cell[],
  cells: Cells,
  { prefix, keys, values }: ListedRow,
  filter: TableFilter,
): void {
  const { family, versions = keys.length } = filter;
  let ofColumn = 0;
  let before: Buffer | undefined;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as Buffer;
    if (!passes(key, prefix.length, filter)) continue;
    const isNext = before !== undefined && isSameColumn(key, before, prefix.length);
    ofColumn = isNext ? ofColumn + 1 : 1;
    before = key;
    const value = ofColumn <= versions ? (values[i] ?? cells.get(key)) : undefined;
    if (value === undefined) continue;
    const qualifier = filter.qualifier ?? splitColumn(key, prefix.length).qualifier;
    found.push({ family, qualifier, timestamp: timestampOf(key), value });
  }
}
