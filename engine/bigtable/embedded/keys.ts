/**
 * Encodes rows and cells as bytes, so that the order of the bytes is the order of the cells.
 *
 *     ┌──────────── row ─────────────┐┌─────────────── cell ─────────────────────┐
 *     table id   row            end    family   qualifier      end   newest first
 *     4 bytes    UTF-8, 00→00FF 00 01  1 byte   UTF-8, 00→00FF 00 01 8 bytes of 2^53-1 - timestamp
 *
 * The end mark 00 01 sorts before any longer row with the same beginning (a zero byte inside a row
 * is written 00 FF), so "a" < "a\0" < "aa" holds for the encoded keys too. The timestamp is
 * inverted, so the newest version of a column comes first.
 */
import { assert, PercolatorError } from '../../base/index.ts';
import { TIMESTAMP_MAX, type Timestamp } from '../bigtable.ts';

/**
 * A longer key would leave too few keys in a leaf of the index, which holds four of this length.
 */
export const KEY_BYTES_MAX = 4026;

const TABLE_BYTES = 4;
const TIMESTAMP_BYTES = 8;
const FAMILY_BYTES = 1;
const END = Uint8Array.of(0, 1);

/** By the table's id. */
const tablePrefixes: Buffer[] = [];

/** The bytes before the row: the table. */
export function tablePrefix(tableId: number): Buffer {
  const known = tablePrefixes[tableId];
  if (known !== undefined) return known;
  const prefix = Buffer.alloc(TABLE_BYTES);
  prefix.writeUInt32BE(tableId, 0);
  tablePrefixes[tableId] = prefix;
  return prefix;
}

export function rowKey(table: Buffer, row: string): Buffer {
  return appendPart(table, row);
}

/** Where a scan from `row` starts: before any of its cells. */
export function rowStart(table: Buffer, row: string): Buffer {
  return Buffer.concat([table, escape(row)]);
}

/** The first bound after every key that begins with `prefix`: the prefix counted up by one. */
export function prefixEnd(prefix: Buffer): Buffer {
  let last = prefix.length - 1;
  while (prefix[last] === 0xff) last--;
  assert(last >= 0, 'a prefix has a byte that can be counted up');
  const bound = Buffer.from(prefix.subarray(0, last + 1));
  bound[last] = (bound[last] ?? 0) + 1;
  return bound;
}

/** Two keys in one. `Buffer.concat` takes three times as long. */
export function joined(a: Buffer, b: Buffer): Buffer {
  const both = Buffer.allocUnsafe(a.length + b.length);
  a.copy(both);
  b.copy(both, a.length);
  return both;
}

/** The row at the beginning of a key, after which the key may name a cell. */
export function rowKeyOf(key: Buffer): Buffer {
  return key.subarray(0, endOfPart(key, TABLE_BYTES) + END.length);
}

export function tableIdOf(key: Buffer): number {
  return key.readUInt32BE(0);
}

export function rowOf(key: Buffer): string {
  return textAt(key, TABLE_BYTES, key.length - END.length);
}

/** Keys of columns by family, made once, because every operation names some columns. */
const columnKeys: Map<string, Buffer>[] = [];
const COLUMN_KEYS_MAX = 1_000;

/** The beginning of the cells of one column. */
export function columnKey(familyId: number, qualifier: string): Buffer {
  const known = (columnKeys[familyId] ??= new Map<string, Buffer>());
  const key = known.get(qualifier);
  if (key !== undefined) return key;
  if (known.size >= COLUMN_KEYS_MAX) known.clear();
  const made = appendPart(Buffer.of(familyId), qualifier);
  known.set(qualifier, made);
  return made;
}

export function cellKey(column: Buffer, timestamp: Timestamp): Buffer {
  const key = Buffer.allocUnsafe(cellKeyLength(column));
  writeCellKey(key, 0, column, timestamp);
  return key;
}

/** The length of the key of each cell of the column, in bytes. */
export function cellKeyLength(column: Buffer): number {
  return column.length + TIMESTAMP_BYTES;
}

export function writeCellKey(
  bytes: Buffer,
  at: number,
  column: Buffer,
  timestamp: Timestamp,
): void {
  const end = at + column.length;
  const inverted = TIMESTAMP_MAX - timestamp;
  bytes.set(column, at);
  bytes.writeUInt32BE(Math.floor(inverted / 2 ** 32), end);
  bytes.writeUInt32BE(inverted % 2 ** 32, end + 4);
}

/** The timestamp of the cell whose key ends at `end`. */
export function timestampAt(bytes: Buffer, end: number): Timestamp {
  return TIMESTAMP_MAX - (bytes.readUInt32BE(end - 8) * 2 ** 32 + bytes.readUInt32BE(end - 4));
}

/** The qualifier of the cell whose key is in these bytes. */
export function qualifierAt(bytes: Buffer, start: number, end: number): string {
  return textAt(bytes, start + FAMILY_BYTES, end - TIMESTAMP_BYTES - END.length);
}

/** The end of a qualifier, for `endsWith`. */
export function suffixBytes(suffix: string): Buffer {
  return escape(suffix);
}

/**
 * Whether the qualifier of the cell whose key is in these bytes ends with `suffix`. It is enough to
 * compare bytes: no character's bytes are the end of another one's.
 */
export function endsWith(bytes: Buffer, start: number, end: number, suffix: Buffer): boolean {
  const at = end - TIMESTAMP_BYTES - END.length - suffix.length;
  if (at < start + FAMILY_BYTES) return false;
  for (let i = suffix.length - 1; i >= 0; i--) {
    if (bytes[at + i] !== suffix[i]) return false;
  }
  return true;
}

/** The column of the cell whose key is in these bytes. */
export function columnAt(bytes: Buffer, start: number, end: number): Buffer {
  return bytes.subarray(start, end - TIMESTAMP_BYTES);
}

/** Whether the cell key from `start` to `end` is of the column. */
export function isOfColumn(bytes: Buffer, start: number, end: number, column: Buffer): boolean {
  if (end - start !== column.length + TIMESTAMP_BYTES) return false;
  // Backwards: columns of one row often begin alike.
  for (let i = column.length - 1; i >= 0; i--) {
    if (bytes[start + i] !== column[i]) return false;
  }
  return true;
}

/** @throws INVALID_ARGUMENT if a cell of this row and column would have too long a key */
export function checkKeyLength(row: string, qualifier: string): void {
  // No UTF-16 unit takes more than three bytes, and that is usually proof enough.
  const fixed = TABLE_BYTES + 2 * END.length + FAMILY_BYTES + TIMESTAMP_BYTES;
  if (3 * (row.length + qualifier.length) + fixed <= KEY_BYTES_MAX) return;
  const bytes = fixed + escape(row).length + escape(qualifier).length;
  if (bytes > KEY_BYTES_MAX) {
    throw new PercolatorError(
      'INVALID_ARGUMENT',
      `the key of row ${JSON.stringify(row.slice(0, 40))}... and column ${JSON.stringify(qualifier.slice(0, 40))} ` +
        `has ${bytes} bytes; the embedded store takes keys of at most ${KEY_BYTES_MAX} bytes`,
    );
  }
}

/** `before`, the part and its end mark, in one buffer: every operation builds one of these. */
function appendPart(before: Buffer, part: string): Buffer {
  const key = Buffer.allocUnsafe(before.length + part.length + END.length);
  let at = 0;
  while (at < before.length) key[at] = before[at++] as number;
  for (let i = 0; i < part.length; i++) {
    const code = part.charCodeAt(i);
    // Most keys have only characters that are one byte each, and not zero.
    if (code === 0 || code > 0x7f) return Buffer.concat([before, escape(part), END]);
    key[at++] = code;
  }
  key[at] = 0;
  key[at + 1] = 1;
  return key;
}

/** UTF-8 with every zero byte followed by FF, so that the end mark cannot occur inside. */
function escape(part: string): Buffer {
  const bytes = Buffer.from(part, 'utf8');
  if (!bytes.includes(0)) return bytes;
  const escaped: number[] = [];
  for (const byte of bytes) {
    escaped.push(byte);
    if (byte === 0) escaped.push(0xff);
  }
  return Buffer.from(escaped);
}

/** The text of a part. Most parts are ASCII without zeroes, which one call decodes. */
function textAt(bytes: Buffer, start: number, end: number): string {
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    if (byte === 0 || byte > 0x7f) return unescape(bytes.subarray(start, end));
  }
  return bytes.toString('latin1', start, end);
}

function unescape(part: Buffer): string {
  const text = part.toString('utf8');
  if (!part.includes(0)) return text;
  const bytes = [...part].filter((_, i) => i === 0 || part[i - 1] !== 0);
  return Buffer.from(bytes).toString('utf8');
}

/** The index of the end mark of the part that begins at `start`. */
function endOfPart(key: Buffer, start: number): number {
  let zero = key.indexOf(0, start);
  while (key[zero + 1] !== 1) zero = key.indexOf(0, zero + 2);
  return zero;
}
