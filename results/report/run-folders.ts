/** The folders of runs in this project, and the runs that are in a folder. */
import { existsSync, lstatSync, readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { sum } from 'simple-statistics';
import { RECORD_FILE, readRunRecord } from './record-file.ts';
import type { RunRecord } from './run-record.ts';
import { UsageError } from './usage-error.ts';

/** What was measured here. */
export const RUNS_FOLDER: string = path.resolve(import.meta.dirname, '../runs');
/** What was measured for the README and docs/; immutable. */
export const REFERENCE_FOLDER: string = path.resolve(import.meta.dirname, '../reference');

/**
 * Whether the run in `folder` is directly in results/runs, where its page links to all runs. Both
 * folders may be links, for example to a larger disk.
 */
export function isMeasuredHere(folder: string, runsFolder: string = RUNS_FOLDER): boolean {
  if (!existsSync(runsFolder)) return false;
  return realpathSync(path.dirname(path.resolve(folder))) === realpathSync(runsFolder);
}

/**
 * A reference must be repeatable, so its code must be that of a commit.
 * @throws a UsageError if the run is to be in results/reference, and its code is not
 */
export function refuseAsReference(
  folder: string,
  { environment: { commit } }: Pick<RunRecord, 'environment'>,
  referenceFolder: string = REFERENCE_FOLDER,
): void {
  const within = path.relative(referenceFolder, path.resolve(folder));
  const isReference = within !== '' && !within.startsWith('..') && !path.isAbsolute(within);
  if (!isReference || commit?.dirty === false) return;
  throw new UsageError(
    `--out ${folder} would be a reference, which must be repeatable, but ` +
      (commit === null
        ? 'this is not a git checkout, so that no commit names the code.'
        : 'the code has uncommitted changes: commit them, or measure into another folder.'),
  );
}

export interface FoundRun {
  readonly name: string;
  readonly folder: string;
  /** A link to a folder elsewhere. */
  readonly isLink: boolean;
  /** Null if its record cannot be used; `damage` then says why. */
  readonly record: RunRecord | null;
  readonly damage: string | null;
}

/**
 * The folders in `root` that hold a record and, one level down, those in folders that hold none,
 * such as `verification/chaos`; the newest first, damaged ones last.
 */
export function findRuns(root: string): readonly FoundRun[] {
  return namesIn(root)
    .flatMap((name) => findRun(root, name) ?? runsOfGroup(root, name))
    .toSorted((a, b) => startOf(b).localeCompare(startOf(a)) || a.name.localeCompare(b.name));
}

/** Null if the folder holds no record; a folder into which this user may not look is damaged. */
export function findRun(root: string, name: string): FoundRun | null {
  const folder = path.join(root, name);
  const isLink = lstatOrNone(folder)?.isSymbolicLink() === true;
  try {
    if (!isRecord(path.join(folder, RECORD_FILE))) return null;
    return { name, folder, isLink, record: readRunRecord(folder), damage: null };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { name, folder, isLink, record: null, damage: error.message };
  }
}

/** A link to a group is not followed: the runs that it leads to are not in `root`. */
function runsOfGroup(root: string, group: string): readonly FoundRun[] {
  const folder = path.join(root, group);
  if (lstatOrNone(folder)?.isDirectory() !== true) return [];
  return readdirOrNone(folder).flatMap((name) => findRun(root, path.join(group, name)) ?? []);
}

/** The names in a folder; none if this user may not list it, or if it is gone. */
function readdirOrNone(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** @throws a UsageError if it cannot be known */
function isRecord(file: string): boolean {
  try {
    return statSync(file).isFile();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return false;
    throw new UsageError(`The run record ${file} cannot be read: ${message}.`, { cause: error });
  }
}

/**
 * Bytes of all files below a folder that this user may look at; links count as themselves. Files
 * may go while they are counted, because a run may be in progress.
 */
export function bytesIn(folder: string): number {
  return sum(readdirOrNone(folder).map((name) => bytesOf(path.join(folder, name))));
}

function bytesOf(file: string): number {
  const stat = lstatOrNone(file);
  if (stat === undefined) return 0;
  return stat.isDirectory() ? bytesIn(file) : stat.size;
}

/** Undefined for what is gone, and for what this user may not look at. */
function lstatOrNone(file: string): Stats | undefined {
  try {
    return lstatSync(file);
  } catch {
    return undefined;
  }
}

function namesIn(root: string): readonly string[] {
  try {
    return readdirSync(root);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The runs in ${root} cannot be listed: ${reason}.`, { cause: error });
  }
}

function startOf({ record }: FoundRun): string {
  return record?.startedAt ?? '';
}
