/**
 * Small rows, read in one pass over their keys.
 *
 * A seek costs lmdb a few microseconds, a step to the next key a fraction of one, and a Percolator
 * read asks for three to nine columns of a row that mostly has a handful of cells. So the keys of
 * the row are listed first, up to a limit; if that was all, the filters are answered from the list,
 * and only the values that pass are fetched. A row with more cells, a hot cell with a thousand
 * versions say, is read by seeks as before, which cost the same however many versions there are.
 */
import type { Cell, CellFilter } from '../bigtable.ts';
import { TIMESTAMP_MAX } from '../bigtable.ts';
import { familyId, type TableEntry } from './catalog.ts';
import type { Cells } from './cells.ts';
import { behind, cut, splitColumn, timestampOf } from './keys.ts';

/** A row with more cells is not small. Larger: more wasted on large rows. Smaller: more rows by seeks. */
const SMALL_ROW_CELLS = 32;

export interface CellKey {
  readonly key: Buffer;
  readonly familyId: number;
  readonly qualifier: string;
  readonly timestamp: number;
}

/** All keys of the row in order, or undefined if it is not small. */
export function listSmallRow(cells: Cells, row: Buffer): readonly CellKey[] | undefined {
  const range = { start: cut(row), end: cut(behind(row)), limit: SMALL_ROW_CELLS + 1 };
  const keys: CellKey[] = [];
  for (const key of cells.getKeys(range)) {
    keys.push({ key, ...splitColumn(key, row.length), timestamp: timestampOf(key) });
  }
  return keys.length > SMALL_ROW_CELLS ? undefined : keys;
}

/** Whether any key passes the filter. */
export function anyPasses(
  keys: readonly CellKey[],
  table: TableEntry,
  filter: CellFilter,
): boolean {
  const family = familyId(table, filter.family);
  return keys.some((key) => passes(key, family, filter));
}

/** The cells that pass the filter, in order. */
export function cellsPassing(
  cells: Cells,
  keys: readonly CellKey[],
  table: TableEntry,
  filter: CellFilter,
): readonly Cell[] {
  const { family, versions = keys.length } = filter;
  const id = familyId(table, family);
  const found: Cell[] = [];
  let ofColumn = 0;
  let column: string | undefined;
  for (const cell of keys) {
    if (!passes(cell, id, filter)) continue;
    ofColumn = cell.qualifier === column ? ofColumn + 1 : 1;
    column = cell.qualifier;
    const value = ofColumn <= versions ? cells.get(cell.key) : undefined;
    if (value === undefined) continue;
    found.push({ family, qualifier: cell.qualifier, timestamp: cell.timestamp, value });
  }
  return found;
}

function passes(cell: CellKey, family: number, filter: CellFilter): boolean {
  const { qualifier, from = 0, to = TIMESTAMP_MAX } = filter;
  if (cell.familyId !== family) return false;
  if (qualifier !== undefined && qualifier !== cell.qualifier) return false;
  return cell.timestamp >= from && cell.timestamp <= to;
}
