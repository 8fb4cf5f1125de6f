/**
 * The same jobs under Hadoop Streaming's contract: lines in, lines out.
 *
 *     mapper < input | LC_ALL=C sort | reducer > output
 *
 * The mapper writes `key`, tab, `value` per line, escaped as output.ts describes; the reducer
 * takes such lines, sorted, so that equal keys are neighbours. Any engine that keeps this contract
 * (sort, Hadoop Streaming, Spark's pipe) can run the jobs of this baseline.
 *
 * Input is read with large blocking reads: while this process computes, the process at the other
 * end of the pipe already prepares the next lines.
 */
import { readSync } from 'node:fs';
import { ByteBuilder, isTryAgain, Slice, waitForPipe } from './bytes.ts';
import type { MapReduceJob, ValueCursor } from './job.ts';
import { LineOutput, unescape } from './output.ts';

const TAB = 0x09;
const NEWLINE = 0x0a;
const BACKSLASH = 0x5c;
const READ_BYTES = 1024 * 1024;

/** File descriptors; by default those of standard input and output. */
export interface Streams {
  readonly input?: number | undefined;
  readonly output?: number | undefined;
}

/** Maps every line of the input. */
export function streamMap(job: MapReduceJob, { input = 0, output = 1 }: Streams = {}): void {
  const lines = new LineReader(input);
  const written = new LineOutput(output, { isBetween: true });
  while (lines.next()) job.map(lines.line, written);
  written.flush();
}

/** Reduces every run of lines with the same key. */
export function streamReduce(
  job: MapReduceJob,
  { input = 0, output = 1, isEndedByReturns }: Streams & { isEndedByReturns?: boolean } = {},
): void {
  const groups = new LineGroups(new LineReader(input));
  const written = new LineOutput(output, { isEndedByReturns });
  while (groups.nextKey()) job.reduce(groups.key, groups, written);
  written.flush();
}

/** Reads lines from a file descriptor; `line` is valid until the next call. */
class LineReader {
  readonly line = new Slice();
  /** Whether what was read and not handed out may have a backslash: most inputs have none. */
  mayHaveEscapes = false;
  readonly #input: number;
  #buffer = Buffer.allocUnsafeSlow(READ_BYTES * 2);
  /** The start of the bytes that were read and not handed out yet. */
  #start = 0;
  #end = 0;
  #ended = false;

  constructor(input: number) {
    this.#input = input;
  }

  next(): boolean {
    for (let searched = this.#start; ;) {
      const newline = this.#buffer.indexOf(NEWLINE, searched);
      if (newline !== -1 && newline < this.#end) return this.#handOut(newline, newline + 1);
      const unread = this.#end - this.#start;
      if (this.#ended) return unread > 0 && this.#handOut(this.#end, this.#end);
      this.#readMore();
      searched = this.#start + unread;
    }
  }

  #handOut(end: number, next: number): boolean {
    this.line.point(this.#buffer, this.#start, end);
    this.#start = next;
    return true;
  }

  #readMore(): void {
    const unread = this.#end - this.#start;
    const full = unread + READ_BYTES > this.#buffer.length;
    const target = full ? Buffer.allocUnsafeSlow(this.#buffer.length * 2) : this.#buffer;
    this.#buffer.copy(target, 0, this.#start, this.#end);
    this.#buffer = target;
    this.#start = 0;
    const bytesRead = this.#read(unread);
    this.#end = unread + bytesRead;
    this.#ended = bytesRead === 0;
    const backslash = target.subarray(0, this.#end).indexOf(BACKSLASH);
    this.mayHaveEscapes = backslash !== -1;
  }

  #read(at: number): number {
    for (;;) {
      try {
        return readSync(this.#input, this.#buffer, at, READ_BYTES, null);
      } catch (error) {
        if (!isTryAgain(error)) throw error;
        waitForPipe();
      }
    }
  }
}

/** Neighbouring lines with the same key as one group. The key is copied: its line will be gone. */
class LineGroups implements ValueCursor {
  readonly key = new Slice();
  readonly value = new Slice();
  readonly #lines: LineReader;
  readonly #keyBytes = new ByteBuilder();
  readonly #lineKey = new Slice();
  /** Whether `#lineKey` and `value` hold a line that was read and not handed out yet. */
  #pending = false;
  #started = false;

  constructor(lines: LineReader) {
    this.#lines = lines;
  }

  /** Moves to the next key, past values that were not read; false at the end. */
  nextKey(): boolean {
    while (this.#started && this.next());
    if (!this.#pending && !this.#readLine()) return false;
    this.#started = true;
    this.#keyBytes.clear();
    this.#keyBytes.appendSlice(this.#lineKey);
    this.key.point(this.#keyBytes.bytes, 0, this.#keyBytes.length);
    return true;
  }

  next(): boolean {
    if (!this.#pending && !this.#readLine()) return false;
    if (!sameBytes(this.#lineKey, this.key)) return false;
    this.#pending = false;
    return true;
  }

  #readLine(): boolean {
    if (!this.#lines.next()) return false;
    const { bytes, start, end } = this.#lines.line;
    let tab = start;
    while (tab < end && bytes[tab] !== TAB) tab++;
    this.#lineKey.point(bytes, start, tab);
    this.value.point(bytes, Math.min(tab + 1, end), end);
    if (this.#lines.mayHaveEscapes) {
      unescape(this.#lineKey);
      unescape(this.value);
    }
    this.#pending = true;
    return true;
  }
}

function sameBytes(a: Slice, b: Slice): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    if (a.bytes[a.start + i] !== b.bytes[b.start + i]) return false;
  }
  return true;
}
