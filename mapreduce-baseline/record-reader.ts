/**
 * Reading the records of a split.
 *
 * Splits are cut at any byte, so most begin and end inside a record. A split takes the records that
 * begin in it:
 *
 *     file    aaaaaaaa\nbbbbbbb\ncccccccc\nddd\n
 *     split           |-----------|                  takes b and c: it skips the rest of a, and
 *                                                    reads on to the end of c
 *
 * 1. A split that does not begin the file starts one byte early and drops everything up to the
 *    first newline. (One byte early, because a record that begins exactly at `start` belongs to it:
 *    the newline before it is then the one found.)
 * 2. It ends after the first newline at or after its last byte: that record began before `end`.
 *
 * So neighbouring splits lose nothing and repeat nothing, wherever they are cut.
 *
 * Reading overlaps with computing: while a block is worked on, the next is on its way into the
 * other of two buffers. The piece of a record at the end of a block is copied in front of the next
 * one, into space kept free there, so that a record is always in one piece.
 */
import { open, type FileHandle } from 'node:fs/promises';
import { Slice } from './bytes.ts';
import { MapReduceError } from './errors.ts';
import type { Split } from './input-splits.ts';

const NEWLINE = 0x0a;
/** Space before each block for the piece of a record left over from the one before. */
const CARRY_BYTES = 64 * 1024;
/** Bytes per read after the end of a split, where only the end of one record is needed. */
const TAIL_BYTES = 64 * 1024;
/** A line longer than this is more likely a file of another kind than a record. */
const RECORD_BYTES_MAX = 512 * 1024 * 1024;

/** Calls `visit` with each record of a block, without its newline. */
export function forEachRecord(block: Slice, visit: (record: Slice) => void): void {
  const { bytes, end } = block;
  const record = new Slice();
  for (let start = block.start; start < end;) {
    const newline = bytes.indexOf(NEWLINE, start);
    const recordEnd = newline === -1 || newline >= end ? end : newline;
    visit(record.point(bytes, start, recordEnd));
    start = recordEnd + 1;
  }
}

/**
 * Yields the records of the split in blocks of whole records. A block is valid until the next one.
 */
export async function* readRecordBlocks(split: Split, blockBytes: number): AsyncGenerator<Slice> {
  const file = await open(split.path);
  try {
    const reader = new BlockReader(file, split, blockBytes);
    for (;;) {
      const block = await reader.next();
      if (block === undefined) return;
      if (block.length > 0) yield block;
    }
  } finally {
    await file.close();
  }
}

/** One filled buffer: the bytes read lie from `CARRY_BYTES` on. */
interface Block {
  readonly buffer: Buffer;
  readonly bytesRead: number;
}

class BlockReader {
  readonly #file: FileHandle;
  readonly #split: Split;
  readonly #buffers: [Buffer, Buffer];
  readonly #block = new Slice();
  /** The bytes after the last newline of the block handed out last, in that block's buffer. */
  readonly #carry = new Slice();
  /** Where in the file the bytes read so far end. */
  #position: number;
  #ahead: Promise<Block>;
  #skipping: boolean;
  #finished = false;

  constructor(file: FileHandle, split: Split, blockBytes: number) {
    this.#file = file;
    this.#split = split;
    const size = CARRY_BYTES + Math.max(blockBytes, TAIL_BYTES);
    this.#buffers = [Buffer.allocUnsafeSlow(size), Buffer.allocUnsafeSlow(size)];
    this.#skipping = split.start > 0;
    this.#position = Math.max(split.start - 1, 0);
    this.#ahead = this.#readAhead();
  }

  /** The next block of whole records, perhaps empty; undefined at the end of the split. */
  async next(): Promise<Slice | undefined> {
    if (this.#finished) return undefined;
    const { buffer, bytesRead } = await this.#ahead;
    const block = this.#joinCarry(buffer, bytesRead);
    this.#position += bytesRead;
    if (bytesRead === 0) {
      this.#finished = true; // The file ends without a newline: what is left is its last record.
      return this.#skipping ? undefined : block;
    }
    const last = this.#position >= this.#split.end;
    if (!last) this.#ahead = this.#readAhead();
    if (this.#skipping && !this.#skipForeignRecord(block)) {
      this.#finished = last; // No record begins in this block; if it is the last one, in none.
      return block.point(buffer, 0, 0);
    }
    return last ? this.#cutAtEndOfSplit(block) : this.#cutAtLastNewline(block);
  }

  /** Starts reading the next block into the buffer that is not being worked on. */
  async #readAhead(): Promise<Block> {
    this.#buffers.reverse();
    const buffer = this.#buffers[0];
    const wanted = this.#split.end - this.#position;
    const room = buffer.length - CARRY_BYTES;
    const length = wanted > 0 ? Math.min(wanted, room) : TAIL_BYTES;
    const { bytesRead } = await this.#file.read(buffer, CARRY_BYTES, length, this.#position);
    return { buffer, bytesRead };
  }

  /** Puts the piece left over in front of the bytes just read. */
  #joinCarry(buffer: Buffer, bytesRead: number): Slice {
    const { bytes, start, end, length } = this.#carry;
    if (length <= CARRY_BYTES) {
      bytes.copy(buffer, CARRY_BYTES - length, start, end);
      return this.#block.point(buffer, CARRY_BYTES - length, CARRY_BYTES + bytesRead);
    }
    if (length > RECORD_BYTES_MAX) {
      const where = `${this.#split.path} has a record of more than ${RECORD_BYTES_MAX} bytes`;
      throw new MapReduceError('RECORD_INVALID', `${where} before position ${this.#position}`);
    }
    const joined = Buffer.allocUnsafeSlow(length + bytesRead);
    bytes.copy(joined, 0, start, end);
    buffer.copy(joined, length, CARRY_BYTES, CARRY_BYTES + bytesRead);
    return this.#block.point(joined, 0, joined.length);
  }

  /** Drops the rest of the record that began before the split; false if it does not end here. */
  #skipForeignRecord(block: Slice): boolean {
    const newline = block.bytes.indexOf(NEWLINE, block.start);
    if (newline === -1 || newline >= block.end) return false;
    const newlinePosition = this.#position - (block.end - newline);
    if (newlinePosition >= this.#split.end - 1) return false;
    block.start = newline + 1;
    this.#skipping = false;
    return true;
  }

  #cutAtLastNewline(block: Slice): Slice {
    const newline = block.bytes.lastIndexOf(NEWLINE, block.end - 1);
    const cut = Math.max(newline + 1, block.start);
    this.#carry.point(block.bytes, cut, block.end);
    block.end = cut;
    return block;
  }

  /**
   * The last record is the one that holds the split's last byte; if its end is not here, read on.
   */
  #cutAtEndOfSplit(block: Slice): Slice {
    const lastByte = block.end - (this.#position - (this.#split.end - 1));
    const newline = block.bytes.indexOf(NEWLINE, Math.max(lastByte, block.start));
    if (newline !== -1 && newline < block.end) {
      this.#finished = true;
      block.end = newline + 1;
      return block;
    }
    this.#carry.point(block.bytes, block.start, block.end);
    this.#ahead = this.#readAhead();
    block.end = block.start;
    return block;
  }
}
