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
 * only once it is complete and on the disk; until then it ends with `.partial`.
 *
 * Values are texts where they are texts, so a backup can be read, and compresses well. Nothing is
 * compressed or encrypted here: other programs do that to files.
 */
import { createReadStream, existsSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { assert, PercolatorError } from '../base/index.ts';

const CHECKSUM_DIGITS = 8;
const NEW_LINE = 0x0a;
/** What is written at a time. */
const PIECE_BYTES = 2 ** 18;

export class BackupWriter implements AsyncDisposable {
  readonly #path: string;
  readonly #file: FileHandle;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #checksum = 0;
  #lines = 0;
  #isFinished = false;

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  /** @throws INVALID_ARGUMENT if there is such a file */
  static async open(path: string): Promise<BackupWriter> {
    if (existsSync(path)) {
      throw new PercolatorError('INVALID_ARGUMENT', `${path} exists: a backup replaces no file`);
    }
    return new BackupWriter(path, await open(`${path}.partial`, 'w'));
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
    await this.#file.sync();
    const { size } = await this.#file.stat();
    await this.#file.close();
    await rename(`${this.#path}.partial`, this.#path);
    await syncFolder(dirname(this.#path));
    this.#isFinished = true;
    return size;
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    for (let at = 0; at < bytes.length;) {
      at += (await this.#file.write(bytes, at)).bytesWritten;
    }
  }

  /** Removes what was not finished. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isFinished) return;
    await this.#file.close();
    await rm(`${this.#path}.partial`, { force: true });
  }
}

/** So that the name is on the disk, too. Windows has no such thing. */
async function syncFolder(folder: string): Promise<void> {
  try {
    await using handle = await open(folder, 'r');
    await handle.sync();
  } catch (error) {
    if (!['EPERM', 'EISDIR', 'EINVAL'].includes(codeOf(error))) throw error;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
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
    if (codeOf(error) === '') throw error;
    const message = `the backup ${path} cannot be read: ${error instanceof Error ? error.message : ''}`;
    throw new PercolatorError('STORE_REFUSED', message, { cause: error });
  }
}

function damaged(path: string, why: string): PercolatorError {
  return new PercolatorError('STORE_DAMAGED', `the backup ${path} cannot be used: ${why}`);
}
