/**
 * The batch next to Percolator in figure 7: the same repository on the same machines, by crawl
 * rate.
 */
import { sum } from 'simple-statistics';
import { createRandom } from '#engine/base';
import {
  column,
  formatCount,
  line,
  type ResultSeries,
  type ResultTable,
  resultTable,
  series,
} from '#results';
import { meanOrZero, rounded } from '../../harness/statistics.ts';
import type { Calibration } from '../calibration/calibration.ts';
import { type ClusteringOptions, clusteringVolumes, simulateJob } from './job.ts';

export interface BatchCurve {
  /** Whether whole documents go through all three phases, or keys alone. */
  readonly contents: 'once' | 'always';
  /** By rate, the lowest first. */
  readonly points: readonly BatchPoint[];
  /** What a run over the repository alone takes. */
  readonly repositorySeconds: number;
}

export interface BatchPlan {
  readonly calibration: Calibration;
  readonly machines: number;
  /** Documents. */
  readonly repository: number;
  readonly documentBytes: number;
  /** In percent of the repository per hour. */
  readonly rates: readonly number[];
  readonly seed: number;
}

const CONTENTS = ['always', 'once'] as const;
export const BATCH_NAMES = {
  always: 'MapReduce, whole documents',
  once: 'MapReduce, keys after phase 1',
};
/** What the paper states of its batch (section 3.1). */
export const PAPER_BATCH: {
  readonly rate: number;
  readonly medianSeconds: number;
  readonly runSeconds: number;
} = { rate: 1, medianSeconds: 30 * 60, runSeconds: 20 * 60 };

export function batchCurves(plan: BatchPlan): readonly BatchCurve[] {
  const { machines, rates, calibration: given, ...others } = plan;
  const cluster = { ...given.cluster, tabletServers: machines };
  const calibration: Calibration = { ...given, cluster };
  const inOrder = rates.toSorted((a, b) => a - b);
  return CONTENTS.map((contents) => {
    const options: BatchOptions = { ...others, calibration, contents, backupTasks: true };
    const points = inOrder.map((rate) => simulateBatch(rate, options));
    return { contents, points, repositorySeconds: repositorySeconds(options) };
  });
}

export function batchTable(curves: readonly BatchCurve[]): ResultTable {
  return resultTable(
    {
      name: 'batch',
      title: 'The same documents through three MapReduces, repeatedly',
      caption:
        'Latency of a document: the rest of the run in progress, and then its own run. The paper does not say whether whole ' +
        'documents go through all three phases, so both are here. Where there is no latency, batches grow without end.',
    },
    curves.flatMap(({ contents, points }) =>
      points.map((point) => ({ batch: BATCH_NAMES[contents], ...point })),
    ),
    [
      column('batch', ({ batch }) => batch),
      column('% per hour', ({ rate }) => rate),
      column('median s', ({ medianSeconds }) => rounded(medianSeconds)),
      column('a run takes s', ({ runSeconds }) => rounded(runSeconds)),
      column('core seconds of a run', ({ cpuSecondsPerRun }) => rounded(cpuSecondsPerRun)),
    ],
    {
      batch: 'paper',
      '% per hour': PAPER_BATCH.rate,
      'median s': PAPER_BATCH.medianSeconds,
      'a run takes s': PAPER_BATCH.runSeconds,
    },
  );
}

export function batchSeries(curves: readonly BatchCurve[]): readonly ResultSeries[] {
  return curves.flatMap(({ contents, points }) =>
    series(points, ({ rate }) => ({ x: rate }), [
      line(BATCH_NAMES[contents], 'other', ({ medianSeconds }) => medianSeconds),
    ]),
  );
}

/**
 * A sentence about the batch at the lowest rate.
 * @param saidRate the rate of the document that the preceding sentence is about, if there is one
 */
export function batchSentence(curves: readonly BatchCurve[], saidRate: number | undefined): string {
  const [always, once] = CONTENTS.map(
    (contents) => curves.find((one) => one.contents === contents)?.points[0],
  );
  if (always === undefined || once === undefined) return '';
  const minutes = ({ medianSeconds }: BatchPoint): string =>
    medianSeconds === null ? 'forever' : `${formatCount(Math.round(medianSeconds / 60))} min`;
  const { rate } = always;
  const what = saidRate === undefined ? 'a document' : 'it';
  const where = rate === saidRate ? '' : ` at ${rate} % per hour`;
  const paperWhere = rate === PAPER_BATCH.rate ? '' : ` at ${PAPER_BATCH.rate} %`;
  return `In the batch ${what} waits ${minutes(always)}${where} (${minutes(once)} if keys alone reach phases 2 and 3); the paper's waited 30 min${paperWhere}.`;
}

/*
 * The batch of figure 7, run after run. A run is three MapReduces over the repository and all
 * documents that arrived during the run before. So a document waits for the run in progress, and
 * then for its own.
 */

export interface BatchOptions extends Omit<ClusteringOptions, 'documents'> {
  readonly calibration: Calibration;
  /** Documents. */
  readonly repository: number;
  /** Whether idle cores run copies of the tasks that still run. */
  readonly backupTasks: boolean;
  readonly seed: number;
}

/** The numbers are null if the batches grow without end. */
interface BatchPoint {
  /** In percent of the repository per hour. */
  readonly rate: number;
  /** The latency of a document, from its arrival until it has a cluster. */
  readonly medianSeconds: number | null;
  /** The mean time of the three MapReduces together. */
  readonly runSeconds: number | null;
  readonly cpuSecondsPerRun: number | null;
}

const WARM_UP_RUNS = 2;
const RUNS = 12;
/** If the last measured run took more than this many times the first, batches still grew. */
const STEADY_TIMES = 1.1;
/** Latencies taken from each run: arrivals are uniform, so a few stand for all. */
const SAMPLES_PER_RUN = 50;
/** Once the documents that arrived are this many times the repository, batches grow without end. */
const GROWN_TIMES = 20;

interface CycleRun {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/** The three MapReduces over this many documents. */
export function simulateRun(
  documents: number,
  { calibration, documentBytes, contents, backupTasks, seed }: BatchOptions,
  run = 0,
): CycleRun {
  const random = createRandom(seed).fork(`run ${run}`);
  const jobs = clusteringVolumes({ documents, documentBytes, contents }).map((volume, phase) =>
    simulateJob(volume, { calibration, backupTasks, random: random.fork(`phase ${phase}`) }),
  );
  return {
    seconds: sum(jobs.map(({ seconds }) => seconds)),
    cpuSeconds: sum(jobs.map(({ cpuSeconds }) => cpuSeconds)),
  };
}

/**
 * The mean time of the three MapReduces over the repository alone: no document is new. The slow
 * machines are those of the runs that `simulateBatch` measures.
 */
function repositorySeconds(options: BatchOptions): number {
  const runs = Array.from({ length: RUNS }, (_, i) =>
    simulateRun(options.repository, options, WARM_UP_RUNS + i),
  );
  return meanOrZero(runs.map(({ seconds }) => seconds));
}

/** Measures runs as soon as the batches no longer grow. */
export function simulateBatch(rate: number, options: BatchOptions): BatchPoint {
  const { repository } = options;
  const perSecond = (repository * rate) / 100 / 3600;
  let measured: BatchCycle[] = [];
  let lastSeconds = 0;
  for (let number = 0; perSecond * lastSeconds <= GROWN_TIMES * repository; number++) {
    const run = simulateRun(repository + perSecond * lastSeconds, options, number);
    if (number >= WARM_UP_RUNS) measured.push({ ...run, lastSeconds });
    lastSeconds = run.seconds;
    if (measured.length < RUNS) continue;
    if (isSteady(measured)) return pointOf(rate, measured);
    measured = [];
  }
  return { rate, medianSeconds: null, runSeconds: null, cpuSecondsPerRun: null };
}

/** A run, and how long the one before took, during which its documents arrived. */
interface BatchCycle extends CycleRun {
  readonly lastSeconds: number;
}

function isSteady(runs: readonly CycleRun[]): boolean {
  return (runs.at(-1)?.seconds ?? 0) <= STEADY_TIMES * (runs[0]?.seconds ?? 0);
}

function pointOf(rate: number, cycles: readonly BatchCycle[]): BatchPoint {
  const latencies = cycles.flatMap(({ seconds, lastSeconds }) =>
    Array.from(
      { length: SAMPLES_PER_RUN },
      (_, i) => ((i + 0.5) / SAMPLES_PER_RUN) * lastSeconds + seconds,
    ),
  );
  const sorted = latencies.toSorted((a, b) => a - b);
  return {
    rate,
    medianSeconds: sorted[Math.floor(sorted.length / 2)] ?? null,
    runSeconds: meanOrZero(cycles.map(({ seconds }) => seconds)),
    cpuSecondsPerRun: meanOrZero(cycles.map(({ cpuSeconds }) => cpuSeconds)),
  };
}
