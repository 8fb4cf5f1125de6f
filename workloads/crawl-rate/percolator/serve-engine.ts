/**
 * What the processes of the engine have in common: they open the database, load the documents that
 * arrive, and cluster them.
 */
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import {
  type CommittedRun,
  type Observer,
  openPercolator,
  openStore,
  type Percolator,
  type PercolatorOptions,
  unreachable,
} from '#engine';
import { createLatencyHistogram } from '#results';
import { databaseProbes, live, LiveTimes, workerProbes } from '#harness';
import { settingsOf } from '../../harness/engine-settings.ts';
import { monotonicUs } from '../../harness/load/monotonic-clock.ts';
import { dueUs, type Schedule } from '../../harness/load/schedule.ts';
import { openDatabase, type OpenDatabase, tellParent } from '../../harness/processes/index.ts';
import { createSyntheticDocuments, documentId, encodeDocument } from '../documents/index.ts';
import {
  type FromLoader,
  type FromWorker,
  type ProcessOptions,
  REPORT_MS,
  type ToLoader,
  type ToWorker,
  type WorkerResult,
} from './messages.ts';
import { documentCell } from './tables.ts';

/** With range locks only where several processes share the database. */
type ProcessDatabase = Omit<OpenDatabase, 'rangeLocks'> & Partial<OpenDatabase>;

export async function openProcessDatabase({
  database,
  engine,
}: ProcessOptions): Promise<ProcessDatabase> {
  const settings: Partial<PercolatorOptions> = settingsOf(engine);
  if ('shared' in database) return openDatabase(database.shared, settings);
  const store = await openStore(database.store);
  const percolator = await openPercolator({ store, ...settings });
  const shown = live.show(databaseProbes(percolator));
  const close = async (): Promise<void> => {
    shown[Symbol.dispose]();
    await percolator.close();
    await store.close();
  };
  return { percolator, close };
}

/** The loading part of a process. */
export function startLoading(
  percolator: Percolator,
  options: ProcessOptions,
): { readonly loading: Loading; readonly hear: (message: ToLoader) => void } {
  const loading = new Loading(percolator, options);
  const finish = async (): Promise<void> => {
    tellParent({ kind: 'loaded', documents: await loading.finish() } satisfies FromLoader);
  };
  const hear = (message: ToLoader): void => {
    switch (message.kind) {
      case 'due':
        return loading.load(message.end);
      case 'clustered':
        return loading.setClustered(message.documents);
      case 'finish':
        return void finish();
      default:
        return unreachable(message);
    }
  };
  return { loading, hear };
}

/** The clustering part of a process: runs the observers, and reports progress to the parent. */
export function startClustering(
  { percolator, rangeLocks }: ProcessDatabase,
  observers: readonly Observer[],
  options: ProcessOptions & { readonly onClustered?: ((documents: number) => void) | undefined },
): { readonly hear: (message: ToWorker) => void; readonly stop: () => Promise<void> } {
  const { schedule, concurrency, engine, isTold = false, onClustered = () => {} } = options;
  const clustered = new Clustered(schedule, isTold ? tellingCommits() : undefined);
  const workers = Array.from({ length: engine.scanners }, () =>
    percolator.startWorker(observers, {
      concurrency: Math.ceil(concurrency / engine.scanners),
      rangeLocks,
      onCommitted: (run) => {
        clustered.add(run);
        onClustered(clustered.documents);
      },
    }),
  );
  const shown = live.show([
    ...workerProbes(workers),
    { panel: 'latency', series: 'until clustered', times: clustered.times },
  ]);
  const report = (): void =>
    tellParent({ kind: 'progress', completed: clustered.documents } satisfies FromWorker);
  const reporter = setInterval(report, REPORT_MS);
  const hear = (message: ToWorker): void => {
    switch (message.kind) {
      case 'begin':
        return clustered.begin(message.startUs);
      case 'report':
        return tellParent(clustered.result() satisfies FromWorker);
      default:
        return unreachable(message);
    }
  };
  const stop = async (): Promise<void> => {
    clearInterval(reporter);
    shown[Symbol.dispose]();
    await Promise.all(workers.map((worker) => worker.stop()));
  };
  return { hear, stop };
}

/* Loads the arrived documents in order, one transaction each. */

/** Loading transactions in flight; further documents wait in order of arrival. */
const LOADING_MAX = 256;
/**
 * Loading pauses while this many documents have begun to load and are not yet clustered. Above the
 * engine's capacity, loading would otherwise take CPU time from clustering, and fewer documents
 * would be finished. Arrivals do not pause.
 */
const UNCLUSTERED_MAX = 2048;

export class Loading {
  readonly #percolator: Percolator;
  readonly #first: number;
  readonly #documents: ReturnType<typeof createSyntheticDocuments>;
  /**
   * Documents of the schedule that have arrived, have begun to load, are loading, and are loaded.
   */
  #due = 0;
  #begun = 0;
  #loading = 0;
  #loaded = 0;
  /** Clustered documents, as last reported to this process. */
  #clustered = 0;
  readonly #finished = Promise.withResolvers<number>();
  #isFinishing = false;

  constructor(percolator: Percolator, { documents, schedule }: ProcessOptions) {
    this.#percolator = percolator;
    this.#first = schedule.first;
    this.#documents = createSyntheticDocuments(documents);
  }

  /** All documents before `end` have arrived. */
  load(end: number): void {
    this.#due = end;
    this.#fill();
  }

  setClustered(documents: number): void {
    this.#clustered = documents;
    this.#fill();
  }

  /**
   * Drops the documents that have not begun to load; resolves with the number loaded, once all
   * others are.
   */
  finish(): Promise<number> {
    this.#due = this.#begun;
    this.#isFinishing = true;
    this.#fill();
    return this.#finished.promise;
  }

  #fill(): void {
    const beginMax = Math.min(this.#due, this.#clustered + UNCLUSTERED_MAX);
    while (this.#loading < LOADING_MAX && this.#begun < beginMax) {
      const n = this.#begun++;
      this.#loading++;
      void this.#loadOne(n).finally(() => {
        this.#loading--;
        this.#fill();
      });
    }
    if (this.#isFinishing && this.#loading === 0) this.#finished.resolve(this.#loaded);
  }

  async #loadOne(n: number): Promise<void> {
    const number = this.#first + n;
    const value = encodeDocument(this.#documents.documentOf(number));
    await this.#percolator.transact(async (transaction) => {
      transaction.set(documentCell(documentId(number)), value);
    });
    this.#loaded++;
  }
}

/** Tells the parent of all commits of a turn of the event loop, at its end. */
function tellingCommits(): (n: number) => void {
  let documents: number[] = [];
  const tell = (): void => {
    tellParent({ kind: 'committed', documents } satisfies FromWorker);
    documents = [];
  };
  return (n) => {
    if (documents.push(n) === 1) setImmediate(tell);
  };
}

/*
 * The documents that a worker has clustered during a point: when each was committed, and its
 * latency since it was due.
 */

export class Clustered {
  readonly #first: number;
  readonly #latencies: Latencies;
  readonly #tell: ((n: number) => void) | undefined;
  /**
   * Arrival numbers with their commit timestamps, in the order in which the commits were reported.
   */
  readonly #commits: [n: number, commitTimestamp: number][] = [];

  /** @param tell takes the place of the latencies */
  constructor(schedule: Schedule, tell?: (n: number) => void) {
    this.#first = schedule.first;
    this.#latencies = new Latencies(schedule);
    this.#tell = tell;
  }

  get documents(): number {
    return this.#commits.length;
  }

  get times(): LiveTimes {
    return this.#latencies.times;
  }

  begin(startUs: number): void {
    this.#latencies.begin(startUs);
  }

  add({ cell, commitTimestamp }: CommittedRun): void {
    const n = Number(cell.row) - this.#first;
    this.#commits.push([n, commitTimestamp]);
    if (this.#tell === undefined) this.#latencies.add(n);
    else this.#tell(n);
  }

  result(): WorkerResult {
    return { kind: 'result', halves: this.#latencies.halves, commits: this.#commits };
  }
}

/** Latencies since each document was due, by the clock of the process that has them. */
export class Latencies {
  /** Those of the present second, in a run that is watched. */
  readonly times: LiveTimes = new LiveTimes();
  readonly #isWatched = live.isWatched;
  readonly #schedule: Schedule;
  /** In microseconds, for each half of the measured interval. */
  readonly #halves = [createLatencyHistogram(), createLatencyHistogram()] as const;
  /** When the schedule began, in microseconds of the machine's monotonic clock. */
  #startUs = 0;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  begin(startUs: number): void {
    this.#startUs = startUs;
  }

  /** The document was committed just now. */
  add(n: number): void {
    const nowUs = monotonicUs();
    const { warmupDocuments, documents } = this.#schedule;
    if (n < warmupDocuments) return;
    const latencyUs = Math.max(0, Math.round(nowUs - this.#startUs - dueUs(this.#schedule, n)));
    const half = n - warmupDocuments < documents / 2 ? 0 : 1;
    this.#halves[half].recordValue(latencyUs);
    if (this.#isWatched) this.times.record(latencyUs);
  }

  get halves(): WorkerResult['halves'] {
    const [first, second] = this.#halves;
    return [encodeIntoCompressedBase64(first), encodeIntoCompressedBase64(second)];
  }
}
