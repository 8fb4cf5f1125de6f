/**
 * Detects the kind of history in a file: the name tells whether it is EDN, and the first object
 * tells the kind.
 */
import { createReadStream } from 'node:fs';
import { UsageError } from '#results';

export async function kindOfHistory(file: string): Promise<'timestamps' | 'list-append'> {
  if (isEdn(file)) return 'list-append';
  const beginning = await beginningOf(file);
  // Jepsen's form has a type, and may be an array; ours is one object per line, with a start.
  if (/^\s*\[/.test(beginning) || /^[^\n]*"type"\s*:/.test(beginning.trimStart())) {
    return 'list-append';
  }
  if (/^[^\n]*"start"\s*:/.test(beginning.trimStart())) return 'timestamps';
  throw new UsageError(
    `${file} must be a history: its first line must be a JSON object with "start" (a history with timestamps) or ` +
      '"type" (one of list append); EDN must be in a file whose name ends in .edn.',
  );
}

export function isEdn(file: string): boolean {
  return file.endsWith('.edn');
}

async function beginningOf(file: string): Promise<string> {
  let beginning = '';
  for await (const chunk of createReadStream(file, { encoding: 'utf8' })) {
    beginning += String(chunk);
    if (beginning.trimStart().includes('\n') || beginning.length > 16_000_000) break;
  }
  return beginning;
}
