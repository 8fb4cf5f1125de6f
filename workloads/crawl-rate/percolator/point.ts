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
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { sum } from 'simple-statistics';
import { openPercolator, openStore, type StoreAddress, systemClock } from '#engine';
import { counted, type Histogram, mergeHistograms, percentileMs, type ProgressRow } from '#results';
import { live, type LiveTimes, type Probe } from '#harness';
import { monotonicUs } from '../../harness/load/monotonic-clock.ts';
import {
  dueBy,
  generate,
  measuredFromUs,
  type Schedule,
  scheduledDocuments,
} from '../../harness/load/schedule.ts';
import { byTurns, Crew, type Member, startEngine } from '../../harness/processes/index.ts';
import type { RemoteHost } from '../../harness/processes/program.ts';
import { cpuSecondsOf } from '../../harness/processes/processor-time.ts';
import { type Check, checkInThread, checkPartition, type FinishedStore } from '../check.ts';
import { createSyntheticDocuments, documentId, type KeyedDocument } from '../documents/index.ts';
import { judge, type KeptUp, type Observation } from '../saturation.ts';
import {
  type FromLoader,
  type FromWorker,
  type ProcessOptions,
  REPORT_MS,
  type ToLoader,
  type ToWorker,
  type WorkerResult,
} from './messages.ts';
import { Latencies } from './serve-engine.ts';
import { countDirty, readPartition } from './tables.ts';

/** `store` has the repository and nothing else of ours. */
export interface PercolatorPointOptions extends EngineOptions {
  readonly seconds: number;
  /** The processes that serve the store; null if they are not known. */
  readonly serverPids: readonly number[] | null;
  /** Of the engine's processes; none: they are here. */
  readonly hosts: readonly RemoteHost[];
  readonly signal: AbortSignal;
}

export interface PercolatorPoint {
  readonly histogram: Histogram;
  readonly series: readonly ProgressRow[];
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
  series: readonly ProgressRow[],
): Pick<Observation, 'series' | 'perSecond' | 'seconds'> {
  const fromSecond = measuredFromUs(schedule) / 1e6;
  const measured = series.filter((row) => row.seconds >= fromSecond);
  return { series: measured, perSecond: schedule.perSecond, seconds };
}

/** Documents per second from the first sample to the last; 0 if there is no second one. */
export function completionRate(series: readonly ProgressRow[]): number {
  const [first, last] = [series[0], series.at(-1)];
  if (first === undefined || last === undefined || first === last) return 0;
  return (last.completed - first.completed) / (last.seconds - first.seconds);
}

interface EngineRun {
  readonly engine: EngineResult;
  readonly series: readonly ProgressRow[];
  readonly generatorLagP99Ms: number;
}

/** Runs the processes from their start to their result. */
async function runEngine(options: PercolatorPointOptions): Promise<EngineRun> {
  const { schedule, hosts, signal } = options;
  const samples = new Samples(schedule);
  let startUs = 0;
  const elapsedUs = (): number => monotonicUs() - startUs;
  await using crew = new Crew(signal, { placeOf: byTurns(hosts) });
  const processes = new EngineProcesses(crew, (completed) => {
    if (startUs > 0) samples.add(elapsedUs(), completed);
  });
  await processes.start({ ...options, isTold: hosts.length > 0 });
  using _ = live.show(probesOf(schedule, samples, processes));
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

function probesOf(
  schedule: Schedule,
  samples: Samples,
  { toldTimes }: EngineProcesses,
): readonly Probe[] {
  return [
    { panel: 'throughput', series: 'documents clustered', rate: () => samples.last.completed },
    { panel: 'throughput', series: 'offered', level: () => schedule.perSecond, isTarget: true },
    {
      panel: 'waiting',
      series: 'documents not clustered',
      level: () => samples.last.arrived - samples.last.completed,
    },
    ...(toldTimes === undefined
      ? []
      : [{ panel: 'latency', series: 'until clustered', times: toldTimes } as const]),
  ];
}

/**
 * The number of documents to wait for after the interval: all, because without those that wait at
 * its end the latencies would look better than they were. None if the engine did not keep up: it
 * has no latency, and all of them might take hours.
 */
function awaitedDocuments(options: PercolatorPointOptions, series: readonly ProgressRow[]): number {
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

/*
 * How many documents had arrived, and how many of them were clustered, over the time of a point.
 *
 * A process that stops also stops reporting, and by its last report it had kept up. So when a
 * report is overdue, a sample is taken without it: documents arrive, and no more are clustered.
 */

/** On a busy machine a report is often a little late. */
const OVERDUE_SECONDS = (2 * REPORT_MS) / 1000;

export class Samples {
  readonly #schedule: Schedule;
  readonly #rows: ProgressRow[] = [];

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  /** The samples so far. */
  get rows(): readonly ProgressRow[] {
    return [...this.#rows];
  }

  get last(): ProgressRow {
    return this.#rows.at(-1) ?? { seconds: 0, arrived: 0, completed: 0 };
  }

  /** @param completed the number of clustered documents, as just reported */
  add(elapsedUs: number, completed: number): void {
    const arrived = dueBy(this.#schedule, elapsedUs);
    this.#rows.push({ seconds: elapsedUs / 1e6, arrived, completed });
  }

  addIfOverdue(elapsedUs: number): void {
    const last = this.#rows.at(-1);
    if (last !== undefined && elapsedUs / 1e6 - last.seconds < OVERDUE_SECONDS) return;
    this.add(elapsedUs, last?.completed ?? 0);
  }
}

/*
 * The processes of a point, as the generator sees them: a loader, workers that cluster, and
 * services.
 *
 *     --processes not given     one process loads and clusters; the oracle is kept in the store
 *     --processes N             oracle, lock service, loader and N workers, one process each
 */

interface EngineResult {
  /** Whether documents that `finish` waited for still waited after a minute. */
  readonly stillWaiting: boolean;
  /** Whether all documents that were loaded were clustered in time. */
  readonly drained: boolean;
  readonly histogram: Histogram;
  readonly halfMediansMs: readonly [number | null, number | null];
  readonly commits: readonly (readonly [n: number, commitTimestamp: number])[];
  /** CPU time of all processes of the engine, from start to end. */
  readonly cpuSeconds: number;
}

export interface EngineOptions extends Omit<ProcessOptions, 'database'> {
  readonly store: StoreAddress;
  /** Worker processes; undefined for one process that does everything. */
  readonly processes: number | undefined;
}

/** How long each of the two waits of `finish` may take, in milliseconds. */
const DRAIN_MS_MAX = 60_000;
const ENGINE = new URL('engine-process.ts', import.meta.url);
const LOADER = new URL('loader-process.ts', import.meta.url);
const WORKER = new URL('worker-process.ts', import.meta.url);

export class EngineProcesses {
  readonly #crew: Crew;
  readonly #onProgress: (completed: number) => void;
  #workers: readonly Member[] = [];
  #loader: Member | undefined;
  /** Documents that each worker has clustered, by its last report. */
  readonly #completed: number[] = [];
  readonly #loaded = Promise.withResolvers<number>();
  readonly #results: PromiseWithResolvers<WorkerResult>[] = [];
  /** Of the commits that workers tell of; undefined if they take the times themselves. */
  #told: Latencies | undefined;

  /** Calls `onProgress` with the number of clustered documents, several times a second. */
  constructor(crew: Crew, onProgress: (completed: number) => void) {
    this.#crew = crew;
    this.#onProgress = onProgress;
  }

  async start({ store, processes, ...rest }: EngineOptions): Promise<void> {
    if (rest.isTold === true) this.#told = new Latencies(rest.schedule);
    for (let i = 0; i < (processes ?? 1); i++) this.#results.push(Promise.withResolvers());
    const onMessage = (message: unknown, worker = 0): void =>
      this.#hear(message as FromWorker | FromLoader, worker);
    const start = (name: string, program: URL, options: ProcessOptions): Promise<Member> =>
      this.#crew.start({ name, program, options, onMessage });
    if (processes === undefined) {
      this.#loader = await start('the engine', ENGINE, { ...rest, database: { store } });
      this.#workers = [this.#loader];
      return;
    }
    const engine = await startEngine(this.#crew, { store });
    const concurrency = Math.ceil(rest.concurrency / processes);
    const options = { ...rest, concurrency, database: { shared: engine.database } };
    this.#workers = await engine.startWorkers(processes, { program: WORKER, options, onMessage });
    this.#loader = await start('the loader', LOADER, options);
  }

  /** Latencies that are taken here. */
  get toldTimes(): LiveTimes | undefined {
    return this.#told?.times;
  }

  begin(startUs: number): void {
    this.#told?.begin(startUs);
    if (this.#told !== undefined) return;
    for (const worker of this.#workers) {
      worker.send({ kind: 'begin', startUs } satisfies ToWorker);
    }
  }

  /** All documents before `end` have arrived. */
  announce(end: number): void {
    this.#tellLoader({ kind: 'due', end });
  }

  /**
   * Waits until `awaited` documents are clustered, for a minute at most. Then drops those that have
   * not begun to load, waits until all others are clustered, and stops all processes.
   */
  async finish(awaited: number): Promise<EngineResult> {
    const stillWaiting = !(await this.#drain(awaited));
    this.#tellLoader({ kind: 'finish' });
    const loaded = await this.#crew.during(this.#loaded.promise);
    const drained = await this.#drain(loaded);
    for (const worker of this.#workers) worker.send({ kind: 'report' } satisfies ToWorker);
    const results = await this.#crew.during(
      Promise.all(this.#results.map(({ promise }) => promise)),
    );
    const ends = await this.#crew.stop();
    const cpuSeconds = sum(ends.map((end) => end.cpuSeconds));
    return { stillWaiting, drained, cpuSeconds, ...merged(results, this.#told) };
  }

  /** Waits until this many documents are clustered; false if that takes too long. */
  async #drain(documents: number): Promise<boolean> {
    const untilMs = systemClock.monotonicMs() + DRAIN_MS_MAX;
    while (sum(this.#completed) < documents) {
      if (systemClock.monotonicMs() > untilMs) return false;
      await this.#crew.during(systemClock.sleep(5));
    }
    return true;
  }

  #hear(message: FromWorker | FromLoader, worker: number): void {
    if (message.kind === 'loaded') return this.#loaded.resolve(message.documents);
    if (message.kind === 'committed') {
      for (const n of message.documents) this.#told?.add(n);
      return undefined;
    }
    if (message.kind === 'result') return this.#results[worker]?.resolve(message);
    this.#completed[worker] = message.completed;
    const documents = sum(this.#completed);
    this.#tellLoader({ kind: 'clustered', documents });
    this.#onProgress(documents);
    return undefined;
  }

  #tellLoader(message: ToLoader): void {
    this.#loader?.send(message);
  }
}

function merged(
  results: readonly WorkerResult[],
  told: Latencies | undefined,
): Pick<EngineResult, 'histogram' | 'halfMediansMs' | 'commits'> {
  const all = [...results, ...(told === undefined ? [] : [told])];
  const half = (i: 0 | 1): Histogram =>
    mergeHistograms(all.map(({ halves }) => decodeFromCompressedBase64(halves[i])));
  const [first, second] = [half(0), half(1)];
  return {
    histogram: mergeHistograms([first, second]),
    halfMediansMs: [medianMs(first), medianMs(second)],
    commits: results.flatMap(({ commits }) => commits),
  };
}

function medianMs(histogram: Histogram): number | null {
  return histogram.totalCount === 0 ? null : percentileMs(histogram, 50);
}
