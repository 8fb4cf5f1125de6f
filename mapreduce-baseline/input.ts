/**
 * The input of a job: files, cut into splits, from which map tasks read records.
 *
 * An input is a range of bytes of a file of lines. It is cut anywhere, without reading it: the
 * reader of a split makes this right (see below). Small inputs are put together into one task, so
 * that a thousand small files do not cost a thousand tasks.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { type FileHandle, open, readdir, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { Slice } from './bytes.ts';
import { MapReduceError } from './job.ts';

/** A file of newline-delimited records, or a part of one. */
export interface Input {
  readonly path: string;
  /** First byte. Default 0. The records taken are those that begin in `start <= position < end`. */
  readonly start?: number | undefined;
  /**
   * Byte after the last. Default: the size of the file now, or, for an engine outside this process,
   * the size when that engine reads the file. Name the end if the file is being appended to.
   */
  readonly end?: number | undefined;
}

/** A piece of an input; the task that has it takes the records that begin in it. */
export interface Split {
  readonly path: string;
  readonly start: number;
  readonly end: number;
}

/** The work of one map task. */
export type TaskInput = readonly Split[];

/** Cuts the inputs into tasks of about `splitBytes`, in the order of the inputs. */
export function planTaskInputs(inputs: readonly Split[], splitBytes: number): TaskInput[] {
  const tasks: Split[][] = [];
  let room = 0;
  for (const { path, start, end } of inputs) {
    for (let position = start; position < end;) {
      if (room === 0) {
        tasks.push([]);
        room = splitBytes;
      }
      const next = Math.min(end, position + room);
      tasks.at(-1)?.push({ path, start: position, end: next });
      room -= next - position;
      position = next;
    }
  }
  return tasks;
}

/** Fills in the defaults of the inputs and refuses ranges that the files do not have. */
export async function resolveInputs(inputs: readonly Input[]): Promise<Split[]> {
  return Promise.all(inputs.map(resolveInput));
}

/** @throws INVALID_ARGUMENT if there is no such file, it is no regular file, or it is shorter */
export async function resolveInput({ path, start = 0, end }: Input): Promise<Split> {
  const size = await fileSize(path);
  const split = { path, start, end: end ?? size };
  const inFile = start >= 0 && start <= split.end && split.end <= size;
  if (inFile && Number.isSafeInteger(start) && Number.isSafeInteger(split.end)) return split;
  throw new MapReduceError(
    'INVALID_ARGUMENT',
    `input ${path}: the range ${start}-${split.end} is not within its ${size} bytes`,
  );
}

async function fileSize(path: string): Promise<number> {
  const found = await stat(path).catch((cause: unknown) => {
    throw new MapReduceError('INVALID_ARGUMENT', `input ${path} cannot be read`, { cause });
  });
  // The size of a pipe is 0, whatever is in it.
  if (found.isFile()) return found.size;
  throw new MapReduceError('INVALID_ARGUMENT', `input ${path} is not a regular file`);
}

/*
 * What counts as input, the same with every engine. For files of this machine, the rules are:
 *
 * 1. A folder stands for its files in the order of their names, also for those to which its links
 *    lead. Names that begin with `_` or `.`, such as _SUCCESS and .part-00000.crc, are hidden: what
 *    writes a folder notes there what is no record. A folder in it is refused.
 * 2. A file whose name ends in .gz is unpacked before the run. Hadoop and Spark would unpack others
 *    by their names, too, and our own runner would take the packed bytes for lines: they are refused.
 *
 * A file that is named, and not found in a folder, is never hidden. A URI is the engine's own.
 */

const HIDDEN = /^[_.]/;
const PACKED = /\.(?:bz2|deflate|lz4|snappy|zst)$/;

/** Whether the path names a file of a file system other than this machine's. */
export function isUri(path: string): boolean {
  return path.includes('://');
}

/**
 * The files of a folder.
 * @throws INVALID_ARGUMENT if it has none, or has a folder or a link that leads nowhere: without
 *   their lines the result would be wrong
 */
export async function filesOf(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => !HIDDEN.test(name)).toSorted();
  const files = names.map((name) => join(folder, name));
  if (files.length === 0) throw unusable(`${folder} is a folder without files`);
  for (const file of files) {
    const found = await stat(file).catch(() => undefined);
    if (found === undefined) {
      throw unusable(`${file} is a link to ${await readlink(file)}, which does not exist`);
    }
    if (found.isDirectory()) {
      throw unusable(`${file} is a folder in a folder: name the files instead`);
    }
    if (!found.isFile()) throw unusable(`${file} is not a regular file`);
  }
  return files;
}

/**
 * The inputs with packed files replaced by unpacked ones, which are in `folder` and end with it.
 * @throws INVALID_ARGUMENT
 */
export async function unpackedInputs(
  inputs: readonly Input[],
  folder: string,
  signal?: AbortSignal,
): Promise<Input[]> {
  const unpacked: Input[] = [];
  for (const [i, input] of inputs.entries()) {
    const to = join(folder, `unpacked-${i}`);
    unpacked.push(isPacked(input) ? { path: await unpack(input.path, to, signal) } : input);
  }
  return unpacked;
}

/** Whether an input must be unpacked. @throws INVALID_ARGUMENT if it cannot be */
function isPacked({ path, start = 0, end }: Input): boolean {
  if (isUri(path)) return false;
  if (PACKED.test(path)) throw unusable(`${path} is packed, and only .gz is unpacked: unpack it`);
  if (!path.endsWith('.gz')) return false;
  if (start === 0 && end === undefined) return true;
  throw unusable(`${path} is packed, so a part of it cannot be an input`);
}

async function unpack(from: string, to: string, signal: AbortSignal | undefined): Promise<string> {
  try {
    await pipeline(createReadStream(from), createGunzip(), createWriteStream(to), { signal });
    return to;
  } catch (cause) {
    signal?.throwIfAborted();
    const { message, code = '' } = cause as NodeJS.ErrnoException;
    if (!code.startsWith('Z_')) throw cause;
    throw unusable(`${from} cannot be unpacked: ${message}`, cause);
  }
}

function unusable(reason: string, cause?: unknown): MapReduceError {
  return new MapReduceError('INVALID_ARGUMENT', reason, { cause });
}

/*
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
