/**
 * Which runs `./run.sh runs clean` removes, and the removal.
 *
 * It never removes a run that a process may be measuring, a link, a folder whose record cannot be
 * read (it may belong to another program, or to a newer version), or anything in results/reference.
 */
import { existsSync, readdirSync, realpathSync, rmdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import {
  findRun,
  type FoundRun,
  mayBeMeasuring,
  RECORD_FILE,
  REFERENCE_FOLDER,
  type RunRecord,
  counted,
} from '#results';
import { UsageError } from '#harness';

/** What is to be removed; with nothing given, the unfinished runs. */
export interface Choice {
  /** Runs that were killed, interrupted or failed. */
  readonly unfinished: boolean;
  /** Runs older than this many days. */
  readonly days: number | undefined;
  /**
   * All runs, unfinished ones too, but this many of the newest finished ones of each experiment;
   * with `days`, a run is removed only if both choose it.
   */
  readonly keepLast: number | undefined;
}

export interface Removable {
  readonly run: FoundRun;
  readonly why: string;
}

const DAY_MS = 24 * 3_600_000;

/** @param runs the newest first */
export function removable(
  runs: readonly FoundRun[],
  choice: Choice,
  nowMs: number,
): readonly Removable[] {
  const { days, keepLast } = choice;
  const unfinished = choice.unfinished || (days === undefined && keepLast === undefined);
  const newest = newestOf(runs, keepLast ?? 0);
  return runs.flatMap((run) => {
    const { record } = run;
    if (record === null || !mayBeRemoved(run, record)) return [];
    if (unfinished && record.state !== 'finished') return [{ run, why: stateText(record) }];
    if (days === undefined && keepLast === undefined) return [];
    const isOld = days === undefined || ageOf(record, nowMs) > days * DAY_MS;
    if (!isOld || newest.has(run)) return [];
    const why = [
      ...(days === undefined ? [] : [`older than ${counted(days, 'days')}`]),
      ...(keepLast === undefined ? [] : [`not among the newest ${keepLast} that finished`]),
    ];
    return [{ run, why: why.join(', ') }];
  });
}

/** What became of a run; `killed` if its record says `running`, but no process can be measuring. */
export function stateText(record: RunRecord): string {
  return record.state === 'running' && !mayBeMeasuring(record) ? 'killed' : record.state;
}

/** Removes the runs, one after the other; one that cannot be removed stops no other. */
export function removeRuns<T extends Removable>(
  runs: readonly T[],
): { readonly removed: readonly T[]; readonly failures: readonly UsageError[] } {
  const failures: UsageError[] = [];
  const removed = runs.filter(({ run }) => {
    try {
      removeRun(run);
      return true;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      failures.push(error);
      return false;
    }
  });
  return { removed, failures };
}

/**
 * Removes a run, unless it has changed since it was chosen.
 *
 * Its record goes last: if the removal is interrupted, the rest is still a run, which is listed and
 * can be removed again.
 * @throws UsageError if it has changed, or cannot be removed
 */
export function removeRun({ folder, record }: FoundRun): void {
  const now = findRun(path.dirname(folder), path.basename(folder));
  const isSame = now?.record?.runId === record?.runId && now?.record?.state === record?.state;
  if (now === null || now.record === null || !isSame || !mayBeRemoved(now, now.record)) {
    throw new UsageError(`The run ${folder} has changed or is gone, so it was not removed.`);
  }
  try {
    for (const name of readdirSync(folder)) {
      if (name !== RECORD_FILE) rmSync(path.join(folder, name), { recursive: true, force: true });
    }
    rmSync(path.join(folder, RECORD_FILE));
    rmdirSync(folder);
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    // rmSync calls some of them an unknown error, with an empty name and the path again.
    const reason =
      code === 'EROFS' || /Read-only/.test(message) ? 'its disk is read-only' : message;
    throw new UsageError(`The run ${folder} cannot be removed: ${reason}.`, { cause: error });
  }
}

/**
 * Refuses the folder of the reference, and every folder in or above it.
 * @throws UsageError that names the folder
 */
export function refuseReference(name: string, root: string): void {
  if (!isReference(root)) return;
  throw new UsageError(
    `${name} must not be, hold or be in the reference, which never changes, but is ${JSON.stringify(root)}.`,
  );
}

/** Whether the folder is that of the reference, or one in or above it. */
export function isReference(root: string): boolean {
  if (!existsSync(root)) return false;
  const [runs, reference] = [root, REFERENCE_FOLDER].map((folder) => realpathSync(folder));
  const isWithin = (a = '', b = ''): boolean => !/^\.\.(?![^/\\])/.test(path.relative(b, a));
  return isWithin(runs, reference) || isWithin(reference, runs);
}

function mayBeRemoved({ isLink }: FoundRun, record: RunRecord): boolean {
  return !isLink && !mayBeMeasuring(record);
}

function newestOf(runs: readonly FoundRun[], count: number): ReadonlySet<FoundRun> {
  const finished = runs.filter(({ record, isLink }) => !isLink && record?.state === 'finished');
  const ofEach = Map.groupBy(finished, ({ record }) => record?.experiment);
  return new Set([...ofEach.values()].flatMap((some) => some.slice(0, count)));
}

function ageOf({ startedAt, finishedAt }: RunRecord, nowMs: number): number {
  return nowMs - Date.parse(finishedAt ?? startedAt);
}
