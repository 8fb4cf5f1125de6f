/**
 * One point of the Percolator curve: one crawl rate, on a store that has only the repository.
 *
 *   1. Start the engine's processes on it; they load and cluster the arriving documents.
 *   2. Announce the documents on schedule: the warm-up, then the measured interval.
 *   3. Let them drain, take their histograms, and stop them.
 *   4. Open the store again in this process, and compare the partition with the reference
 *      clustering.
 */
import { openPercolator, openStore } from '#engine';
import type { Histogram, TimeSeriesRow } from '#results';
import { Crew } from '../../harness/processes/index.ts';
import { createSyntheticDocuments, documentId, type KeyedDocument } from '../documents/index.ts';
import { type Check, checkPartition } from '../check.ts';
import { generate } from '../../harness/load/generator.ts';
import { monotonicUs } from '../../harness/load/monotonic-clock.ts';
import { judge, type KeptUp } from '../saturation.ts';
import { dueBy, measuredFromUs } from '../../harness/load/schedule.ts';
import { countDirty, readPartition } from './read-partition.ts';
import { type EngineOptions, EngineProcesses, type EngineResult } from './processes.ts';

/** `store` has the repository and nothing else of ours. */
export interface PercolatorPointOptions extends EngineOptions {
  readonly seconds: number;
  readonly signal: AbortSignal;
}

export interface PercolatorPoint {
  readonly histogram: Histogram;
  readonly series: readonly TimeSeriesRow[];
  readonly keptUp: KeptUp;
  readonly check: Check;
  readonly generatorLagP99Ms: number;
  readonly cpuSecondsPerDocument: number;
  /** Over the measured interval. */
  readonly completedPerSecond: number;
  readonly engine: EngineResult;
}

export async function measurePercolator(options: PercolatorPointOptions): Promise<PercolatorPoint> {
  const { schedule, seconds } = options;
  const { engine, series, generatorLagP99Ms } = await runEngine(options);
  const fromSecond = measuredFromUs(schedule) / 1e6;
  const measured = series.filter((row) => row.seconds >= fromSecond);
  return {
    histogram: engine.histogram,
    series,
    keptUp: judge({
      series: measured,
      perSecond: schedule.perSecond,
      seconds,
      halfMediansMs: engine.halfMediansMs,
    }),
    check: await checkPoint(options, engine),
    generatorLagP99Ms,
    cpuSecondsPerDocument: engine.cpuSeconds / Math.max(1, engine.commits.length),
    completedPerSecond: completionRate(measured),
    engine,
  };
}

/** Documents per second from the first sample to the last; 0 if there is no second one. */
export function completionRate(series: readonly TimeSeriesRow[]): number {
  const [first, last] = [series[0], series.at(-1)];
  if (first === undefined || last === undefined || first === last) return 0;
  return (last.completed - first.completed) / (last.seconds - first.seconds);
}

interface EngineRun {
  readonly engine: EngineResult;
  readonly series: readonly TimeSeriesRow[];
  readonly generatorLagP99Ms: number;
}

/** Runs the processes from their start to their result. */
async function runEngine(options: PercolatorPointOptions): Promise<EngineRun> {
  const { schedule, signal } = options;
  const series: TimeSeriesRow[] = [];
  let startUs = 0;
  await using crew = new Crew(signal);
  const processes = new EngineProcesses(crew, (completed) => {
    if (startUs === 0) return;
    const elapsedUs = monotonicUs() - startUs;
    series.push({ seconds: elapsedUs / 1e6, arrived: dueBy(schedule, elapsedUs), completed });
  });
  await processes.start(options);
  startUs = monotonicUs();
  processes.begin(startUs);
  const announce = (end: number): void => processes.announce(end);
  const { lagP99Ms } = await crew.during(generate(schedule, startUs, announce, signal));
  const inTime = series.length; // Later samples are the drain.
  const engine = await processes.finish();
  return { engine, series: series.slice(0, inTime), generatorLagP99Ms: lagP99Ms };
}

async function checkPoint(options: PercolatorPointOptions, engine: EngineResult): Promise<Check> {
  if (!engine.drained) {
    return { passed: false, detail: 'some documents were not clustered within a minute' };
  }
  await using store = await openStore(options.store);
  await using percolator = await openPercolator({ store });
  const dirty = await countDirty(percolator);
  if (dirty > 0) return { passed: false, detail: `${dirty} notifications were not cleared` };
  const partition = await readPartition(percolator);
  return checkPartition(partition, inCommitOrder(options, engine), 'commit order');
}

/**
 * Every miss was validated at commit and no hit ever changes, so the commit order is a serial order
 * of the transactions: the reference clustering must find exactly the partition in the table.
 * Yields the repository's documents, then the new ones by commit timestamp.
 */
function* inCommitOrder(
  { documents: given, schedule }: PercolatorPointOptions,
  { commits }: EngineResult,
): Generator<KeyedDocument> {
  const documents = createSyntheticDocuments(given);
  const newOnes = commits.toSorted(([, a], [, b]) => a - b).map(([n]) => schedule.first + n);
  for (let number = 0; number < schedule.first; number++) {
    yield { id: documentId(number), keys: documents.keysOf(number) };
  }
  for (const number of newOnes) yield { id: documentId(number), keys: documents.keysOf(number) };
}
