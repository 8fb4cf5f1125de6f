/**
 * Records as lines: `key`, tab, `value`, newline.
 *
 * In a result, the tab is left out if the value is empty. Between map and reduce it is always
 * there, because without it sorting would not bring all lines of a key together; and what would end
 * a key or a line early is escaped: `\t` in a key, `\n` and `\r` in both, `\\` for the backslash.
 * So a record may have any bytes there, as with our own runner.
 *
 * Lines are gathered and written in large pieces, to a part of the output or to a pipe.
 */
import { ByteBuilder, type Slice } from './bytes.ts';
import { MapReduceError } from './errors.ts';
import type { Output } from './job.ts';
import { writeFully } from './write-fully.ts';

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
