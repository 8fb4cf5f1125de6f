/**
 * What reads on all stores have in common: scans of ranges, and which cells of an answer are for
 * which filter.
 *
 * A read of a range has a limit of rows, so a scan reads batch after batch, each from the first key
 * after the last row of the batch before; in reverse, each up to that row.
 *
 *     start ... last row │ first key after it ... last row │ ... │ fewer rows than the limit: the end
 *
 * How many cells a row has is known only after it has been read. So each batch of `rowBatches` has
 * as many rows as would, at the size of the previous rows, have about the wanted number of cells.
 */
import {
  type Bigtable,
  type Cell,
  type CellFilter,
  type RangeRead,
  type Row,
  type RowRange,
  TIMESTAMP_MAX,
} from './bigtable.ts';

export interface RowBatch {
  readonly rows: readonly Row[];
  /** The range that the batch covers: its rows are all the rows in that range. */
  readonly range: RowRange;
}

const CELLS_WANTED = 4_096;
const ROWS_FIRST = 64;
const ROWS_MAX = 1_024;

/** Covers the whole range, also where there are no rows: the last batch may have none. */
export async function* rowBatches(
  store: Bigtable,
  table: string,
  range: Omit<RangeRead, 'limit'>,
  filters: readonly CellFilter[],
): AsyncGenerator<RowBatch> {
  let left: RangeRead = { ...range, limit: ROWS_FIRST };
  for (;;) {
    const rows = await store.readRange(table, left, filters);
    const rest = restOf(left, rows);
    yield { rows, range: covered(left, rest) };
    if (rest === undefined) return;
    const cells = rows.reduce((sum, row) => sum + row.cells.length, 0);
    const wanted = Math.floor((rows.length * CELLS_WANTED) / cells);
    left = { ...rest, limit: Math.min(ROWS_MAX, Math.max(1, wanted)) };
  }
}

function covered(
  { start, end, reverse = false }: RangeRead,
  rest: RangeRead | undefined,
): RowRange {
  if (rest === undefined) return { start, end };
  return reverse ? { start: rest.end, end } : { start, end: rest.start };
}

/** What is left of the range after `rows`, which were read of it; undefined at its end. */
export function restOf(range: RangeRead, rows: readonly Row[]): RangeRead | undefined {
  const last = rows.at(-1);
  return last === undefined || rows.length < range.limit ? undefined : rangeBehind(range, last.key);
}

/** The part of the range that a read of it comes to after this row. */
export function rangeBehind<R extends Omit<RangeRead, 'limit'>>(range: R, row: string): R {
  return range.reverse === true ? { ...range, end: row } : { ...range, start: keyAfter(row) };
}

/** The first key after `key`, in the order of keys. */
export function keyAfter(key: string): string {
  return `${key}\0`;
}

/*
 * Each filter's cells of an answer, in the order of the filters. Bigtable answers with the union of
 * the cells that the filters pass, by families in an order of its own. Each filter is applied again
 * to that union. The result is exact: the union holds all cells that the filter passes. A cell in
 * its range that only another filter passed is older than the versions that this filter wants;
 * otherwise this filter would have passed it, too.
 */

/**
 * @param cells by family; within a family, by qualifier and then newest first; a cell may follow
 *   itself
 */
export function cellsOfFilters(
  cells: readonly Cell[],
  filters: readonly CellFilter[],
): readonly Cell[] {
  const distinct = hasRepeats(cells)
    ? cells.filter((cell, i) => !isSame(cell, cells[i - 1]))
    : cells;
  const candidates = candidatesFor(distinct, filters.length);
  const chosen: Cell[] = [];
  for (const filter of filters) choose(candidates(filter), filter, chosen);
  return chosen;
}

/** Up to so many filters, each looks at all cells. */
const FEW = 16;

/** For each of so many filters, the cells to look at: those that pass, and perhaps others. */
export function candidatesFor(
  cells: readonly Cell[],
  filters: number,
): (filter: CellFilter) => readonly Cell[] {
  if (filters <= FEW) return () => cells;
  const columns = Map.groupBy(cells, columnName);
  return (filter) =>
    filter.qualifier === undefined ? cells : (columns.get(columnName(filter)) ?? []);
}

/** A text for one column and no other; empty for a filter of many columns. */
export function columnName({
  family,
  qualifier,
}: Pick<CellFilter, 'family' | 'qualifier'>): string {
  return qualifier === undefined ? '' : `${family}:${qualifier}`; // A family has no colon (P60).
}

/** Whether a cell follows itself, because it has passed two filters. */
function hasRepeats(cells: readonly Cell[]): boolean {
  return cells.some((cell, i) => isSame(cell, cells[i - 1]));
}

function choose(cells: readonly Cell[], filter: CellFilter, chosen: Cell[]): void {
  const { family, qualifier, suffix, from = 0, to = TIMESTAMP_MAX, versions = Infinity } = filter;
  let column: string | undefined;
  let taken = 0;
  for (const cell of cells) {
    if (qualifier !== undefined && cell.qualifier !== qualifier) continue;
    if (cell.family !== family) continue;
    if (suffix !== undefined && !cell.qualifier.endsWith(suffix)) continue;
    if (cell.timestamp < from || cell.timestamp > to) continue;
    if (cell.qualifier !== column) {
      column = cell.qualifier;
      taken = 0;
    }
    if (taken++ < versions) chosen.push(cell);
  }
}

function isSame(a: Cell, b: Cell | undefined): boolean {
  return (
    b !== undefined &&
    a.timestamp === b.timestamp &&
    a.qualifier === b.qualifier &&
    a.family === b.family
  );
}
