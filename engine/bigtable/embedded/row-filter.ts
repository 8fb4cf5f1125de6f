/**
 * A filter, prepared for the cells of a table: built once for a read, used for every row.
 *
 * The cells stay bytes: decoding one takes longer than comparing it, and most belong to other
 * columns or versions.
 */
import { TIMESTAMP_MAX, type Cell, type CellFilter } from '../bigtable.ts';
import { familyId, type TableEntry } from './catalog.ts';
import {
  cellKey,
  columnAt,
  columnKey,
  endsWith,
  isOfColumn,
  prefixEnd,
  qualifierAt,
  suffixBytes,
  timestampAt,
} from './keys.ts';
import type { Place } from './leaf.ts';
import { cellAt, endOfCell, keyEndAt, keyStartAt, placeAt } from './page.ts';
import type { CellRange, RowPages } from './row-pages.ts';

export interface RowFilter {
  readonly family: string;
  readonly qualifier: string | undefined;
  /** What the qualifiers of the passing cells end with: collectors ask this of every cell. */
  readonly suffix: Buffer | undefined;
  readonly from: number;
  readonly to: number;
  readonly versions: number;
  /** What the keys of the passing cells begin with: a family, or a column. */
  readonly prefix: Buffer;
  /** Where the passing cells lie in a row; made when the first row with several pages is read. */
  range?: CellRange;
}

/** @throws FAMILY_NOT_FOUND */
export function filterFor(table: TableEntry, filter: CellFilter): RowFilter {
  const { family, qualifier, from = 0, to = TIMESTAMP_MAX, versions = Infinity } = filter;
  const id = familyId(table, family);
  const suffix = filter.suffix === undefined ? undefined : suffixBytes(filter.suffix);
  const prefix = qualifier === undefined ? Buffer.of(id) : columnKey(id, qualifier);
  return { family, qualifier, suffix, from, to, versions, prefix };
}

/** Whether any cell passes any of the filters. */
export function anyCell(row: RowPages, filters: readonly RowFilter[]): boolean {
  for (const filter of filters) if (visit(row, filter, isFound)) return true;
  return false;
}

function isFound(): boolean {
  return true;
}

/** The cells that pass, in the order of the filters. @param read reads a long value */
export function cellsOf(
  row: RowPages,
  filters: readonly RowFilter[],
  read: (place: Place) => Buffer,
): Cell[] {
  const found: Cell[] = [];
  const add: Visitor = (page, at, { family, qualifier }) => {
    const { keyStart, keyEnd, isPlace, end } = cellAt(page, at);
    found.push({
      family,
      qualifier: qualifier ?? qualifierAt(page, keyStart, keyEnd),
      timestamp: timestampAt(page, keyEnd),
      // A copy: the page is a part of a large piece of memory, which a value must not keep.
      value: isPlace ? read(placeAt(page, keyEnd)) : Buffer.from(page.subarray(keyEnd, end)),
    });
    return false;
  };
  for (const filter of filters) visit(row, filter, add);
  return found;
}

/** Returns whether it has seen enough. */
type Visitor = (page: Buffer, at: number, filter: RowFilter) => boolean;

/** Visits each passing cell, until the visitor has seen enough. Returns whether it has. */
function visit(row: RowPages, filter: RowFilter, visitor: Visitor): boolean {
  const columns = new ColumnCounter(filter);
  if (row.onlyPage !== undefined) return visitPage(row.onlyPage, columns, visitor);
  let isSeen = false;
  row.visit((filter.range ??= rangeOf(filter)), (page) => {
    isSeen = visitPage(page, columns, visitor);
    return isSeen || columns.isOver;
  });
  return isSeen;
}

function visitPage(page: Buffer, columns: ColumnCounter, visitor: Visitor): boolean {
  const { filter } = columns;
  const { prefix, qualifier, suffix, from, to } = filter;
  let isInColumn = false;
  for (let at = 0; at < page.length && !columns.isOver; at = endOfCell(page, at)) {
    const keyStart = keyStartAt(at);
    const keyEnd = keyEndAt(page, at);
    if (qualifier === undefined) {
      if (page[keyStart] !== prefix[0]) continue;
      if (suffix !== undefined && !endsWith(page, keyStart, keyEnd, suffix)) continue;
    } else if (isOfColumn(page, keyStart, keyEnd, prefix)) {
      isInColumn = true;
    } else {
      if (isInColumn) return false; // The cells of a column are next to each other.
      continue;
    }
    const timestamp = timestampAt(page, keyEnd);
    if (timestamp > to) continue;
    if (timestamp < from) {
      if (qualifier === undefined) continue;
      return false; // The newest comes first.
    }
    if (columns.isWanted(page, keyStart, keyEnd) && visitor(page, at, filter)) return true;
  }
  return false;
}

/** Counts the versions of each column. */
class ColumnCounter {
  readonly filter: RowFilter;
  /** Whether no further cell can pass. */
  isOver = false;
  #column: Buffer | undefined;
  #count = 0;

  constructor(filter: RowFilter) {
    this.filter = filter;
  }

  /** Whether the next cell that is in the range is among the newest of its column. */
  isWanted(page: Buffer, keyStart: number, keyEnd: number): boolean {
    const { qualifier, versions } = this.filter;
    if (versions === Infinity) return true;
    if (qualifier !== undefined) {
      this.isOver = ++this.#count >= versions;
      return true;
    }
    if (this.#column === undefined || !isOfColumn(page, keyStart, keyEnd, this.#column)) {
      this.#column = columnAt(page, keyStart, keyEnd);
      this.#count = 0;
    }
    return ++this.#count <= versions;
  }
}

function rangeOf({ prefix, qualifier, from, to }: RowFilter): CellRange {
  if (qualifier === undefined) return { first: prefix, last: prefixEnd(prefix) };
  return { first: cellKey(prefix, to), last: cellKey(prefix, from) };
}
