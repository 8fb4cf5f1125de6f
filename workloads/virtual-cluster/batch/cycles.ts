/**
 * The batch of figure 7, run after run. A run is three MapReduces over the repository and all
 * documents that arrived during the run before. So a document waits for the run in progress, and
 * then for its own.
 */
import { createRandom } from '#engine/base';
import type { Calibration } from '../calibration/calibration.ts';
import { type ClusteringOptions, clusteringVolumes } from './clustering.ts';
import { simulateJob } from './job.ts';
import { mean } from '../../harness/statistics/mean.ts';

export interface BatchOptions extends Omit<ClusteringOptions, 'documents'> {
  readonly calibration: Calibration;
  /** Documents. */
  readonly repository: number;
  /** Whether idle cores run copies of the tasks that still run. */
  readonly backupTasks: boolean;
  readonly seed: number;
}

/** The numbers are null if the batches grow without end. */
export interface BatchPoint {
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

interface Run {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/** The three MapReduces over this many documents. */
export function simulateRun(
  documents: number,
  { calibration, documentBytes, contents, backupTasks, seed }: BatchOptions,
  run = 0,
): Run {
  const random = createRandom(seed).fork(`run ${run}`);
  const jobs = clusteringVolumes({ documents, documentBytes, contents }).map((volume, phase) =>
    simulateJob(volume, { calibration, backupTasks, random: random.fork(`phase ${phase}`) }),
  );
  return {
    seconds: jobs.reduce((sum, { seconds }) => sum + seconds, 0),
    cpuSeconds: jobs.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
  };
}

/**
 * The mean time of the three MapReduces over the repository alone: no document is new. The slow
 * machines are those of the runs that `simulateBatch` measures.
 */
export function repositorySeconds(options: BatchOptions): number {
  const runs = Array.from({ length: RUNS }, (_, i) =>
    simulateRun(options.repository, options, WARM_UP_RUNS + i),
  );
  return mean(runs.map(({ seconds }) => seconds));
}

/** Measures runs as soon as the batches no longer grow. */
export function simulateBatch(rate: number, options: BatchOptions): BatchPoint {
  const { repository } = options;
  const perSecond = (repository * rate) / 100 / 3600;
  let measured: Cycle[] = [];
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
interface Cycle extends Run {
  readonly lastSeconds: number;
}

function isSteady(runs: readonly Run[]): boolean {
  return (runs.at(-1)?.seconds ?? 0) <= STEADY_TIMES * (runs[0]?.seconds ?? 0);
}

function pointOf(rate: number, cycles: readonly Cycle[]): BatchPoint {
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
    runSeconds: mean(cycles.map(({ seconds }) => seconds)),
    cpuSecondsPerRun: mean(cycles.map(({ cpuSeconds }) => cpuSeconds)),
  };
}
