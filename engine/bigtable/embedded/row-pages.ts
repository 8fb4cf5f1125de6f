/** The pages of rows, as the index and the log have them: what is visible. */
import type { Timestamp } from '../bigtable.ts';
import { joined, rowKeyOf } from './keys.ts';
import type { Log } from './log.ts';
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
 * the caller goes on, without a position, so that a long scan does not keep other callers waiting.
 * It goes on from a row, never from a page: meanwhile the pages of a row may be joined or split.
 */
export function* storedRows(
  stored: Stored,
  { start, end, from }: RowsRange,
): Generator<{ readonly key: Buffer; readonly first?: Position }> {
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
