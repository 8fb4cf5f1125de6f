/**
 * One point of the Percolator curve: one crawl rate, on a store that has only the repository.
 *
 *   1. Start the engine's processes on it; they load and cluster the arriving documents.
 *   2. Announce the documents on schedule: the warm-up, then the measured interval.
 *   3. Let the processes drain, take their histograms, and stop them. Documents that arrived and
 *      have not begun to load are dropped if the engine did not keep up, or needs more than a
 *      minute for them, and otherwise measured.
 *   4. Open the store again in a thread, and compare the partition with the reference clustering.
 */
import { openPercolator, openStore } from '#engine';
import { counted, type Histogram, type TimeSeriesRow } from '#results';
import { Crew } from '../../harness/processes/index.ts';
import { cpuSecondsOf } from '../../harness/processes/processor-time.ts';
import { createSyntheticDocuments, documentId, type KeyedDocument } from '../documents/index.ts';
import { type Check, checkInThread, checkPartition, type FinishedStore } from '../check.ts';
import { generate } from '../../harness/load/generator.ts';
import { monotonicUs } from '../../harness/load/monotonic-clock.ts';
import { judge, type KeptUp, type Observation } from '../saturation.ts';
import { measuredFromUs, scheduledDocuments } from '../../harness/load/schedule.ts';
import { countDirty, readPartition } from './read-partition.ts';
import { type EngineOptions, EngineProcesses, type EngineResult } from './processes.ts';
import { Samples } from './samples.ts';

/** `store` has the repository and nothing else of ours. */
export interface PercolatorPointOptions extends EngineOptions {
  readonly seconds: number;
  /** The processes that serve the store; null if they are not known. */
  readonly serverPids: readonly number[] | null;
  readonly signal: AbortSignal;
}

export interface PercolatorPoint {
  readonly histogram: Histogram;
  readonly series: readonly TimeSeriesRow[];
  readonly keptUp: KeptUp;
  readonly check: Check;
  readonly generatorLagP99Ms: number;
  /** Of the engine and of the store's servers; null if the servers' time is not known. */
  readonly cpuSecondsPerDocument: number | null;
  /** Over the measured interval. */
  readonly completedPerSecond: number;
  readonly engine: EngineResult;
}

export async function measurePercolator(options: PercolatorPointOptions): Promise<PercolatorPoint> {
  const before = serverSeconds(options.serverPids);
  const { engine, series, generatorLagP99Ms } = await runEngine(options);
  const after = serverSeconds(options.serverPids);
  const observed = observedIn(options, series);
  const { halfMediansMs, stillWaiting } = engine;
  return {
    histogram: engine.histogram,
    series,
    keptUp: judge({ ...observed, halfMediansMs, stillWaiting }),
    check: await checkPoint(options, engine),
    generatorLagP99Ms,
    cpuSecondsPerDocument:
      before === null || after === null
        ? null
        : (engine.cpuSeconds + after - before) / Math.max(1, engine.commits.length),
    completedPerSecond: completionRate(observed.series),
    engine,
  };
}

/** CPU seconds of the store's servers so far, 0 if it has none; null if they are not known. */
export function serverSeconds(pids: readonly number[] | null): number | null {
  if (pids === null) return null;
  return pids.length === 0 ? 0 : cpuSecondsOf(pids);
}

/** What was seen of the measured interval. */
function observedIn(
  { schedule, seconds }: PercolatorPointOptions,
  series: readonly TimeSeriesRow[],
): Pick<Observation, 'series' | 'perSecond' | 'seconds'> {
  const fromSecond = measuredFromUs(schedule) / 1e6;
  const measured = series.filter((row) => row.seconds >= fromSecond);
  return { series: measured, perSecond: schedule.perSecond, seconds };
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
  const samples = new Samples(schedule);
  let startUs = 0;
  const elapsedUs = (): number => monotonicUs() - startUs;
  await using crew = new Crew(signal);
  const processes = new EngineProcesses(crew, (completed) => {
    if (startUs > 0) samples.add(elapsedUs(), completed);
  });
  await processes.start(options);
  startUs = monotonicUs();
  processes.begin(startUs);
  const announce = (end: number): void => {
    samples.addIfOverdue(elapsedUs());
    processes.announce(end);
  };
  const { lagP99Ms } = await crew.during(generate(schedule, startUs, announce, signal));
  samples.addIfOverdue(elapsedUs());
  const series = samples.rows; // Later samples are the drain.
  const engine = await processes.finish(awaitedDocuments(options, series));
  return { engine, series, generatorLagP99Ms: lagP99Ms };
}

/**
 * The number of documents to wait for after the interval: all, because without those that wait at
 * its end the latencies would look better than they were. None if the engine did not keep up: it
 * has no latency, and all of them might take hours.
 */
function awaitedDocuments(
  options: PercolatorPointOptions,
  series: readonly TimeSeriesRow[],
): number {
  const { saturated } = judge({ ...observedIn(options, series), halfMediansMs: [null, null] });
  return saturated ? 0 : scheduledDocuments(options.schedule);
}

async function checkPoint(options: PercolatorPointOptions, engine: EngineResult): Promise<Check> {
  if (!engine.drained) {
    return { passed: false, detail: 'some documents were not clustered within a minute' };
  }
  const { store, documents, schedule, signal } = options;
  const commits = engine.commits.toSorted(([, a], [, b]) => a - b);
  const order = commits.map(([n]) => schedule.first + n);
  return checkInThread({ store, documents, order }, signal);
}

/**
 * Every miss was validated at commit and no hit ever changes, so the commit order is a serial order
 * of the transactions: the reference clustering must find exactly the partition in the table.
 */
export async function checkStore(finished: FinishedStore): Promise<Check> {
  await using store = await openStore(finished.store);
  await using percolator = await openPercolator({ store });
  const dirty = await countDirty(percolator);
  if (dirty > 0) {
    return { passed: false, detail: `${counted(dirty, 'notifications')} not cleared` };
  }
  const partition = await readPartition(percolator);
  return checkPartition(partition, inCommitOrder(finished), 'commit order');
}

/** Yields the repository's documents, then the new ones. */
function* inCommitOrder({ documents: given, order }: FinishedStore): Generator<KeyedDocument> {
  const documents = createSyntheticDocuments(given);
  for (let number = 0; number < given.repository; number++) {
    yield { id: documentId(number), keys: documents.keysOf(number) };
  }
  for (const number of order) yield { id: documentId(number), keys: documents.keysOf(number) };
}
