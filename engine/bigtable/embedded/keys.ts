/**
 * Encodes cells as lmdb keys, so that the order of the bytes is the order of the cells.
 *
 *     table id   row           end    family   qualifier     end    newest first
 *     4 bytes    UTF-8, 00→00FF 00 01  1 byte   UTF-8, 00→00FF 00 01  8 bytes of 2^53-1 - timestamp
 *
 * The end mark 00 01 sorts before any longer row with the same beginning (a zero byte inside a row
 * is written 00 FF), so "a" < "a\0" < "aa" holds for the encoded keys too. The timestamp is
 * inverted, so the first key at or after (column, t) is the newest version that is not above t.
 */
import { assert, PercolatorError } from '../../base/index.ts';
import { TIMESTAMP_MAX, type Timestamp } from '../bigtable.ts';

/** The maximum key length of lmdb with pages of 8 KB or more. */
export const KEY_BYTES_MAX = 4026;

const TABLE_BYTES = 4;
const TIMESTAMP_BYTES = 8;
const FAMILY_BYTES = 1;
const END = Uint8Array.of(0, 1);

/** The bytes before the row: the table. */
export function tablePrefix(tableId: number): Buffer {
  const prefix = Buffer.allocUnsafe(TABLE_BYTES);
  prefix.writeUInt32BE(tableId, 0);
  return prefix;
}

/** The common prefix of the keys of one row, up to and including the row's end mark. */
export function rowPrefix(table: Buffer, row: string): Buffer {
  return appendPart(table, row);
}

/** Where a scan from `row` starts: before any of its cells. */
export function rowStart(table: Buffer, row: string): Buffer {
  return Buffer.concat([table, escape(row)]);
}

/**
 * The end of a prefix: the first bound after every key that begins with `prefix`, which is the
 * prefix counted up by one. No longer than the prefix, since lmdb refuses bounds longer than its
 * keys.
 */
export function prefixEnd(prefix: Buffer): Buffer {
  let last = prefix.length - 1;
  while (prefix[last] === 0xff) last--;
  assert(last >= 0, 'a prefix has a byte that can be counted up');
  const bound = Buffer.from(prefix.subarray(0, last + 1));
  bound[last] = (bound[last] ?? 0) + 1;
  return bound;
}

/**
 * The bound, short enough for lmdb. A bound longer than every key may be cut: a key equal to the
 * cut bound would have to end inside a row or a column, and none does.
 */
export function cut(bound: Buffer): Buffer {
  return bound.length > KEY_BYTES_MAX ? bound.subarray(0, KEY_BYTES_MAX) : bound;
}

/** The common prefix of the keys of one family of one row. */
export function familyPrefix(row: Buffer, familyId: number): Buffer {
  const prefix = Buffer.allocUnsafe(row.length + FAMILY_BYTES);
  row.copy(prefix);
  prefix[row.length] = familyId;
  return prefix;
}

/** The common prefix of the keys of one column of one row. */
export function columnPrefix(family: Buffer, qualifier: string): Buffer {
  return appendPart(family, qualifier);
}

/** The part of a column's keys between the row and the timestamp. */
export function columnPart(familyId: number, qualifier: string): Buffer {
  return appendPart(Buffer.of(familyId), qualifier);
}

/**
 * Whether a key, whose row prefix has `prefixLength` bytes, belongs to the column with this part.
 */
export function isOfColumn(key: Buffer, prefixLength: number, part: Buffer): boolean {
  if (key.length !== prefixLength + part.length + TIMESTAMP_BYTES) return false;
  for (let i = 0; i < part.length; i++) {
    if (key[prefixLength + i] !== part[i]) return false;
  }
  return true;
}

/** Whether two keys of one row belong to one column. */
export function isSameColumn(key: Buffer, other: Buffer, prefixLength: number): boolean {
  if (key.length !== other.length) return false;
  for (let i = prefixLength; i < key.length - TIMESTAMP_BYTES; i++) {
    if (key[i] !== other[i]) return false;
  }
  return true;
}

/** The key of one version. */
export function cellKey(column: Buffer, timestamp: Timestamp): Buffer {
  const length = column.length + TIMESTAMP_BYTES;
  const key = Buffer.allocUnsafe(length);
  column.copy(key);
  const inverted = TIMESTAMP_MAX - timestamp;
  key.writeUInt32BE(Math.floor(inverted / 2 ** 32), length - 8);
  key.writeUInt32BE(inverted % 2 ** 32, length - 4);
  return key;
}

export function timestampOf(key: Buffer): Timestamp {
  const { length } = key;
  return TIMESTAMP_MAX - (key.readUInt32BE(length - 8) * 2 ** 32 + key.readUInt32BE(length - 4));
}

/** The row prefix of a key. */
export function rowPrefixOf(key: Buffer): Buffer {
  return key.subarray(0, endOfPart(key, TABLE_BYTES) + END.length);
}

/** The row with this key prefix. */
export function rowOfPrefix(prefix: Buffer): string {
  return unescape(prefix.subarray(TABLE_BYTES, prefix.length - END.length));
}

/** Whether a key belongs to the row with this prefix. */
export function isOfRow(key: Buffer, prefix: Buffer): boolean {
  // Backwards: keys of one table that differ do so near the end of the row.
  for (let i = prefix.length - 1; i >= 0; i--) {
    if (key[i] !== prefix[i]) return false;
  }
  return true;
}

/** The family and qualifier of a key whose row prefix has `prefixLength` bytes. */
export function splitColumn(
  key: Buffer,
  prefixLength: number,
): { readonly familyId: number; readonly qualifier: string } {
  const start = prefixLength + FAMILY_BYTES;
  const end = key.length - TIMESTAMP_BYTES - END.length;
  return { familyId: key[prefixLength] ?? -1, qualifier: unescape(key.subarray(start, end)) };
}

/** @throws INVALID_ARGUMENT if a cell of this row and column would have too long a key for lmdb */
export function checkKeyLength(row: string, qualifier: string): void {
  // No character takes more than three bytes, and that is usually proof enough.
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

/** `before`, the part and its end mark, in one buffer: every read builds several of these. */
function appendPart(before: Buffer, part: string): Buffer {
  if (part.includes('\0')) return Buffer.concat([before, escape(part), END]);
  const end = before.length + Buffer.byteLength(part);
  const key = Buffer.allocUnsafe(end + END.length);
  before.copy(key);
  key.write(part, before.length);
  key.set(END, end);
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
