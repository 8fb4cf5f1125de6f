/**
 * Detects the kind of history in a file: the name tells whether it is EDN, and the first object
 * tells the kind.
 */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { UsageError } from '#results';

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
