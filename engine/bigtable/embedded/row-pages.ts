/**
 * The pages of rows, as the index and the log have them: what is visible, and which of it passes a
 * filter.
 */
import { type Cell, type CellFilter, type Timestamp, TIMESTAMP_MAX } from '../bigtable.ts';
import { familyId, type TableEntry } from './catalog.ts';
import {
  cellKey,
  columnAt,
  columnKey,
  endsWith,
  isOfColumn,
  joined,
  prefixEnd,
  qualifierAt,
  rowKeyOf,
  suffixBytes,
  timestampAt,
} from './keys.ts';
import type { Place } from './leaf.ts';
import type { Log } from './log.ts';
import { cellAt, endOfCell, keyEndAt, keyStartAt, placeAt } from './page.ts';
import { NONE, type Position, type SortedIndex } from './sorted-index.ts';

/** The keys of the first and of the last cell that are wanted. */
export interface CellRange {
  readonly first: Buffer;
  readonly last: Buffer;
}

/** The pages of one row, as they are visible or as they will be. */
export interface RowPages {
  /** The page, if the row has one page, as nearly every row has. */
  readonly onlyPage: Buffer | undefined;
  /**
   * Shows the pages that may hold cells of the range to `isEnough`, in order, until it returns
   * true. Returns whether it has. A generator for each column would make reading a row of several
   * pages a third slower.
   */
  visit(range: CellRange, isEnough: (page: Buffer) => boolean): boolean;
}

/** Which rows a scan wants. */
export interface RowsRange {
  /** Rows with keys from here up to `end`, exclusive. */
  readonly start: Buffer;
  readonly end: Buffer;
  /** Only rows with a cell as new as this; the index shows which have none: they are not read. */
  readonly from: Timestamp;
  /** From the last row to the first. */
  readonly reverse: boolean;
}

/** A row, for `rowFrom`; without a position, the row from which a long scan goes on. */
interface FoundRow {
  readonly key: Buffer;
  readonly first?: Position;
}

const KEYS_AT_A_TIME = 4_096;

export interface Stored {
  readonly index: SortedIndex;
  readonly log: Log;
}

/** The row with this key; undefined if it has no cells. Valid until the index is changed. */
export function storedRow(stored: Stored, row: Buffer): RowPages | undefined {
  const first = stored.index.ceiling(row);
  return stored.index.startsWith(first, row) ? rowFrom(stored, row, first) : undefined;
}

/**
 * The rows in the range, for `rowFrom`. After `KEYS_AT_A_TIME` keys it ends with the row from which
 * the caller goes on (`restOfRows`), without a position, so that a long scan does not keep other
 * callers waiting. It goes on from a row, never from a page: meanwhile the pages of a row may be
 * joined or split.
 */
export function storedRows(stored: Stored, range: RowsRange): Generator<FoundRow> {
  return range.reverse ? rowsBackwards(stored, range) : rowsForwards(stored, range);
}

/** What is left of a range whose scan goes on from this row. */
export function restOfRows(range: RowsRange, row: Buffer): RowsRange {
  return range.reverse ? { ...range, end: prefixEnd(row) } : { ...range, start: row };
}

function* rowsForwards(stored: Stored, { start, end, from }: RowsRange): Generator<FoundRow> {
  const { index } = stored;
  let at = index.ceiling(start);
  for (let keys = 0; at !== NONE && index.compare(at, end) < 0; keys++) {
    if (keys >= KEYS_AT_A_TIME) {
      const key = rowKeyOf(index.key(at));
      if (key.compare(start) > 0) {
        yield { key };
        return;
      }
    }
    if (index.newest(at) < from) {
      at = index.next(at);
      continue;
    }
    const key = rowKeyOf(index.key(at));
    const first = from > 0 ? index.ceiling(key) : at;
    yield { key, first };
    while (index.startsWith(at, key)) at = index.next(at);
  }
}

/** Meets the last page of a row first. */
function* rowsBackwards(stored: Stored, { start, end, from }: RowsRange): Generator<FoundRow> {
  const { index } = stored;
  let at = index.before(end);
  for (let keys = 0; at !== NONE && index.compare(at, start) >= 0; keys++) {
    if (keys >= KEYS_AT_A_TIME) {
      const key = rowKeyOf(index.key(at));
      if (prefixEnd(key).compare(end) < 0) {
        yield { key };
        return;
      }
    }
    if (index.newest(at) < from) {
      at = index.previous(at);
      continue;
    }
    const key = rowKeyOf(index.key(at));
    let first = at;
    for (at = index.previous(at); index.startsWith(at, key); at = index.previous(at)) first = at;
    yield { key, first };
  }
}

export function pageAt({ index, log }: Stored, at: Position): Buffer {
  return log.readBody(index.entry(at));
}

/** The row whose first page is there. Valid until the index is changed. */
export function rowFrom(stored: Stored, row: Buffer, first: Position): RowPages {
  const isLarge = stored.index.startsWith(stored.index.next(first), row);
  return isLarge ? new LargeRow(stored, row, first) : new SmallRow(pageAt(stored, first));
}

class SmallRow implements RowPages {
  readonly onlyPage: Buffer;

  constructor(page: Buffer) {
    this.onlyPage = page;
  }

  visit(_range: CellRange, isEnough: (page: Buffer) => boolean): boolean {
    return isEnough(this.onlyPage);
  }
}

/** A row of several pages, which are read when they are asked for. */
class LargeRow implements RowPages {
  readonly onlyPage = undefined;
  readonly #stored: Stored;
  readonly #row: Buffer;
  readonly #first: Position;
  /** The pages that this read has met. */
  readonly #pages = new Map<Position, Buffer>();

  constructor(stored: Stored, row: Buffer, first: Position) {
    this.#stored = stored;
    this.#row = row;
    this.#first = first;
  }

  visit({ first, last }: CellRange, isEnough: (page: Buffer) => boolean): boolean {
    const { index } = this.#stored;
    const row = this.#row;
    let at = index.floorFrom(this.#first, joined(row, first));
    if (isEnough(this.#pageAt(at))) return true;
    const end = joined(row, last);
    at = index.next(at);
    for (; index.startsWith(at, row) && index.compare(at, end) <= 0; at = index.next(at)) {
      if (isEnough(this.#pageAt(at))) return true;
    }
    return false;
  }

  #pageAt(at: Position): Buffer {
    let page = this.#pages.get(at);
    if (page === undefined) this.#pages.set(at, (page = pageAt(this.#stored, at)));
    return page;
  }
}

/*
 * A filter is prepared for the cells of a table once for a read, and used for every row. The cells
 * stay bytes: decoding one takes longer than comparing it, and most belong to other columns or
 * versions.
 */

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
