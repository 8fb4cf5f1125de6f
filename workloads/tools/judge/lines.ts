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

/** The fault of a line or an operation: the half of a sentence that follows `file, line 7: `. */
export class BadLineError extends Error {
  override readonly name = 'BadLineError';
}

/**
 * Calls `take` with each line that is not blank. Its `BadLineError` becomes a `UsageError` that
 * names the line.
 */
export async function forEachLine(
  file: string,
  take: (line: Line) => void,
  signal?: AbortSignal,
): Promise<void> {
  let number = 0;
  const takeOne = (text: string): void => {
    number++;
    if (text.trim() === '') return;
    naming(file, number, () => take({ number, text }));
  };
  let rest = '';
  for await (const chunk of createReadStream(file, { encoding: 'utf8', highWaterMark: 1 << 20 })) {
    signal?.throwIfAborted();
    const lines = `${rest}${String(chunk)}`.split('\n');
    rest = lines.pop() ?? '';
    for (const text of lines) takeOne(text);
  }
  takeOne(rest);
}

/** Runs `action`, and names file and line if it throws a `BadLineError`. */
export function naming<T>(file: string, line: number, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof BadLineError)) throw error;
    throw new UsageError(`${file}, line ${line}: ${error.message}.`, { cause: error });
  }
}
