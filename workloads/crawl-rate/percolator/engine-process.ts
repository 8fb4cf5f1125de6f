/**
 * The engine's process during a point: loads the documents it is told of, and clusters them.
 *
 *     generator (the parent) ──"these are due"──▶ loading transactions ─▶ notifications ─▶ observers
 *
 * It answers with how far it is, ten times a second, and at the end with its histogram and the commit
 * order. Started by point.ts with an IPC channel; of no use by itself.
 */
import { getEachMessage, sendMessage } from 'execa';
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import {
  openPercolator,
  systemClock,
  unreachable,
  type CommittedRun,
  type Percolator,
} from '#engine';
import { createLatencyHistogram } from '#results';
import { settingsOf } from '../../tuning/engine-settings.ts';
import { createSyntheticDocuments, documentId, encodeDocument } from '../documents/index.ts';
import { monotonicUs } from '../monotonic-clock.ts';
import { dueUs } from '../schedule.ts';
import { clusteringObserver } from './clustering-observer.ts';
import type { FromEngine, StartMessage, ToEngine } from './messages.ts';
import { documentCell } from './tables.ts';

/** Loading transactions in flight; more wait in the order they arrived. */
const LOADING_MAX = 256;
/**
 * Documents between arrival and clustering at which loading pauses. Beyond what the engine can do, loading would
 * otherwise take the machine away from clustering, and less would be finished. Arrivals do not pause.
 */
const UNCLUSTERED_MAX = 2048;
/** Between two reports of progress, in milliseconds. */
const REPORT_MS = 100;
/** How long the last documents may take after the end, in milliseconds. */
const DRAIN_MS_MAX = 60_000;

class EngineProcess {
  readonly #percolator: Percolator;
  readonly #start: StartMessage;
  readonly #documents: ReturnType<typeof createSyntheticDocuments>;
  /** Latencies in microseconds: all measured documents, and those of either half of the interval. */
  readonly #histogram = createLatencyHistogram();
  readonly #halves = [createLatencyHistogram(), createLatencyHistogram()] as const;
  /** Arrival numbers in commit order, with their commit timestamps. */
  readonly #commits: [n: number, commitTimestamp: number][] = [];
  /** When the schedule began, in microseconds of the machine's monotonic clock. */
  #startUs = 0;
  /** Documents of the schedule that have arrived, that have begun to load, that are loading, that are loaded. */
  #due = 0;
  #begun = 0;
  #loading = 0;
  #loaded = 0;

  constructor(percolator: Percolator, start: StartMessage) {
    this.#percolator = percolator;
    this.#start = start;
    this.#documents = createSyntheticDocuments(start.documents);
  }

  begin(startUs: number): void {
    this.#startUs = startUs;
  }

  /** All documents before `end` have arrived. */
  load(end: number): void {
    this.#due = end;
    this.#fill();
  }

  readonly onCommitted = ({ cell, commitTimestamp }: CommittedRun): void => {
    const nowUs = monotonicUs();
    const { schedule } = this.#start;
    const n = Number(cell.row) - schedule.first;
    this.#commits.push([n, commitTimestamp]);
    this.#fill();
    if (n < schedule.warmupDocuments) return;
    const latencyUs = Math.max(0, Math.round(nowUs - this.#startUs - dueUs(schedule, n)));
    this.#histogram.recordValue(latencyUs);
    const half = n - schedule.warmupDocuments < schedule.documents / 2 ? 0 : 1;
    this.#halves[half].recordValue(latencyUs);
  };

  progress(): FromEngine {
    return { kind: 'progress', completed: this.#commits.length };
  }

  /** Gives up what has not begun to load, and waits until everything else is clustered. */
  async drain(): Promise<boolean> {
    this.#due = this.#begun;
    const untilMs = systemClock.monotonicMs() + DRAIN_MS_MAX;
    while (this.#loading > 0 || this.#commits.length < this.#loaded) {
      if (systemClock.monotonicMs() > untilMs) return false;
      await systemClock.sleep(5);
    }
    return true;
  }

  result(drained: boolean): FromEngine {
    const { user, system } = process.cpuUsage();
    const medians = this.#halves.map((half) =>
      half.totalCount === 0 ? null : half.getValueAtPercentile(50) / 1000,
    );
    return {
      kind: 'result',
      drained,
      histogram: encodeIntoCompressedBase64(this.#histogram),
      halfMediansMs: [medians[0] ?? null, medians[1] ?? null],
      commits: this.#commits,
      cpuSeconds: (user + system) / 1e6,
      counters: { ...this.#percolator.counters },
    };
  }

  #fill(): void {
    const beginMax = Math.min(this.#due, this.#commits.length + UNCLUSTERED_MAX);
    while (this.#loading < LOADING_MAX && this.#begun < beginMax) {
      const n = this.#begun++;
      this.#loading++;
      void this.#loadOne(n).finally(() => {
        this.#loading--;
        this.#fill();
      });
    }
  }

  async #loadOne(n: number): Promise<void> {
    const number = this.#start.schedule.first + n;
    const value = encodeDocument(this.#documents.documentOf(number));
    await this.#percolator.transact(async (transaction) => {
      transaction.set(documentCell(documentId(number)), value);
    });
    this.#loaded++;
  }
}

/** Does what the parent says until it says stop. */
async function serve(): Promise<void> {
  let running: Running | undefined;
  for await (const received of getEachMessage()) {
    const message = received as ToEngine;
    switch (message.kind) {
      case 'start':
        running = await startEngine(message);
        break;
      case 'begin':
        running?.engine.begin(message.startUs);
        break;
      case 'due':
        running?.engine.load(message.end);
        break;
      case 'stop':
        await running?.stop();
        return;
      default:
        unreachable(message);
    }
  }
}

interface Running {
  readonly engine: EngineProcess;
  /** Drains, reports and closes. */
  stop(): Promise<void>;
}

async function startEngine(message: StartMessage): Promise<Running> {
  const percolator = await openPercolator({
    folder: message.folder,
    ...settingsOf(message.engine),
  });
  const engine = new EngineProcess(percolator, message);
  const { scanners } = message.engine;
  const workers = Array.from({ length: scanners }, () =>
    percolator.startWorker([clusteringObserver], {
      concurrency: Math.ceil(message.concurrency / scanners),
      onCommitted: engine.onCommitted,
    }),
  );
  const reporter = setInterval(() => void sendMessage(engine.progress()), REPORT_MS);
  await sendMessage({ kind: 'ready' } satisfies FromEngine);
  const stop = async (): Promise<void> => {
    const drained = await engine.drain();
    clearInterval(reporter);
    await Promise.all(workers.map((worker) => worker.stop()));
    await sendMessage(engine.result(drained));
    await percolator.close();
  };
  return { engine, stop };
}

await serve();
