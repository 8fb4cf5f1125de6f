/**
 * A run in progress: the folder into which a workload writes its results.
 *
 *   1. `createRun` makes the folder and writes `run.json` in state `running`.
 *   2. `describe` adds what becomes known during the run: findings, targets, limitations.
 *   3. `finish` closes the record, and makes tables, charts and page from it.
 *
 * Each step replaces `run.json` atomically, so an interrupted run keeps all its measurements.
 */
import { closeSync, mkdirSync, openSync, rmdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { refreshAll } from './all/all-page.ts';
import { type FindingsParts, noNumbers, type Subject } from './columns-and-series.ts';
import { captureEnvironment, thisProcess } from './environment.ts';
import { tooFewSamples } from './histogram.ts';
import { RECORD_FILE, recordText } from './record-file.ts';
import { buildReport, type ReportFiles } from './report.ts';
import { isMeasuredHere, refuseAsReference } from './run-folders.ts';
import {
  FORMAT_VERSION,
  type Parameters,
  type Profile,
  type RunRecord,
  type StoreDescription,
  type Target,
} from './run-record.ts';
import { firstErrorOf, UsageError } from './usage-error.ts';
import { writeFileAtomically } from './write-file.ts';

/** The parts of the record that are known before the measurement. */
export interface RunHeader {
  readonly experiment: string;
  /** Default: the experiment's name. */
  readonly subject?: Subject;
  readonly profile: Profile;
  readonly commandLine: string;
  readonly parameters: Parameters;
  readonly seed: number;
  /** Independent repeats of each point; a run with one repeat is labelled exploratory. */
  readonly repeats: number;
  readonly store: StoreDescription;
  readonly limitations?: readonly string[];
  /** Called with each record that was written, the first included. */
  readonly onRecord?: ((record: RunRecord) => void) | undefined;
}

export interface Run {
  readonly folder: string;
  /** The current record; each step replaces it and never changes it in place. */
  readonly record: RunRecord;
  /**
   * Replaces the parts given: `run.describe({ targets })`. A target is not judged by a smoke run,
   * nor by fewer than 30 samples.
   */
  describe(parts: Partial<Pick<RunRecord, DescribedLater>>): void;
  /** Closes the record: its last change, which is possible even while the process exits. */
  close(state: FinalState): void;
  /**
   * Closes the record, makes tables, charts and page, and returns their paths. Also makes the page
   * of all runs again if the run is in `results/runs`.
   */
  finish(state?: FinalState): ReportFiles;
  /** Removes the record of a run that measured nothing, and the folder if it holds nothing else. */
  discard(): void;
}
export type FinalState = Exclude<RunRecord['state'], 'running'>;
type DescribedLater = 'store' | 'findings' | 'targets' | 'limitations' | 'doubts' | 'timeline';

/** `results/runs/<experiment>-<UTC time>` in this project: the default output folder of a run. */
export function defaultRunFolder(experiment: string): string {
  return path.relative(
    process.cwd(),
    path.join(import.meta.dirname, '../runs', newRunId(experiment)),
  );
}

/** Creates the folder, and the record of a run that begins now. */
export function createRun(folder: string, header: RunHeader): Run {
  mkdirSync(folder, { recursive: true });
  claim(folder);
  try {
    const record = newRecord(folder, header);
    refuseAsReference(folder, record);
    return new RunFolder(folder, record, header.onRecord);
  } catch (error) {
    unclaim(folder);
    throw error;
  }
}

/**
 * Creates an empty record file. If two runs begin at once, the system lets only one of them do so.
 */
function claim(folder: string): void {
  try {
    closeSync(openSync(path.join(folder, RECORD_FILE), 'wx'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new UsageError(
      `The output folder must be new, because results are never overwritten, but ` +
        `${JSON.stringify(folder)} already holds a ${RECORD_FILE}.`,
      { cause: error },
    );
  }
}

/** Removes the record, and the folder if it holds nothing else and is not in use. */
function unclaim(folder: string): void {
  try {
    rmSync(path.join(folder, RECORD_FILE), { force: true });
    rmdirSync(folder);
  } catch {
    // It holds other files, is mounted, or was named as `.`: it stays.
  }
}

class RunFolder implements Run {
  readonly folder: string;
  #record: RunRecord;
  /** A folder that another program has put in its place may hold another run. */
  readonly #isInPlace: () => boolean;
  readonly #onRecord: RunHeader['onRecord'];

  constructor(folder: string, record: RunRecord, onRecord: RunHeader['onRecord']) {
    this.folder = folder;
    this.#record = record;
    this.#onRecord = onRecord;
    const { ino, dev } = statSync(folder);
    this.#isInPlace = () => {
      const found = statSync(folder, { throwIfNoEntry: false });
      return found?.ino === ino && found.dev === dev;
    };
    this.#replace({});
  }

  get record(): RunRecord {
    return this.#record;
  }

  describe(parts: Partial<Pick<RunRecord, DescribedLater>>): void {
    const { profile } = this.#record;
    const targets = parts.targets?.map((target) => judged(target, profile));
    this.#replace(targets === undefined ? parts : { ...parts, targets });
  }

  close(state: FinalState): void {
    this.#replace({ state, process: null, finishedAt: new Date().toISOString() });
  }

  finish(state: FinalState = 'finished'): ReportFiles {
    this.close(state);
    const files = buildReport(this.folder);
    if (isMeasuredHere(this.folder)) refreshAll();
    return files;
  }

  discard(): void {
    unclaim(this.folder);
  }

  #replace(parts: Partial<RunRecord>): void {
    const next = { ...this.#record, ...parts };
    const text = recordText(next); // If it is refused, what was found before stays.
    this.#record = next; // Even if the disk is full now, the next write has all.
    if (!this.#isInPlace()) {
      throw new UsageError(
        `The output folder ${JSON.stringify(this.folder)} was moved, removed or replaced during the ` +
          'run; nothing was written to what is there now.',
      );
    }
    writeFileAtomically(path.join(this.folder, RECORD_FILE), text);
    this.#onRecord?.(next);
  }
}

/** What the findings of a run are about. */
function subjectOf({ subject, experiment }: RunHeader): Subject {
  return subject ?? { kicker: experiment, title: experiment };
}

/** The record of a run that begins now, and has found nothing yet. */
export function newRecord(folder: string, header: RunHeader): RunRecord {
  const { targets, ...nothing } = noNumbers('the run has no result');
  return {
    formatVersion: FORMAT_VERSION,
    experiment: header.experiment,
    runId: newRunId(header.experiment),
    state: 'running',
    process: thisProcess(),
    startedAt: new Date().toISOString(),
    finishedAt: null,
    profile: header.profile,
    commandLine: header.commandLine,
    parameters: header.parameters,
    seed: header.seed,
    repeats: header.repeats,
    label: header.repeats === 1 ? 'exploratory' : null,
    environment: captureEnvironment(folder),
    store: header.store,
    findings: { ...subjectOf(header), ...nothing },
    targets,
    limitations: header.limitations ?? [],
    doubts: [],
    timeline: null,
  };
}

/**
 * The target without its verdict if the run cannot have one: a smoke run only shows that the
 * experiment works, and a few samples say nothing.
 */
function judged(target: Target, profile: Profile): Target {
  if (target.met === null) return target;
  const reason = profile === 'smoke' ? 'a smoke run is too small' : tooFewSamples(target.samples);
  return reason === null ? target : { ...target, met: null, reason };
}

/** The time without its separators, which some file systems refuse: 20260117T081500Z. */
function newRunId(experiment: string): string {
  const time = new Date()
    .toISOString()
    .replace(/\.\d+Z$/, 'Z')
    .replaceAll(/[-:]/g, '');
  return `${experiment}-${time}`;
}

/*
 * The record of a run from its beginning to its end, whichever way it ends:
 *
 *     finished      `measure` has returned
 *     interrupted   the signal was aborted; what was described until then stays
 *     failed        an error ended it; what was described until then stays
 *     (none)        the user can repair the error, and nothing was measured: no record is left
 */

export interface Recording {
  readonly run: Run;
  /** Puts into the record what was found so far, which then stays whatever happens. */
  readonly keep: (found: FindingsParts) => void;
}

interface Recorded {
  readonly run: Run;
  readonly page: string;
}

/** @throws the error of `measure`; if the signal was aborted, only a `UsageError` */
export async function recordRun(
  folder: string,
  { signal, ...header }: RunHeader & { readonly signal: AbortSignal },
  measure: (recording: Recording) => Promise<FindingsParts>,
): Promise<Recorded> {
  const run = createRun(folder, header);
  const keep = ({ targets, ...found }: FindingsParts): void => {
    run.describe({ findings: { ...subjectOf(header), ...found }, targets });
  };
  // A second interrupt and an error in a callback end the process at once.
  const closeAtExit = (): void => {
    ignoringErrors(() => run.close(signal.aborted ? 'interrupted' : 'failed'));
  };
  process.once('exit', closeAtExit);
  try {
    keep(await measure({ run, keep }));
  } catch (error) {
    const isForUser = firstErrorOf(error) instanceof UsageError;
    const isReported = isForUser || !signal.aborted;
    const state = signal.aborted ? 'interrupted' : 'failed';
    if (isForUser && isEmpty(run)) run.discard();
    // The error to report is the one that ended the run; the disk may be full now, too.
    else if (isReported) ignoringErrors(() => run.finish(state));
    if (isReported) throw error;
  } finally {
    process.off('exit', closeAtExit);
  }
  return { run, page: run.finish(signal.aborted ? 'interrupted' : 'finished').page };
}

function ignoringErrors(action: () => unknown): void {
  try {
    action();
  } catch {
    // What was written before stays.
  }
}

function isEmpty({ record: { findings } }: Run): boolean {
  return findings.tables.length === 0;
}
