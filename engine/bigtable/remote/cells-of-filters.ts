/**
 * Assigns the cells of an answer to the filters, in the order of the filters.
 *
 * Bigtable answers with the union of the cells that the filters pass, by families in an order of
 * its own. Each filter is applied again to that union. The result is exact: all cells that the
 * filter passes are there. Other cells in its range were passed by another filter, and are older
 * than the versions this one wants, since otherwise they would have been among them.
 */
import { type Cell, type CellFilter, TIMESTAMP_MAX } from '../bigtable.ts';

/**
 * @param cells by family; within one, by qualifier and then newest first, perhaps repeated in a row
 */
export function cellsOfFilters(
  cells: readonly Cell[],
  filters: readonly CellFilter[],
): readonly Cell[] {
  if (filters.length === 1 && !isOverfull(cells)) {
    const [only] = filters as readonly [CellFilter];
    return choose(cells, only);
  }
  const families = byFamily(cells);
  return filters.flatMap((filter) => choose(families.get(filter.family) ?? [], filter));
}

/** Whether a cell is repeated, as when it has passed two branches. */
function isOverfull(cells: readonly Cell[]): boolean {
  return cells.some((cell, i) => isSame(cell, cells[i - 1]));
}

function byFamily(cells: readonly Cell[]): ReadonlyMap<string, readonly Cell[]> {
  const families = new Map<string, Cell[]>();
  for (const cell of cells) {
    const family = families.get(cell.family);
    if (family === undefined) families.set(cell.family, [cell]);
    else if (!isSame(cell, family.at(-1))) family.push(cell);
  }
  return families;
}

function choose(cells: readonly Cell[], filter: CellFilter): readonly Cell[] {
  const { qualifier, suffix, from = 0, to = TIMESTAMP_MAX, versions = Infinity } = filter;
  const chosen: Cell[] = [];
  let column: string | undefined;
  let taken = 0;
  for (const cell of cells) {
    if (qualifier !== undefined && cell.qualifier !== qualifier) continue;
    if (suffix !== undefined && !cell.qualifier.endsWith(suffix)) continue;
    if (cell.timestamp < from || cell.timestamp > to) continue;
    if (cell.qualifier !== column) {
      column = cell.qualifier;
      taken = 0;
    }
    if (taken++ < versions) chosen.push(cell);
  }
  return chosen;
}

function isSame(a: Cell, b: Cell | undefined): boolean {
  return (
    b !== undefined &&
    a.timestamp === b.timestamp &&
    a.qualifier === b.qualifier &&
    a.family === b.family
  );
}
