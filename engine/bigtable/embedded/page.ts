/**
 * A page: the cells of one row in the order of their keys, as bytes.
 *
 *     key length   value length, bit L   cell key   value
 *     2 bytes      4 bytes                          the bytes; if L is set, their place in the log
 *
 * A row is one page until it is large; then it is split, and each page begins where its own key
 * says. So a mutation rewrites one page of a row, whatever the number of its versions and columns.
 * A value of more than `INLINE_BYTES_MAX` has a record of its own in the log, so that it is not
 * written again when another cell of its page changes. Pages are never changed, only replaced.
 */
import type { Timestamp } from '../bigtable.ts';
import { cellKeyLength, joined, timestampAt, writeCellKey } from './keys.ts';
import type { Place } from './leaf.ts';

/**
 * A larger page is split. Larger: a mutation of a large row writes more. Smaller: reading a row of
 * many columns takes more pages, each with a key in memory.
 */
export const PAGE_BYTES_MAX = 2_048;
/**
 * A longer value has its own record. Larger: more is written again with each mutation of the row.
 * Smaller: more records, and reading the value costs a second look at the log.
 */
export const INLINE_BYTES_MAX = 512;

const HEADER_BYTES = 6;
const PLACE_BYTES = 12;
/** Bit L of the value length: the value is a place. */
const IS_PLACE = 0x8000_0000;

export const NO_CELLS: Buffer = Buffer.alloc(0);

/** Positions of a cell in its page; the value is from `keyEnd` to `end`. */
export interface CellBytes {
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly isPlace: boolean;
  readonly end: number;
}

/** Where the key of the cell at `at` begins, and ends: for code that looks at every cell. */
export function keyStartAt(at: number): number {
  return at + HEADER_BYTES;
}

export function keyEndAt(page: Buffer, at: number): number {
  return at + HEADER_BYTES + readKeyLength(page, at);
}

/** The cell at `at`, which is where a cell begins. */
export function cellAt(page: Buffer, at: number): CellBytes {
  const keyEnd = keyEndAt(page, at);
  const isPlace = isPlaceAt(page, at);
  return { keyStart: at + HEADER_BYTES, keyEnd, isPlace, end: endOfCell(page, at) };
}

/** The place of the long value whose cell key ends at `keyEnd`. */
export function placeAt(page: Buffer, keyEnd: number): Place {
  return {
    file: page.readUInt32LE(keyEnd),
    offset: page.readUInt32LE(keyEnd + 4),
    length: page.readUInt32LE(keyEnd + 8),
  };
}

/** Where the first cell at or after `key` begins, or the page's end. */
export function seekCell(page: Buffer, key: Buffer): number {
  let at = 0;
  while (at < page.length && compareKey(page, at, key) < 0) at = endOfCell(page, at);
  return at;
}

/** The newest timestamp of the cells; 0 if there are none. */
export function newestOf(page: Buffer): Timestamp {
  let newest = 0;
  for (let at = 0; at < page.length; at = endOfCell(page, at)) {
    newest = Math.max(newest, timestampAt(page, keyEndAt(page, at)));
  }
  return newest;
}

/** The page with the cell set, replacing one with the same key. */
export function withCell(page: Buffer, key: Buffer, value: Uint8Array | Place): Buffer {
  const at = seekCell(page, key);
  const isSame = at < page.length && compareKey(page, at, key) === 0;
  const rest = isSame ? endOfCell(page, at) : at;
  const isPlace = !(value instanceof Uint8Array);
  const valueLength = isPlace ? PLACE_BYTES : value.length;
  const keyAt = at + HEADER_BYTES;
  const valueAt = keyAt + key.length;
  const changed = Buffer.allocUnsafe(valueAt + valueLength + page.length - rest);
  page.copy(changed, 0, 0, at);
  changed.writeUInt16LE(key.length, at);
  changed.writeUInt32LE(isPlace ? IS_PLACE + PLACE_BYTES : valueLength, at + 2);
  key.copy(changed, keyAt);
  if (isPlace) writePlace(changed, value, valueAt);
  else changed.set(value, valueAt);
  page.copy(changed, valueAt + valueLength, rest);
  return changed;
}

/** A new cell: the column and the timestamp make its key. */
export interface NewCell {
  readonly column: Buffer;
  readonly timestamp: Timestamp;
  readonly value: Uint8Array;
}

/**
 * A page of these cells, made in one step, because most rows begin so. Of equal keys the last
 * counts.
 */
export function pageOf(cells: readonly NewCell[]): Buffer {
  const ordered = inKeyOrder(cells);
  let bytes = 0;
  for (const { column, value } of ordered) bytes += cellKeyLength(column) + value.length;
  const page = Buffer.allocUnsafe(bytes + HEADER_BYTES * ordered.length);
  let at = 0;
  for (const { column, timestamp, value } of ordered) {
    const keyLength = cellKeyLength(column);
    page.writeUInt16LE(keyLength, at);
    page.writeUInt32LE(value.length, at + 2);
    writeCellKey(page, at + HEADER_BYTES, column, timestamp);
    page.set(value, at + HEADER_BYTES + keyLength);
    at += HEADER_BYTES + keyLength + value.length;
  }
  return page;
}

/** Up to so many cells, insertion is the fastest way to order them. */
const FEW_CELLS = 32;

function inKeyOrder(cells: readonly NewCell[]): readonly NewCell[] {
  if (cells.length > FEW_CELLS) {
    const sorted = cells.toSorted(compareCells);
    return sorted.filter((cell, i) => {
      const next = sorted[i + 1];
      return next === undefined || compareCells(cell, next) !== 0; // The last one of equal keys.
    });
  }
  const ordered: NewCell[] = [];
  for (const cell of cells) {
    let at = ordered.length;
    let difference = -1;
    while (at > 0 && (difference = compareCells(ordered[at - 1] as NewCell, cell)) > 0) at--;
    ordered.splice(difference === 0 ? at - 1 : at, difference === 0 ? 1 : 0, cell);
  }
  return ordered;
}

/** Below 0 if the key of `a` is before that of `b`: no column is a prefix of another one. */
function compareCells(a: NewCell, b: NewCell): number {
  return a.column.compare(b.column) || b.timestamp - a.timestamp;
}

/** The page without the cells from `first` to `last`, both inclusive. */
export function withoutCells(page: Buffer, first: Buffer, last: Buffer): Buffer {
  const from = seekCell(page, first);
  let to = from;
  while (to < page.length && compareKey(page, to, last) <= 0) to = endOfCell(page, to);
  if (from === to) return page;
  return joined(page.subarray(0, from), page.subarray(to));
}

/** Where the page should be split: the beginning of a cell; undefined if the page is small. */
export function splitOf(page: Buffer): number | undefined {
  if (page.length <= PAGE_BYTES_MAX) return undefined;
  let size = 0;
  let half: number | undefined;
  for (let at = 0; at < page.length;) {
    const { keyEnd, end } = cellAt(page, at);
    if (size > PAGE_BYTES_MAX / 2) half ??= at;
    size += keyEnd - at + Math.min(end - keyEnd, INLINE_BYTES_MAX);
    at = end;
  }
  return size > PAGE_BYTES_MAX ? half : undefined;
}

/**
 * The page as it is written to the log: every long value is the place of its record.
 * @param write writes a record for the value of the cell with this key
 * @returns also the bytes of all these records
 */
export function withPlaces(
  page: Buffer,
  write: (key: Buffer, value: Buffer) => Place,
): { readonly page: Buffer; readonly valueBytes: number } {
  let changed = page;
  let valueBytes = 0;
  for (const { keyStart, keyEnd, isPlace, end } of longValues(page)) {
    const key = page.subarray(keyStart, keyEnd);
    const place = isPlace ? placeAt(page, keyEnd) : write(key, page.subarray(keyEnd, end));
    if (!isPlace) changed = withCell(changed, key, place);
    valueBytes += place.length;
  }
  return { page: changed, valueBytes };
}

/** Where the long values of a page of the log are. */
export function longPlaces(page: Buffer): readonly Place[] {
  return longValues(page).map(({ keyEnd }) => placeAt(page, keyEnd));
}

/** The page with some long values in it again: those that `read` returns. */
export function withValues(page: Buffer, read: (place: Place) => Buffer | undefined): Buffer {
  let changed = page;
  for (const { keyStart, keyEnd, isPlace } of longValues(page)) {
    const value = isPlace ? read(placeAt(page, keyEnd)) : undefined;
    if (value !== undefined) changed = withCell(changed, page.subarray(keyStart, keyEnd), value);
  }
  return changed;
}

function longValues(page: Buffer): readonly CellBytes[] {
  const found: CellBytes[] = [];
  for (let at = 0; at < page.length; at = endOfCell(page, at)) {
    if (isPlaceAt(page, at) || valueLengthAt(page, at) > INLINE_BYTES_MAX) {
      found.push(cellAt(page, at));
    }
  }
  return found;
}

function writePlace(page: Buffer, { file, offset, length }: Place, at: number): void {
  page.writeUInt32LE(file, at);
  page.writeUInt32LE(offset, at + 4);
  page.writeUInt32LE(length, at + 8);
}

function compareKey(page: Buffer, at: number, key: Buffer): number {
  const length = readKeyLength(page, at);
  const shorter = Math.min(length, key.length);
  const start = at + HEADER_BYTES;
  for (let i = 0; i < shorter; i++) {
    const difference = (page[start + i] as number) - (key[i] as number);
    if (difference !== 0) return difference;
  }
  return length - key.length;
}

function readKeyLength(page: Buffer, at: number): number {
  return (page[at] as number) + 256 * (page[at + 1] as number);
}

function isPlaceAt(page: Buffer, at: number): boolean {
  return (page[at + 5] as number) >= 0x80;
}

function valueLengthAt(page: Buffer, at: number): number {
  const high = (page[at + 4] as number) + 256 * ((page[at + 5] as number) % 0x80);
  return (page[at + 2] as number) + 256 * (page[at + 3] as number) + 65_536 * high;
}

export function endOfCell(page: Buffer, at: number): number {
  return at + HEADER_BYTES + readKeyLength(page, at) + valueLengthAt(page, at);
}
