/** Reads the groups of one file of the log in order, in pieces of some megabytes. */
import { crc32 } from 'node:zlib';
import { GROUP_BYTES, MAGIC, readGroup, type StoredGroup } from './record.ts';

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
