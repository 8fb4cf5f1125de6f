/**
 * `run.json`: the record on disk. It is written whole and atomically. One parser reads it, and
 * either returns a `RunRecord` or says in one sentence which file is wrong and why.
 */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { parseRunRecord } from './record-parser.ts';
import type { RunRecord } from './run-record.ts';
import { UsageError } from './usage-error.ts';

export const RECORD_FILE = 'run.json';

/**
 * The file's content. Refuses values that could not be read back, such as a NaN where a number must
 * be, while the stack still shows their origin. Where null is allowed, a NaN becomes null.
 */
export function recordText(record: RunRecord): string {
  const json = JSON.stringify(record, null, 2);
  parseRunRecord(JSON.parse(json));
  return `${json}\n`;
}

export function readRunRecord(folder: string): RunRecord {
  return readRecordFile(path.join(folder, RECORD_FILE));
}

/** @param file a record under any name */
export function readRecordFile(file: string): RunRecord {
  try {
    return parseRunRecord(JSON.parse(readText(file)));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The run record ${file} cannot be used: ${reason}.`, {
      cause: error,
    });
  }
}

function readText(file: string): string {
  try {
    // To open a pipe may block for ever.
    if (!statSync(file).isFile()) throw new Error('it is not a file');
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason =
      code === 'ENOENT' ? 'there is none' : error instanceof Error ? error.message : String(error);
    throw new UsageError(
      `The folder of a run must hold a ${RECORD_FILE}, but ${file} cannot be read: ${reason}.`,
      { cause: error },
    );
  }
}
