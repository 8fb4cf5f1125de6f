/**
 * Merges reads that differ only in their newest timestamp.
 *
 * Two transactions read the same columns at different start timestamps. A multi-row read has one
 * list of filters for all its rows, so the merged read asks up to the later of the two timestamps,
 * and each caller's answer is cut back to what that caller wanted:
 *
 *     wanted   lock:c to 12, 1 version        lock:c to 15, 1 version
 *     asked              lock:c to 15, 1 version
 *     cut      versions newer than 12 are removed from the first one's answer
 *
 * A limit of versions may hide what a caller wanted: the one version that is returned may be from
 * 13, and the first caller wanted the older one from 11. The answer shows it: it has as many
 * versions as were asked for, and one of them is too new. Such a row is read again with the filters
 * of its caller. This is rare: the row was written between the start timestamps of two reads of one
 * batch.
 *
 * Only reads of one shape can be merged: the same families, qualifiers, suffixes, oldest timestamps
 * and numbers of versions, in the same order. The newest timestamps must be the same, too, if two
 * filters of the list may share a cell, and of each filter that sets no limit of versions.
 */
import type { Cell, CellFilter, Row, Timestamp } from '../bigtable.ts';
import { candidatesFor, columnName } from '../cells-of-filters.ts';

/**
 * The same string for all reads that can be merged. Every read builds one, and a list or JSON would
 * cost more.
 */
export function shapeOf(filters: readonly CellFilter[]): string {
  const isWidened = areSeparate(filters);
  let shape = '';
  for (const filter of filters) {
    const { family, qualifier, suffix, from, to, versions } = filter;
    const newest = isWidened && canWiden(filter) ? 'any' : to;
    shape += `${named(family)}${named(qualifier)}${named(suffix)}${from} ${versions} ${newest},`;
  }
  return shape;
}

/** A name may contain any character, so its length comes first (P60). */
function named(name: string | undefined): string {
  return name === undefined ? '-' : `${name.length}:${name}`;
}

/**
 * One list of filters for all of `lists`, which have one shape: each filter reaches as far as the
 * newest of theirs, and limits versions as they do.
 */
export function widest(lists: readonly (readonly CellFilter[])[]): readonly CellFilter[] {
  const [first = []] = lists;
  return first.map(({ family, qualifier, suffix, from, to, versions }, i) => {
    const newest = Math.max(...lists.map((list) => list[i]?.to ?? 0));
    const latest = to === undefined ? undefined : newest;
    return { family, qualifier, suffix, from, to: latest, versions };
  });
}

/**
 * The result of `filters`, cut out of the result of wider filters of the same shape. Null if it
 * cannot be known, because a version that is too new may have replaced a wanted one.
 */
export function cutBack(
  row: Row | undefined,
  filters: readonly CellFilter[],
  asked: readonly CellFilter[],
): Row | undefined | null {
  if (row === undefined || filters.every(({ to }, i) => to === asked[i]?.to)) return row;
  // Usually no cell is newer than the end of any filter. Then the row is the right answer, even
  // with a limit of versions.
  let earliestEnd = Infinity;
  for (const filter of filters) earliestEnd = Math.min(earliestEnd, newestWanted(filter));
  if (row.cells.every(({ timestamp }) => timestamp <= earliestEnd)) return row;
  const cells: Cell[] = [];
  const candidates = candidatesFor(row.cells, filters.length);
  for (const filter of filters) {
    const found = candidates(filter).filter((cell) => isOf(cell, filter));
    if (mayHide(found, filter)) return null;
    cells.push(...found.filter(({ timestamp }) => timestamp <= newestWanted(filter)));
  }
  return cells.length === 0 ? undefined : { key: row.key, cells };
}

/** Without a limit, a wider filter could bring any number of unwanted versions. */
function canWiden({ to, versions }: CellFilter): boolean {
  return to !== undefined && versions !== undefined;
}

/** Whether each cell belongs to at most one filter, so that an answer can be split by filter. */
function areSeparate(filters: readonly CellFilter[]): boolean {
  if (filters.length > FEW) return areNamedOnce(filters);
  // Each pair, because there are few filters: sets of names would cost more.
  return filters.every((one, i) => !filters.some((other, j) => j < i && mayShare(one, other)));
}

/** Up to so many filters, each is compared with each. */
const FEW = 16;

/** Whether each filter names a column, and none of them twice. */
function areNamedOnce(filters: readonly CellFilter[]): boolean {
  const names = new Set(filters.map(columnName));
  return names.size === filters.length && !names.has('');
}

function mayShare(one: CellFilter, other: CellFilter): boolean {
  if (one.family !== other.family) return false;
  if (one.qualifier === undefined || other.qualifier === undefined) return true;
  return one.qualifier === other.qualifier;
}

function isOf(
  cell: Cell,
  { family, qualifier = cell.qualifier, suffix = '' }: CellFilter,
): boolean {
  return cell.family === family && cell.qualifier === qualifier && cell.qualifier.endsWith(suffix);
}

/** Whether a column has as many versions as were asked for, one of them too new. */
function mayHide(found: readonly Cell[], filter: CellFilter): boolean {
  const { versions = Infinity } = filter;
  return found.some(
    ({ qualifier, timestamp }) =>
      timestamp > newestWanted(filter) &&
      found.filter((other) => other.qualifier === qualifier).length >= versions,
  );
}

function newestWanted({ to }: CellFilter): Timestamp {
  return to ?? Infinity;
}
