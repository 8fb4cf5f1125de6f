/**
 * Small rows, read in one pass over their keys.
 *
 * A seek costs lmdb a few microseconds, a step to the next key a fraction of one, and a Percolator
 * read asks for three to nine columns of a row that mostly has a handful of cells. So the keys of
 * the row are listed first, up to a limit; if that was all, the filters are answered from the list,
 * and only the values that pass are fetched. A row with more cells, a hot cell with a thousand
 * versions say, is read by seeks as before, which cost the same however many versions there are.
 *
 * The keys stay bytes: to decode one takes longer than to list it, and most are of other columns or versions.
 */
import type { Cell, CellFilter } from '../bigtable.ts';
import { familyId, type TableEntry } from './catalog.ts';
import type { Cells } from './cells.ts';
import {
  behind,
  columnPart,
  cut,
  isOfColumn,
  isSameColumn,
  splitColumn,
  timestampOf,
} from './keys.ts';

/** A row with more cells is not small. Larger: more wasted on large rows. Smaller: more rows by seeks. */
const SMALL_ROW_CELLS = 32;

export interface SmallRow {
  /** How many bytes the keys of the row have in common. */
  readonly prefixLength: number;
  /** All of them, in order. */
  readonly keys: readonly Buffer[];
}

/** The row, or undefined if it is not small. */
export function listSmallRow(cells: Cells, row: Buffer): SmallRow | undefined {
  const range = { start: cut(row), end: cut(behind(row)), limit: SMALL_ROW_CELLS + 1 };
  const keys = [...cells.getKeys(range)];
  return keys.length > SMALL_ROW_CELLS ? undefined : { prefixLength: row.length, keys };
}

/** Whether any key passes the filter. */
export function anyPasses(row: SmallRow, table: TableEntry, filter: CellFilter): boolean {
  const passes = passing(row, table, filter);
  return row.keys.some(passes);
}

/** The cells that pass the filter, in order. */
export function cellsPassing(
  cells: Cells,
  row: SmallRow,
  table: TableEntry,
  filter: CellFilter,
): readonly Cell[] {
  const { family, versions = row.keys.length } = filter;
  const passes = passing(row, table, filter);
  const found: Cell[] = [];
  let ofColumn = 0;
  let before: Buffer | undefined;
  for (const key of row.keys) {
    if (!passes(key)) continue;
    ofColumn =
      before !== undefined && isSameColumn(key, before, row.prefixLength) ? ofColumn + 1 : 1;
    before = key;
    const value = ofColumn <= versions ? cells.get(key) : undefined;
    if (value === undefined) continue;
    const qualifier = filter.qualifier ?? splitColumn(key, row.prefixLength).qualifier;
    found.push({ family, qualifier, timestamp: timestampOf(key), value });
  }
  return found;
}

function passing(
  { prefixLength }: SmallRow,
  table: TableEntry,
  { family, qualifier, from, to }: CellFilter,
): (key: Buffer) => boolean {
  const id = familyId(table, family);
  const part = qualifier === undefined ? undefined : columnPart(id, qualifier);
  return (key) => {
    const isWanted =
      part === undefined ? key[prefixLength] === id : isOfColumn(key, prefixLength, part);
    if (!isWanted) return false;
    if (from === undefined && to === undefined) return true;
    const timestamp = timestampOf(key);
    return (from === undefined || timestamp >= from) && (to === undefined || timestamp <= to);
  };
}
