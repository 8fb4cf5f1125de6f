/**
 * The processes of a point, as the generator sees them: a loader, workers that cluster, and
 * services.
 *
 *     --processes not given     one process loads and clusters; the oracle is kept in the store
 *     --processes N             oracle, lock service, loader and N workers, one process each
 */
import { decodeFromCompressedBase64 } from 'hdr-histogram-js';
import { type StoreAddress, systemClock } from '#engine';
import { type Histogram, mergeHistograms, percentileMs } from '#results';
import { type Crew, type Member, startServices } from '../../harness/processes/index.ts';
import type {
  FromLoader,
  FromWorker,
  ProcessOptions,
  ToLoader,
  ToWorker,
  WorkerResult,
} from './messages.ts';

export interface EngineResult {
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
  readonly #workers: Member[] = [];
  #loader: Member | undefined;
  /** Documents that each worker has clustered, by its last report. */
  readonly #completed: number[] = [];
  readonly #loaded = Promise.withResolvers<number>();
  readonly #results: PromiseWithResolvers<WorkerResult>[] = [];

  /** Calls `onProgress` with the number of clustered documents, several times a second. */
  constructor(crew: Crew, onProgress: (completed: number) => void) {
    this.#crew = crew;
    this.#onProgress = onProgress;
  }

  async start({ store, processes, ...rest }: EngineOptions): Promise<void> {
    if (processes === undefined) {
      const options = { ...rest, database: { store } } satisfies ProcessOptions;
      this.#loader = await this.#startWorker('the engine', ENGINE, options);
      return;
    }
    const shared = await startServices(this.#crew, store);
    const concurrency = Math.ceil(rest.concurrency / processes);
    const options = { ...rest, concurrency, database: { shared } } satisfies ProcessOptions;
    for (let i = 1; i <= processes; i++) await this.#startWorker(`worker ${i}`, WORKER, options);
    const onMessage = (message: unknown): void => this.#hearLoader(message as FromLoader);
    this.#loader = await this.#crew.start({
      name: 'the loader',
      program: LOADER,
      options,
      onMessage,
    });
  }

  begin(startUs: number): void {
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
    return { stillWaiting, drained, cpuSeconds, ...merged(results) };
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

  #startWorker(name: string, program: URL, options: ProcessOptions): Promise<Member> {
    const index = this.#results.length;
    this.#results.push(Promise.withResolvers());
    const onMessage = (message: unknown): void => {
      this.#hearWorker(index, message as FromWorker | FromLoader);
    };
    const started = this.#crew.start({ name, program, options, onMessage });
    return started.then((worker) => {
      this.#workers.push(worker);
      return worker;
    });
  }

  #hearLoader({ documents }: FromLoader): void {
    this.#loaded.resolve(documents);
  }

  #hearWorker(index: number, message: FromWorker | FromLoader): void {
    if (message.kind === 'loaded') return this.#hearLoader(message);
    if (message.kind === 'result') return this.#results[index]?.resolve(message);
    this.#completed[index] = message.completed;
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
): Pick<EngineResult, 'histogram' | 'halfMediansMs' | 'commits'> {
  const half = (i: 0 | 1): Histogram =>
    mergeHistograms(results.map(({ halves }) => decodeFromCompressedBase64(halves[i])));
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

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
