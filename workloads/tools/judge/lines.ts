/**
 * Reads the lines of a file in chunks, so that a history may be larger than memory, makes the
 * sentence about a bad line, and detects the kind of history: the name tells whether it is EDN, and
 * the first object tells the kind.
 */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { UsageError } from '#results';

export interface NumberedLine {
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
  take: (line: NumberedLine) => void,
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

/** @throws UsageError if the file is neither */
export async function kindOfHistory(file: string): Promise<'timestamps' | 'list-append'> {
  await refuseUtf16(file);
  if (isEdn(file)) return 'list-append';
  const beginning = (await beginningOf(file)).trimStart();
  const [line = ''] = beginning.split('\n', 1);
  // Jepsen's form has a type, and may be an array; ours is one object per line, with a start.
  const has = fieldsOf(line);
  if (line.startsWith('[')) {
    if (!isOfTimestamps(beginning)) return 'list-append';
    throw new UsageError(
      `${file} must be a history with one JSON object with "start" per line, but is an array of them.`,
    );
  }
  if (has('type')) return 'list-append';
  if (has('start')) return 'timestamps';
  throw new UsageError(
    `${file} must be a history: its first line must be a JSON object with "start" (a history with timestamps) or ` +
      '"type" (one of list append); EDN must be in a file whose name ends in .edn.',
  );
}

export function isEdn(file: string): boolean {
  return file.endsWith('.edn');
}

/** Windows' programs write UTF-16, of whose first two bytes one is 0, or both are a mark. */
async function refuseUtf16(file: string): Promise<void> {
  await using opened = await open(file);
  const { bytesRead, buffer } = await opened.read(Buffer.alloc(2), 0, 2, 0);
  const [first = 1, second = 1] = buffer.subarray(0, bytesRead);
  const isMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (!isMark && first !== 0 && second !== 0) return;
  throw new UsageError(`${file} must be in UTF-8, but is in UTF-16.`);
}

/** Whether the first object of an array is a transaction of ours: it has a start, and no type. */
function isOfTimestamps(array: string): boolean {
  const [object = ''] = array.split('}', 1);
  return /"start"\s*:/.test(object) && !/"type"\s*:/.test(object);
}

/** Whether the object of a line has a field; if the line is cut off, whether it names the field. */
function fieldsOf(line: string): (name: string) => boolean {
  try {
    const object: unknown = JSON.parse(line);
    return (name) => typeof object === 'object' && object !== null && Object.hasOwn(object, name);
  } catch {
    return (name) => new RegExp(`"${name}"\\s*:`).test(line);
  }
}

async function beginningOf(file: string): Promise<string> {
  let beginning = '';
  for await (const chunk of createReadStream(file, { encoding: 'utf8' })) {
    beginning += String(chunk);
    if (beginning.trimStart().includes('\n') || beginning.length > 16_000_000) break;
  }
  return beginning;
}
