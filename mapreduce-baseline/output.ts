/**
 * The output of a run, of any engine: it appears whole or not at all, and never replaces another.
 * Its parts have a record in each line.
 *
 *     <output>.unfinished-x7Qp2/work      for anything
 *     <output>.unfinished-x7Qp2/output    the parts ──publish──▶ <output>
 *
 * A reader that finds the output folder does not have to check whether it is complete.
 */
import { mkdir, mkdtemp, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { ByteBuilder, type Slice, writeFully } from './bytes.ts';
import { MapReduceError, type Output } from './job.ts';

export class UnfinishedOutput implements AsyncDisposable {
  /** A folder for anything; it ends with the run. */
  readonly work: string;
  /** An empty folder for the parts. */
  readonly output: string;
  readonly #unfinished: string;
  readonly #target: string;

  private constructor(unfinished: string, target: string) {
    this.work = join(unfinished, 'work');
    this.output = join(unfinished, 'output');
    this.#unfinished = unfinished;
    this.#target = target;
  }

  /** @throws OUTPUT_EXISTS */
  static async begin(outputFolder: string): Promise<UnfinishedOutput> {
    const target = resolve(outputFolder);
    await refuseExisting(target);
    await makeFolderOf(target);
    const unfinished = await mkdtemp(join(dirname(target), `${basename(target)}.unfinished-`));
    const begun = new UnfinishedOutput(unfinished, target);
    await mkdir(begun.work);
    await mkdir(begun.output);
    return begun;
  }

  /**
   * What if the process dies here? Before the rename there is no output folder, only an unfinished
   * one that nothing reads. After it there is the whole output. The caller has synced the parts;
   * their names are made durable before the rename, and the rename before the run is called
   * finished.
   * @param durable whether the output must survive a power failure
   * @throws OUTPUT_EXISTS if another run was faster
   */
  async publish({ durable }: { readonly durable: boolean }): Promise<void> {
    if (durable) await syncFolder(this.output);
    try {
      await rename(this.output, this.#target);
    } catch (error) {
      throw isAboutTarget(error) ? outputExists(this.#target, error) : error;
    }
    if (durable) await syncFolder(dirname(this.#target));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#unfinished, { recursive: true, force: true });
  }
}

/** @throws OUTPUT_EXISTS */
export async function refuseExisting(outputFolder: string): Promise<void> {
  if (await exists(outputFolder)) throw outputExists(outputFolder);
}

/**
 * Creates the missing folders above the output, and makes their names durable. Not `mkdir`'s own
 * `recursive`: it never returns where the system denies that a folder exists and also refuses to
 * create it, as in /proc.
 */
export async function makeFolderOf(target: string): Promise<void> {
  const missing: string[] = [];
  let found = dirname(target);
  for (; !(await exists(found)); found = dirname(found)) missing.push(found);
  for (const next of missing.toReversed()) {
    await mkdir(next).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error; // Another process was faster.
    });
    await syncFolder(dirname(next));
  }
}

/** Tolerates a folder that we may not read, and a system that does not sync folders. */
async function syncFolder(path: string): Promise<void> {
  try {
    await using folder = await open(path);
    await folder.sync();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EACCES', 'EPERM', 'EISDIR', 'EINVAL'].includes(code)) throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}

/** Whether a rename failed because something is there already: a folder with content, or a file. */
function isAboutTarget(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR';
}

function outputExists(outputFolder: string, cause?: unknown): MapReduceError {
  const message = `output folder ${outputFolder} exists; name one that does not, or remove it`;
  return new MapReduceError('OUTPUT_EXISTS', message, { cause });
}

/*
 * Records as lines: `key`, tab, `value`, newline.
 *
 * In a result, the tab is left out if the value is empty. Between map and reduce it is always
 * there, because without it sorting would not bring all lines of a key together; and what would end
 * a key or a line early is escaped: `\t` in a key, `\n` and `\r` in both, `\\` for the backslash.
 * So a record may have any bytes there, as with our own runner.
 *
 * Lines are gathered and written in large pieces, to a part of the output or to a pipe.
 */

const TAB = 0x09;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const BACKSLASH = 0x5c;
const PIECE_BYTES = 256 * 1024;

/** By byte: the letter that stands for it after a backslash, or 0. */
const IN_VALUE = escapes({ n: NEWLINE, r: RETURN, '\\': BACKSLASH });
const IN_KEY = escapes({ t: TAB, n: NEWLINE, r: RETURN, '\\': BACKSLASH });

function escapes(letters: Readonly<Record<string, number>>): Uint8Array {
  const table = new Uint8Array(256);
  for (const [letter, byte] of Object.entries(letters)) table[byte] = letter.charCodeAt(0);
  return table;
}

interface LineOptions {
  /** Whether a reducer reads the lines, after sorting; otherwise they are a result. */
  readonly isBetween?: boolean | undefined;
  /** Whether the engine ends lines at carriage returns, too. */
  readonly isEndedByReturns?: boolean | undefined;
}

export class LineOutput implements Output {
  records = 0;
  bytes = 0;
  readonly #file: number;
  readonly #isBetween: boolean;
  readonly #isEndedByReturns: boolean;
  readonly #lines = new ByteBuilder(PIECE_BYTES + 4096);

  /**
   * @param file an open file descriptor; its opener closes it
   */
  constructor(file: number, { isBetween = false, isEndedByReturns = false }: LineOptions = {}) {
    this.#file = file;
    this.#isBetween = isBetween;
    this.#isEndedByReturns = isEndedByReturns;
  }

  emit(key: Slice, value: Slice): void {
    const lines = this.#lines;
    if (this.#isBetween) {
      appendEscaped(lines, key, IN_KEY);
      lines.appendByte(TAB);
      appendEscaped(lines, value, IN_VALUE);
    } else {
      if (this.#isEndedByReturns) refuseReturns(key, value);
      lines.appendSlice(key);
      if (value.end > value.start) {
        lines.appendByte(TAB);
        lines.appendSlice(value);
      }
    }
    lines.appendByte(NEWLINE);
    this.records++;
    if (lines.length >= PIECE_BYTES) this.flush();
  }

  flush(): void {
    writeFully(this.#file, this.#lines.bytes, this.#lines.length);
    this.bytes += this.#lines.length;
    this.#lines.clear();
  }
}

function appendEscaped(to: ByteBuilder, { bytes, start, end }: Slice, letters: Uint8Array): void {
  let from = start;
  for (let i = start; i < end; i++) {
    const letter = letters[bytes[i] as number] as number;
    if (letter === 0) continue;
    to.append(bytes, from, i);
    to.appendByte(BACKSLASH);
    to.appendByte(letter);
    from = i + 1;
  }
  to.append(bytes, from, end);
}

/** Takes the escapes out of the slice, in place. */
export function unescape(slice: Slice): void {
  const { bytes, start, end } = slice;
  let to = start;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    bytes[to++] = byte === BACKSLASH ? escapedBy(bytes[++i] as number) : byte;
  }
  slice.end = to;
}

function escapedBy(letter: number): number {
  const byte = IN_KEY.indexOf(letter);
  return byte === -1 ? letter : byte;
}

function refuseReturns(...slices: readonly Slice[]): void {
  for (const { bytes, start, end } of slices) {
    if (!bytes.subarray(start, end).includes(RETURN)) continue;
    const text = JSON.stringify(bytes.toString('utf8', start, Math.min(end, start + 60)));
    throw new MapReduceError(
      'RECORD_INVALID',
      `a result must have no carriage return with this engine, which ends lines there: ${text}`,
    );
  }
}
