/**
 * The workloads that can be tuned. A new workload is a new entry: how to load an empty storage, and
 * how to run on it with given settings, for a given time and concurrency.
 */
import type { Bigtable } from '#engine';
import { percentileMs } from '#results';
import type { Check } from '../../crawl-rate/check.ts';
import type { LoopOptions, LoopResult } from '../../harness/load/timed-loop.ts';
import { crawlDocuments, loadCrawl, openCrawl } from '../../crawl-rate/clustering-loop.ts';
import { type EngineValues, settingsOf } from '../../harness/engine-settings.ts';
import { loadMicroBenchmark, openMicroBenchmark } from './micro.ts';
import { DEFAULTS } from './candidates.ts';
import type { Trial } from './search.ts';

export const TUNED = ['crawl-rate', 'micro'] as const;

export interface TunedRun extends AsyncDisposable {
  run(options: LoopOptions): Promise<LoopResult>;
  /** Must be the last call. */
  check(): Promise<Check>;
}

export interface TunedWorkload {
  /** The counted unit: documents, transactions. */
  readonly unit: string;
  /** The settings of the defaults that no trial changes, because they have no effect. */
  readonly fixed: Partial<EngineValues>;
  load(store: Bigtable, data: Data): Promise<void>;
  open(store: Bigtable, values: EngineValues, data: Data): Promise<TunedRun>;
}

export interface Data {
  /** Documents, or rows, that are loaded before the first run. */
  readonly size: number;
  readonly seed: number;
  /** The most operations in flight: in `crawl-rate`, the observer runs of all workers. */
  readonly concurrency: number;
}

export const WORKLOADS: Readonly<Record<(typeof TUNED)[number], TunedWorkload>> = {
  'crawl-rate': {
    unit: 'documents',
    fixed: {},
    load: (store, { size, seed }) => loadCrawl(store, crawlDocuments(size, seed)),
    open: (store, values, { size, seed, concurrency }) =>
      openCrawl(store, {
        settings: settingsOf(values),
        documents: crawlDocuments(size, seed),
        scanners: values.scanners,
        concurrency,
      }),
  },
  micro: {
    unit: 'transactions',
    fixed: { scanners: DEFAULTS.scanners }, // It has no worker.
    load: (store, { size }) => loadMicroBenchmark(store, size),
    open: (store, values, { size, seed }) =>
      openMicroBenchmark(store, settingsOf(values), { rows: size, seed }),
  },
};

/**
 * Lengths of the warm-up, and of the part with one document or transaction at a time, as shares of
 * the busy part.
 */
const WARM_UP = 0.25;
const ALONE = 0.25;

/**
 * One trial: loads the empty storage, warms up and measures.
 * @throws if its check fails: the speed of a wrong answer is meaningless
 */
export async function tryOut(
  workload: TunedWorkload,
  store: Bigtable,
  trial: {
    readonly values: EngineValues;
    readonly data: Data;
    /** Length of the busy part. */
    readonly seconds: number;
    /** Wraps the storage, for example to make it more distant. */
    readonly wrap: (store: Bigtable) => Bigtable;
    readonly signal: AbortSignal;
  },
): Promise<Trial> {
  const { values, data, seconds, signal } = trial;
  const { concurrency } = data;
  await workload.load(store, data);
  await using opened = await workload.open(trial.wrap(store), values, data);
  await opened.run({ concurrency, seconds: seconds * WARM_UP, signal });
  const busy = await opened.run({ concurrency, seconds, signal });
  const alone = await opened.run({ concurrency: 1, seconds: seconds * ALONE, signal });
  const check = await opened.check();
  if (!check.passed) throw new Error(`the trial has no numbers: ${check.detail}`);
  return { perSecond: busy.done / busy.seconds, latencyMs: percentileMs(alone.latencies, 50) };
}
