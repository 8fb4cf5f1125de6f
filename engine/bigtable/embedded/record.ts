/**
 * The bytes of the log: groups of records.
 *
 *     group    magic, checksum, format, store, sequence, base, oldest file, length and checksum of
 *              the records, bytes not synced │ record │ record │ ...
 *     record   checksum, key length, kind, body length, footprint │ key │ body
 *
 * A group is there as a whole or not at all: its header knows the checksum of all its records. A
 * record has a checksum too, because it is later read alone. The checksums of headers and records
 * include their place, so that the right bytes in the wrong place are noticed.
 *
 * A record is either the newest content of a page (page.ts), without a body if the page is gone, or
 * a long value of a page of the same group.
 *
 * The checksum is CRC-32, in zlib, which takes a third of a microsecond for a record of 300 bytes.
 */
import { crc32 } from 'node:zlib';
import { hasCode, PercolatorError } from '../../base/index.ts';
import type { Place } from './leaf.ts';

/** The number of this format. A store is refused if its format is none of those that are read. */
const FORMAT = 2;
/** Format 1 is the same, with each group synced before the next one was written. */
export const FORMATS_READ: readonly number[] = [1, FORMAT];
const MAGIC = 0x50_42_4c_47;
export const GROUP_BYTES = 48;
const RECORD_BYTES = 16;

export type RecordKind = 'page' | 'value';
const KINDS: readonly RecordKind[] = ['page', 'value'];

export interface LogRecord {
  readonly kind: RecordKind;
  readonly key: Buffer;
  readonly body: Buffer;
  /** Bytes of the log that a page keeps in use, as in `Entry`. */
  readonly footprint: number;
  readonly place: Place;
}

/** A position between two groups. */
export interface Mark {
  readonly file: number;
  readonly offset: number;
}

export interface GroupHeader {
  /** A random number that all groups of a store have. */
  readonly store: number;
  /** Counts the groups; without gaps. */
  readonly sequence: number;
  /** Where the group before this one ends. What follows it there does not count. */
  readonly base: Mark;
  /** The oldest file that is still needed when this group is there. */
  readonly oldest: number;
  /** Bytes before this group, in its file, that had not been synced when it was written. */
  readonly unsynced: number;
}

/** A header as it was read. */
export interface StoredGroup extends GroupHeader {
  readonly format: number;
  /** The length of the records, in bytes. */
  readonly length: number;
  readonly checksum: number;
}

/**
 * What a record holds in use, in bytes, with its long values. 32 bits are enough for the cleaner.
 */
export function footprintOf(length: number, valueBytes: number): number {
  return Math.min(length + valueBytes, 2 ** 32 - 1);
}

/** Builds one group after another, in memory that it uses again. */
export class GroupWriter {
  #bytes = Buffer.alloc(1 << 16);
  #end = 0;
  #at: Mark = { file: 0, offset: 0 };

  /** @param at where the group will be written */
  begin(at: Mark): void {
    this.#at = at;
    this.#end = GROUP_BYTES;
  }

  add(kind: RecordKind, key: Buffer, body: Buffer, footprintOfValues: number): Place {
    const length = RECORD_BYTES + key.length + body.length;
    const at = this.#end;
    this.#reserve(at + length);
    const bytes = this.#bytes;
    bytes.writeUInt16LE(key.length, at + 4);
    bytes.writeUInt16LE(KINDS.indexOf(kind), at + 6);
    bytes.writeUInt32LE(body.length, at + 8);
    bytes.writeUInt32LE(footprintOf(length, footprintOfValues), at + 12);
    key.copy(bytes, at + RECORD_BYTES);
    body.copy(bytes, at + RECORD_BYTES + key.length);
    const place = { file: this.#at.file, offset: this.#at.offset + at, length };
    bytes.writeUInt32LE(crc32(bytes.subarray(at + 4, at + length), placeNumber(place)), at);
    this.#end += length;
    return place;
  }

  /** The whole group; valid until the next one begins. */
  finish({ store, sequence, base, oldest, unsynced }: GroupHeader): Buffer {
    const group = this.#bytes.subarray(0, this.#end);
    const records = group.subarray(GROUP_BYTES);
    group.writeUInt32LE(MAGIC, 0);
    group.writeUInt32LE(FORMAT, 8);
    group.writeUInt32LE(store, 12);
    group.writeDoubleLE(sequence, 16);
    group.writeUInt32LE(base.file, 24);
    group.writeUInt32LE(base.offset, 28);
    group.writeUInt32LE(oldest, 32);
    group.writeUInt32LE(records.length, 36);
    group.writeUInt32LE(crc32(records), 40);
    group.writeUInt32LE(unsynced, 44);
    group.writeUInt32LE(crc32(group.subarray(8, GROUP_BYTES), placeNumber(this.#at)), 4);
    return group;
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#bytes.length) return;
    const larger = Buffer.alloc(Math.max(bytes, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }
}

/** The header of the group at this place; undefined if it is not intact. */
function readGroup(bytes: Buffer, at: Mark): StoredGroup | undefined {
  if (bytes.length < GROUP_BYTES || bytes.readUInt32LE(0) !== MAGIC) return undefined;
  const checksum = crc32(bytes.subarray(8, GROUP_BYTES), placeNumber(at));
  if (checksum !== bytes.readUInt32LE(4)) return undefined;
  return {
    format: bytes.readUInt32LE(8),
    store: bytes.readUInt32LE(12),
    sequence: bytes.readDoubleLE(16),
    base: { file: bytes.readUInt32LE(24), offset: bytes.readUInt32LE(28) },
    oldest: bytes.readUInt32LE(32),
    length: bytes.readUInt32LE(36),
    checksum: bytes.readUInt32LE(40),
    unsynced: bytes.readUInt32LE(44),
  };
}

/** The records of a group whose checksum was right. */
export function* recordsOf(records: Buffer, first: Mark): Generator<LogRecord> {
  for (let at = 0; at < records.length;) {
    const record = recordAt(records, at, first);
    yield record;
    at += record.place.length;
  }
}

/** @param first where the bytes begin in the log */
export function recordAt(bytes: Buffer, at: number, first: Mark): LogRecord {
  const keyEnd = at + RECORD_BYTES + bytes.readUInt16LE(at + 4);
  const end = keyEnd + bytes.readUInt32LE(at + 8);
  return {
    kind: KINDS[bytes.readUInt16LE(at + 6)] ?? 'page',
    key: bytes.subarray(at + RECORD_BYTES, keyEnd),
    body: bytes.subarray(keyEnd, end),
    footprint: bytes.readUInt32LE(at + 12),
    place: { file: first.file, offset: first.offset + at, length: end - at },
  };
}

/** The length of what may be a record at `at`; undefined if it is none. */
export function recordLength(bytes: Buffer, at: number): number | undefined {
  if (at + RECORD_BYTES > bytes.length) return undefined;
  if (bytes.readUInt16LE(at + 6) >= KINDS.length) return undefined;
  return RECORD_BYTES + bytes.readUInt16LE(at + 4) + bytes.readUInt32LE(at + 8);
}

/** The body of the record of this length at `at`. */
export function bodyOf(bytes: Buffer, at: number, length: number): Buffer {
  return bytes.subarray(at + RECORD_BYTES + bytes.readUInt16LE(at + 4), at + length);
}

export function isIntact(record: Buffer, place: Place): boolean {
  return record.readUInt32LE(0) === crc32(record.subarray(4), placeNumber(place));
}

/** What a checksum starts from: another number for another place. */
function placeNumber({ file, offset }: Mark): number {
  return (Math.imul(file, 0x9e37_79b1) ^ offset) >>> 0;
}

/** If it is not the damage of one row, the store cannot be opened. */
const GO_ON = 'restore the folder from a backup';

/** The one sentence about a damaged file. */
export function damaged(file: string, offset: number, what: string): PercolatorError {
  const message = `the embedded store is damaged: ${file}, byte ${offset}: ${what}; ${GO_ON}`;
  return new PercolatorError('STORE_DAMAGED', message);
}

/** What is damaged, for a sentence that says on its own how to go on. */
export function withoutAdvice(message: string): string {
  return message.replace(`; ${GO_ON}`, '');
}

/** The error of one who asked for this row: fsck goes on after a damaged row that is named. */
export function naming(table: string, row: string, error: unknown): unknown {
  if (!hasCode(error, 'STORE_DAMAGED') || error.damagedRow !== undefined) return error;
  const why = withoutAdvice(error.message);
  const message = `row ${JSON.stringify(row)} of table ${table} cannot be read: ${why}; fsck lists what can still be read`;
  const damagedRow = { table, row, why };
  return new PercolatorError('STORE_DAMAGED', message, { cause: error, damagedRow });
}

export function nameOfLog(file: number): string {
  return `${String(file).padStart(10, '0')}.log`;
}

/* Reads the groups of one file of the log in order, in pieces of some megabytes. */

const PIECE_BYTES = 4 * 2 ** 20;

export interface FoundGroup extends StoredGroup {
  /** Where the group begins in the file. */
  readonly offset: number;
  readonly records: Buffer;
}

export interface FileRange {
  readonly file: number;
  readonly from: number;
  readonly end: number;
}

export class GroupReader {
  readonly file: number;
  readonly #read: (target: Buffer, offset: number) => void;
  readonly #end: number;
  #offset: number;
  /** A part of the file, and where it begins. */
  #piece = Buffer.alloc(0);
  #pieceAt = 0;

  /** @param read fills the target with what is at the offset */
  constructor({ file, from, end }: FileRange, read: (target: Buffer, offset: number) => void) {
    this.file = file;
    this.#read = read;
    this.#offset = from;
    this.#end = end;
  }

  /** Where the next group begins. */
  get offset(): number {
    return this.#offset;
  }

  /** The header of the next group, if it is intact. */
  header(): StoredGroup | undefined {
    const bytes = Buffer.alloc(Math.max(0, Math.min(GROUP_BYTES, this.#end - this.#offset)));
    this.#read(bytes, this.#offset);
    return readGroup(bytes, { file: this.file, offset: this.#offset });
  }

  /** The next group; undefined if there is no intact one. */
  next(): FoundGroup | undefined {
    const offset = this.#offset;
    const header = readGroup(this.#bytes(offset, GROUP_BYTES), { file: this.file, offset });
    if (header === undefined) return undefined;
    const records = this.#bytes(offset + GROUP_BYTES, header.length);
    if (records.length < header.length || crc32(records) !== header.checksum) return undefined;
    this.#offset = offset + GROUP_BYTES + header.length;
    return { ...header, offset, records };
  }

  /**
   * Whether a later group says that the group at `offset` was on the disk before the later one was
   * written. Then an intact group was there once.
   */
  wasSynced(offset: number): boolean {
    for (const { at, header } of this.#headersAfter(offset)) {
      if (at - header.unsynced > offset) return true;
    }
    return false;
  }

  /** Passes over what is no intact group, and returns where the next one may begin. */
  skip(): number {
    const offset = this.#offset;
    const header = this.header();
    const next = this.#headersAfter(offset).next().value?.at ?? this.#end;
    const isHere = header !== undefined && offset + GROUP_BYTES + header.length <= this.#end;
    this.#offset = isHere ? offset + GROUP_BYTES + header.length : next;
    return this.#offset;
  }

  /** The bytes from `offset` on, in memory of their own; fewer at the end of the range. */
  copy(offset: number, length: number): Buffer {
    return Buffer.from(this.#bytes(offset, length));
  }

  *#headersAfter(offset: number): Generator<{ readonly at: number; readonly header: StoredGroup }> {
    const magic = Buffer.alloc(4);
    magic.writeUInt32LE(MAGIC);
    for (let from = offset + 1; from < this.#end; from += PIECE_BYTES) {
      const piece = this.#bytes(from, PIECE_BYTES + GROUP_BYTES);
      for (let i = piece.indexOf(magic); i >= 0; i = piece.indexOf(magic, i + 1)) {
        const at = from + i;
        const header = readGroup(piece.subarray(i), { file: this.file, offset: at });
        if (header !== undefined) yield { at, header };
      }
    }
  }

  /** The bytes from `offset` on; fewer at the end of the range. */
  #bytes(offset: number, length: number): Buffer {
    const end = Math.min(offset + length, this.#end);
    if (offset < this.#pieceAt || end > this.#pieceAt + this.#piece.length) {
      const size = Math.min(Math.max(length, PIECE_BYTES), this.#end - offset);
      this.#piece = Buffer.allocUnsafe(Math.max(0, size));
      this.#pieceAt = offset;
      this.#read(this.#piece, offset);
    }
    return this.#piece.subarray(offset - this.#pieceAt, Math.max(offset, end) - this.#pieceAt);
  }
}
