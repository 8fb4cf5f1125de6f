/**
 * The batch of figure 7: three MapReduces over the repository and all documents that arrived during
 * the three before, again and again. A document waits for the run in progress, and then for its own.
 */
import { createRandom } from '#engine/base';
import type { Calibration } from '../calibration/calibration.ts';
import { type ClusteringOptions, clusteringVolumes } from './clustering.ts';
import { simulateJob } from './job.ts';

export interface BatchOptions extends Omit<ClusteringOptions, 'documents'> {
  readonly calibration: Calibration;
  readonly repository: number;
  readonly backupTasks: boolean;
  readonly seed: number;
}

export interface BatchPoint {
  /** In percent of the repository per hour. */
  readonly rate: number;
  /** Of a document from its arrival to its cluster; null if the batches grow without end. */
  readonly medianSeconds: number | null;
  readonly runSeconds: number;
  readonly cpuSecondsPerRun: number;
}

const WARM_UP_RUNS = 2;
const RUNS = 12;
/** Latencies of each run: arrivals are uniform, so a few stand for all. */
const SAMPLES_PER_RUN = 50;
/** A batch that has become so many times the repository grows without end. */
const GROWN_TIMES = 20;

/** The three MapReduces over so many documents. */
export function simulateRun(
  documents: number,
  { calibration, documentBytes, contents, backupTasks, seed }: BatchOptions,
  run = 0,
): { readonly seconds: number; readonly cpuSeconds: number } {
  const random = createRandom(seed).fork(`run ${run}`);
  const jobs = clusteringVolumes({ documents, documentBytes, contents }).map((volume, phase) =>
    simulateJob(volume, { calibration, backupTasks, random: random.fork(`phase ${phase}`) }),
  );
  return {
    seconds: jobs.reduce((sum, { seconds }) => sum + seconds, 0),
    cpuSeconds: jobs.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0),
  };
}

export function simulateBatch(rate: number, options: BatchOptions): BatchPoint {
  const { repository } = options;
  const perSecond = (repository * rate) / 100 / 3600;
  const latencies: number[] = [];
  const runs: { readonly seconds: number; readonly cpuSeconds: number }[] = [];
  let lastSeconds = 0;
  for (let run = 0; run < WARM_UP_RUNS + RUNS; run++) {
    const batch = perSecond * lastSeconds;
    if (batch > GROWN_TIMES * repository) break;
    const { seconds, cpuSeconds } = simulateRun(repository + batch, options, run);
    if (run >= WARM_UP_RUNS) {
      runs.push({ seconds, cpuSeconds });
      for (let i = 0; i < SAMPLES_PER_RUN; i++) {
        latencies.push(((i + 0.5) / SAMPLES_PER_RUN) * lastSeconds + seconds);
      }
    }
    lastSeconds = seconds;
  }
  const sorted = latencies.toSorted((a, b) => a - b);
  const [first, last] = [runs[0]?.seconds ?? Infinity, runs.at(-1)?.seconds ?? Infinity];
  const isGrowing = runs.length < RUNS || last > 1.5 * first;
  return {
    rate,
    medianSeconds: isGrowing ? null : (sorted[Math.floor(sorted.length / 2)] ?? null),
    runSeconds: mean(runs.map(({ seconds }) => seconds)),
    cpuSecondsPerRun: mean(runs.map(({ cpuSeconds }) => cpuSeconds)),
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
