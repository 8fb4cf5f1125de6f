/**
 * A run in progress: the folder into which a workload writes its results.
 *
 *   1. `createRun` makes the folder and writes `run.json` in state `running`.
 *   2. `addPoint` appends a point: first its histogram and time series, then the record that names
 *      them. If the process dies in between, it leaves a file that no record names, which is
 *      harmless; in the other order it would leave a record that names a missing file.
 *   3. `describe` adds the parts that become known during the run, such as repository, capacity,
 *      findings and targets.
 *   4. `finish` closes the record, and makes tables, charts and page from the files.
 *
 * Each step replaces `run.json` atomically, so an interrupted run keeps all its measurements.
 */
import { closeSync, mkdirSync, openSync, rmdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { refreshAll } from './all/build-all.ts';
import { captureEnvironment } from './environment.ts';
import { summarize, writeHistogram, type Histogram } from './histogram.ts';
import { buildReport, type ReportFiles } from './report.ts';
import { RECORD_FILE, recordText } from './record-file.ts';
import { isMeasuredHere, refuseAsReference } from './run-folders.ts';
import { thisProcess } from './run-process.ts';
import { FORMAT_VERSION, pointLatencyAllowed } from './run-record.ts';
import type { Parameters, Point, Profile, RunRecord, StoreDescription } from './run-record.ts';
import type { Target } from './run-record.ts';
import { tooFewSamples } from './samples.ts';
import { writeTimeSeries, type TimeSeriesRow } from './time-series.ts';
import { UsageError } from './usage-error.ts';
import { writeFileAtomically } from './write-file.ts';

/** The parts of the record that are known before the measurement. */
export interface RunHeader {
  readonly experiment: string;
  readonly profile: Profile;
  readonly commandLine: string;
  readonly parameters: Parameters;
  readonly seed: number;
  /** Independent repeats of each point; a run with one repeat is labelled exploratory. */
  readonly repeats: number;
  readonly store: StoreDescription;
  readonly limitations?: readonly string[];
}

/** A point as measured by the workload; its latency is read from the histogram passed with it. */
export type MeasuredPoint = Omit<Point, 'latency' | 'timeSeriesFile' | OptionalField> &
  Partial<Pick<Point, OptionalField>>;
type OptionalField =
  | 'repeatMediansMs'
  | 'generatorLagP99Ms'
  | 'cpuSecondsPerDocument'
  | 'cyclesMeasured'
  | 'notes';

export interface Run {
  readonly folder: string;
  /** The current record; each step replaces it and never changes it in place. */
  readonly record: RunRecord;
  /**
   * Adds a point. `histogram` (microseconds, repeats merged) counts only if the point was sustained
   * and its check passed; otherwise the point has no latency, whatever the histogram holds.
   */
  addPoint(
    point: MeasuredPoint,
    histogram: Histogram | null,
    series?: readonly TimeSeriesRow[],
  ): void;
  /**
   * Replaces the parts given: `run.describe({ capacity })`. A target is not judged by a smoke run,
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
type DescribedLater =
  | 'store'
  | 'repository'
  | 'crawl'
  | 'capacity'
  | 'mapreduceModel'
  | 'findings'
  | 'targets'
  | 'limitations';

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
    return new RunFolder(folder, record);
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

  constructor(folder: string, record: RunRecord) {
    this.folder = folder;
    this.#record = record;
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

  addPoint(
    measured: MeasuredPoint,
    histogram: Histogram | null,
    series: readonly TimeSeriesRow[] = [],
  ): void {
    const name = `${measured.system}-${measured.ratePercentPerHour}-percent-per-hour`;
    const point: Point = {
      repeatMediansMs: [],
      generatorLagP99Ms: null,
      cpuSecondsPerDocument: null,
      cyclesMeasured: null,
      notes: [],
      ...measured,
      latency: pointLatencyAllowed(measured) ? this.#keepHistogram(name, histogram) : null,
      timeSeriesFile: this.#keepTimeSeries(name, series),
    };
    this.#replace({ points: [...this.#record.points, point] });
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

  #keepHistogram(name: string, histogram: Histogram | null): Point['latency'] {
    if (histogram === null || histogram.totalCount === 0) return null;
    const file = `histograms/${name}.hlog`;
    writeHistogram(path.join(this.folder, file), histogram, `${this.#record.runId} ${name}`);
    return summarize(histogram, file);
  }

  #keepTimeSeries(name: string, series: readonly TimeSeriesRow[]): string | null {
    if (series.length === 0) return null;
    const file = `time-series/${name}.csv`;
    writeTimeSeries(path.join(this.folder, file), series);
    return file;
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
  }
}

function newRecord(folder: string, header: RunHeader): RunRecord {
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
    repository: null,
    crawl: null,
    capacity: null,
    mapreduceModel: null,
    points: [],
    findings: null,
    targets: [],
    limitations: header.limitations ?? [],
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
