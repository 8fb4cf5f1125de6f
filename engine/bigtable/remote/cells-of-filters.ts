/**
 * Which cells of an answer belong to which filter, in the order of the filters.
 *
 * Bigtable answers with the union of what the filters pass, by families in an order of its own. A filter is
 * applied again to that union. Nothing is lost or gained by it: all that the filter passes is there, and
 * what else is there in its range has been passed by another one, and is older than the versions wanted
 * of this one, since otherwise it would have been among them.
 */
import { type Cell, type CellFilter, TIMESTAMP_MAX } from '../bigtable.ts';

/** @param cells those of one family by qualifier and then newest first, perhaps each several times in a row */
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

/** Whether a cell comes twice, as it does when it has passed two branches. */
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
  const { qualifier, from = 0, to = TIMESTAMP_MAX, versions = Infinity } = filter;
  const chosen: Cell[] = [];
  let column: string | undefined;
  let taken = 0;
  for (const cell of cells) {
    if (qualifier !== undefined && cell.qualifier !== qualifier) continue;
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
