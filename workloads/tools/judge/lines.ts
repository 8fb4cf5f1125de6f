/**
 * Reads the lines of a file in chunks, so that a history may be larger than memory, and makes the
 * sentence about a bad line.
 */
import { createReadStream } from 'node:fs';
import { UsageError } from '#results';

export interface Line {
  /** The first line of a file is 1. */
  readonly number: number;
  readonly text: string;
}

/** Maximum characters of a line; a file without lines must not fill the memory. */
const LINE_MAX = 32e6;

/** The fault of a line or an operation: the half of a sentence that follows `file, line 7: `. */
export class BadLineError extends Error {
  override readonly name = 'BadLineError';
}

/**
 * Calls `take` with each line that is not blank. A `BadLineError` of `take` becomes a `UsageError`
 * that names the line.
 */
export async function forEachLine(
  file: string,
  take: (line: Line) => void,
  signal?: AbortSignal,
): Promise<void> {
  let number = 0;
  const takeOne = (line: string): void => {
    number++;
    const text = line.trim(); // This also removes a byte-order mark.
    if (text !== '') naming(file, number, () => take({ number, text }));
  };
  let rest = '';
  for await (const chunk of createReadStream(file, { encoding: 'utf8', highWaterMark: 1 << 20 })) {
    signal?.throwIfAborted();
    const lines = `${rest}${String(chunk)}`.split('\n');
    rest = lines.pop() ?? '';
    for (const text of lines) takeOne(text);
    if (rest.length > LINE_MAX) naming(file, number + 1, refuseLength);
  }
  takeOne(rest);
}

function refuseLength(): never {
  throw new BadLineError('a line must have at most 32 MB');
}

/** Runs `action`, and names file and line if it throws a `BadLineError`. */
export function naming<T>(file: string, line: number, action: () => T): T {
  try {
    return action();
  } catch (error) {
    const fault = faultOf(error);
    if (fault === undefined) throw error;
    throw new UsageError(`${file}, line ${line}: ${fault}.`, { cause: error });
  }
}

function faultOf(error: unknown): string | undefined {
  if (error instanceof BadLineError) return error.message;
  // The stack of calls is full: the parsers call themselves for values in values.
  return error instanceof RangeError ? 'its values are nested too deeply' : undefined;
}
