/**
 * What a user has said of a run: tags and a note, in `notes.json` next to its record. The record
 * itself is never changed. Runs in results/reference have none: they are immutable.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { readRunRecord, UsageError, writeFileAtomically } from '#results';
import { refuseReference } from './removable.ts';

export interface Notes {
  readonly tags: readonly string[];
  readonly note: string | null;
}

const NONE: Notes = { tags: [], note: null };

/** For a list of many runs: damaged notes are no reason to show none of them. */
export function readableNotes(folder: string): Notes {
  return parsedOrNull(folder) ?? { tags: [], note: 'its notes.json is damaged' };
}

/** @throws UsageError if the file is damaged */
function notesOf(folder: string): Notes {
  const parsed = parsedOrNull(folder);
  if (parsed !== null) return parsed;
  throw new UsageError(`The notes ${fileIn(folder)} are damaged: remove the file.`);
}

/** Null if they are damaged. */
function parsedOrNull(folder: string): Notes | null {
  const file = fileIn(folder);
  if (!existsSync(file)) return NONE;
  try {
    const { tags, note } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Notes>;
    const areTags = Array.isArray(tags) && tags.every((tag) => typeof tag === 'string');
    return areTags && (note === null || typeof note === 'string') ? { tags, note } : null;
  } catch {
    return null;
  }
}

/**
 * Adds the tags, and replaces the note if one is given; a tag that begins with `-` takes the tag
 * after it from the run.
 * @throws UsageError if the folder holds no run, or is in the reference
 */
export function noteRun(folder: string, { tags, note }: Notes): Notes {
  readRunRecord(folder);
  refuseReference('<run>', folder);
  const before = notesOf(folder);
  const gone = new Set(tags.filter((tag) => tag.startsWith('-')).map((tag) => tag.slice(1)));
  const added = tags.filter((tag) => !tag.startsWith('-'));
  const kept = [...new Set([...before.tags, ...added])].filter((tag) => !gone.has(tag));
  const after = { tags: kept, note: note ?? before.note };
  writeFileAtomically(fileIn(folder), `${JSON.stringify(after, null, 2)}\n`);
  return after;
}

function fileIn(folder: string): string {
  return path.join(folder, 'notes.json');
}
