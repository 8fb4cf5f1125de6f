/**
 * A file of a backup: lines of JSON, each after a checksum of all lines so far.
 *
 *     9ae0c1f2 {"percolator":"backup","version":1,"from":0,"to":4711,...}     what is in it
 *     03b1a7cc {"table":"accounts","whole":true}                              of which table
 *     5c771e09 {"row":"Bob","column":"bal","value":"$3","commit":8,"start":7} a cell, or a change
 *     ...
 *     77f0d2b4 {"end":3}                                                      how many lines
 *
 * Because a checksum covers all lines before it, a line that is damaged, missing, doubled or moved
 * is noticed at the next one, and a file that was cut off by its missing end. A file has its name
 * only once it is complete and on the disk. Until then its name ends with the timestamp of the
 * backup and `.partial`, so two backups at once write into two files.
 *
 * Values are texts where they are texts, so a backup can be read, and compresses well. Nothing is
 * compressed or encrypted here: other programs do that to files.
 */
import { createReadStream, existsSync } from 'node:fs';
import { type FileHandle, link, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { assert, PercolatorError } from '../base/index.ts';
import type { Timestamp } from '../bigtable/index.ts';
import { codeOf, reasonOf, syncFolder } from '../bigtable/embedded/disk.ts';

const CHECKSUM_DIGITS = 8;
const NEW_LINE = 0x0a;
/** What is written at a time. */
const PIECE_BYTES = 2 ** 18;
/** As for the files of a store: they have the same values. */
const OF_THE_OWNER = 0o600;

export class BackupWriter implements AsyncDisposable {
  readonly #path: string;
  readonly #partial: string;
  readonly #file: FileHandle;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #checksum = 0;
  #lines = 0;

  private constructor(path: string, partial: string, file: FileHandle) {
    this.#path = path;
    this.#partial = partial;
    this.#file = file;
  }

  /**
   * @param to the timestamp of the backup
   * @throws INVALID_ARGUMENT if there is such a file; as all methods, STORE_FULL, STORE_REFUSED or
   *   STORE_UNAVAILABLE for what the disk says
   */
  static async open(path: string, to: Timestamp): Promise<BackupWriter> {
    if (existsSync(path)) throw exists(path);
    const partial = `${path}.${to}.partial`; // chain.ts finds it.
    const file = await onDisk(path, () => open(partial, 'wx', OF_THE_OWNER));
    return new BackupWriter(path, partial, file);
  }

  async write(line: object): Promise<void> {
    const text = Buffer.from(JSON.stringify(line));
    this.#checksum = crc32(text, this.#checksum);
    const checksum = this.#checksum.toString(16).padStart(CHECKSUM_DIGITS, '0');
    this.#pieces.push(Buffer.from(`${checksum} `), text, Buffer.of(NEW_LINE));
    this.#bytes += CHECKSUM_DIGITS + 2 + text.length;
    this.#lines++;
    if (this.#bytes >= PIECE_BYTES) await this.#flush();
  }

  /** Ends the file, and gives it its name; resolves with its size when that is on the disk. */
  async finish(): Promise<number> {
    await this.write({ end: this.#lines });
    await this.#flush();
    return onDisk(this.#path, async () => {
      await this.#file.sync();
      const { size } = await this.#file.stat();
      await this.#file.close();
      await giveName(this.#partial, this.#path);
      await syncFolder(dirname(this.#path));
      return size;
    });
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    await onDisk(this.#path, async () => {
      for (let at = 0; at < bytes.length;) {
        at += (await this.#file.write(bytes, at)).bytesWritten;
      }
    });
  }

  /** Removes what was not finished, and of what was, the other name. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
    await rm(this.#partial, { force: true });
  }
}

/** A link replaces no file. Where the disk knows no links, we look before: that may be too late. */
async function giveName(partial: string, path: string): Promise<void> {
  try {
    await link(partial, path);
  } catch {
    if (existsSync(path)) throw exists(path);
    await rename(partial, path);
  }
}

function exists(path: string): PercolatorError {
  return new PercolatorError('INVALID_ARGUMENT', `${path} exists: a backup replaces no file`);
}

/** @throws STORE_FULL, STORE_REFUSED, STORE_UNAVAILABLE for what the disk says */
export async function onDisk<T>(path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (cause) {
    if (cause instanceof PercolatorError) throw cause;
    const message = `the backup ${path} cannot be written: ${reasonOf(cause)}`;
    throw new PercolatorError(codeOf(cause), message, { cause });
  }
}

/**
 * The lines of a file, without its end, each checked.
 * @throws STORE_DAMAGED in one sentence if the file is damaged, cut off or no backup, when all that
 *   is certain has been read; STORE_REFUSED if it cannot be read
 */
export async function* backupLines(path: string): AsyncGenerator<object> {
  let checksum = 0;
  let lines = 0;
  for await (const bytes of linesOf(path)) {
    const text = bytes.subarray(CHECKSUM_DIGITS + 1);
    checksum = crc32(text, checksum);
    const line = parsed(text);
    const isSound = Number.parseInt(bytes.toString('latin1', 0, CHECKSUM_DIGITS), 16) === checksum;
    if (line === undefined || !isSound) {
      throw damaged(path, `line ${lines + 1} is not what was written: it is damaged, or no backup`);
    }
    if ('end' in line) {
      if (line.end === lines) return;
      throw damaged(path, 'its end is that of another one');
    }
    lines++;
    yield line;
  }
  throw damaged(path, `it has no end: it was cut off after ${lines} lines`);
}

function parsed(text: Buffer): object | undefined {
  try {
    const line: unknown = JSON.parse(text.toString());
    return typeof line === 'object' && line !== null ? line : undefined;
  } catch {
    return undefined;
  }
}

/** Without a last line that has no end. Not by readline, which ends lines at more characters. */
async function* linesOf(path: string): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  for await (const piece of piecesOf(path)) {
    let at = 0;
    for (let end = piece.indexOf(NEW_LINE); end >= 0; end = piece.indexOf(NEW_LINE, at)) {
      yield Buffer.concat([...rest, piece.subarray(at, end)]);
      rest = [];
      at = end + 1;
    }
    if (at < piece.length) rest.push(piece.subarray(at));
  }
}

async function* piecesOf(path: string): AsyncGenerator<Buffer> {
  try {
    for await (const piece of createReadStream(path, { highWaterMark: PIECE_BYTES })) {
      assert(Buffer.isBuffer(piece), 'a stream without an encoding gives bytes');
      yield piece;
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    const message = `the backup ${path} cannot be read: ${error.message}`;
    throw new PercolatorError('STORE_REFUSED', message, { cause: error });
  }
}

function damaged(path: string, why: string): PercolatorError {
  return new PercolatorError('STORE_DAMAGED', `the backup ${path} cannot be used: ${why}`);
}
