/**
 * Assigns the cells of an answer to the filters, in the order of the filters.
 *
 * Bigtable answers with the union of the cells that the filters pass, by families in an order of
 * its own. Each filter is applied again to that union. The result is exact: the union holds all
 * cells that the filter passes. A cell in its range that only another filter passed is older than
 * the versions that this filter wants; otherwise this filter would have passed it, too.
 */
import { type Cell, type CellFilter, TIMESTAMP_MAX } from './bigtable.ts';

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
