/**
 * Detects the kind of history in a file: the name tells whether it is EDN, and the first object
 * tells the kind.
 */
import { createReadStream } from 'node:fs';
import { UsageError } from '#results';

/** @throws UsageError if the file is neither */
export async function kindOfHistory(file: string): Promise<'timestamps' | 'list-append'> {
  if (isEdn(file)) return 'list-append';
  const [line = ''] = (await beginningOf(file)).trimStart().split('\n', 1);
  // Jepsen's form has a type, and may be an array; ours is one object per line, with a start.
  const has = fieldsOf(line);
  if (line.startsWith('[') || has('type')) return 'list-append';
  if (has('start')) return 'timestamps';
  throw new UsageError(
    `${file} must be a history: its first line must be a JSON object with "start" (a history with timestamps) or ` +
      '"type" (one of list append); EDN must be in a file whose name ends in .edn.',
  );
}

export function isEdn(file: string): boolean {
  return file.endsWith('.edn');
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
