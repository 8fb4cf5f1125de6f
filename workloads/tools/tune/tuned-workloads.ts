/**
 * What can be tuned: the candidate settings, which are the defaults and others drawn at random from
 * values that make a difference; and the workloads. A new workload is a new entry: how to load an
 * empty storage, and how to run on it with given settings, for a given time and concurrency.
 */
import {
  type Bigtable,
  createRandom,
  openBulkLoader,
  openPercolator,
  type Percolator,
  type Random,
} from '#engine';
import { counted } from '#harness';
import { percentileMs } from '#results';
import type { Check } from '../../crawl-rate/check.ts';
import { crawlDocuments, loadCrawl, openCrawl } from '../../crawl-rate/clustering-loop.ts';
import {
  type EngineSettings,
  type EngineValues,
  settingsOf,
} from '../../harness/engine-settings.ts';
import { type LoopOptions, type LoopResult, timedLoop } from '../../harness/load/loops.ts';
import type { Trial } from './search.ts';

export const DEFAULTS: EngineValues = {
  batching: 'off',
  batchDelay: 1,
  batchRows: 256,
  batchInFlight: 8,
  prefetch: 'off',
  scanners: 1,
};

const SPACE = {
  batching: ['off', 'on', 'on', 'on'],
  batchDelay: [0, 1, 2, 5, 10],
  batchRows: [16, 64, 256, 1_024],
  batchInFlight: [1, 2, 4, 8, 32],
  prefetch: ['off', 'learn'],
  scanners: [1, 2, 4],
} as const;

/**
 * Draws `count` different candidates, the defaults first; fewer if there are no more.
 * @param fixed settings that have no effect, and so are not drawn
 */
export function drawCandidates(
  count: number,
  random: Random,
  fixed: Partial<EngineValues> = {},
): readonly EngineValues[] {
  const drawn = new Map([[nameOf(DEFAULTS), DEFAULTS]]);
  for (let attempt = 0; drawn.size < count && attempt < 100 * count; attempt++) {
    const values = { ...drawOne(random), ...fixed };
    if (!drawn.has(nameOf(values))) drawn.set(nameOf(values), values);
  }
  return [...drawn.values()];
}

/** The name of the settings for tables; those without effect are omitted. */
export function nameOf({ batching, prefetch, scanners, ...batch }: EngineValues): string {
  const words = [
    batching === 'off'
      ? 'no batching'
      : `batches of ${batch.batchRows} rows, ${batch.batchDelay} ms, ${batch.batchInFlight} in flight`,
    ...(prefetch === 'off' ? [] : ['prefetch']),
    counted(scanners, 'scanners'),
  ];
  return words.join(', ');
}

function drawOne(random: Random): EngineValues {
  const batching = random.pick(SPACE.batching);
  const batch = {
    batchDelay: random.pick(SPACE.batchDelay),
    batchRows: random.pick(SPACE.batchRows),
    batchInFlight: random.pick(SPACE.batchInFlight),
  };
  return {
    ...DEFAULTS,
    ...(batching === 'off' ? {} : batch),
    batching,
    prefetch: random.pick(SPACE.prefetch),
    scanners: random.pick(SPACE.scanners),
  };
}

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

/*
 * Single-cell transactions on random rows, alternately a read and a rewrite: the work of the
 * paper's figure 8, for tuning. A rewrite adds one to the cell's number, so the sum of all is the
 * number of rewrites, unless an update was lost.
 */

const TABLE = 'micro';
const COLUMN = 'number';

export interface MicroBenchmark extends AsyncDisposable {
  run(options: LoopOptions): Promise<LoopResult>;
  check(): Promise<Check>;
}

async function loadMicroBenchmark(store: Bigtable, rows: number): Promise<void> {
  await using percolator = await openPercolator({ store });
  await percolator.createTable(TABLE);
  const loader = await openBulkLoader(percolator);
  for (let n = 0; n < rows; n++) {
    await loader.add({
      table: TABLE,
      row: rowOf(n),
      cells: [{ column: COLUMN, value: Buffer.from('0') }],
    });
  }
  await loader.finish();
}

async function openMicroBenchmark(
  store: Bigtable,
  settings: EngineSettings,
  { rows, seed }: { readonly rows: number; readonly seed: number },
): Promise<MicroBenchmark> {
  const percolator = await openPercolator({ store, ...settings });
  const random = createRandom(seed);
  let rewrites = 0;
  const one = async (n: number): Promise<void> => {
    const cell = { table: TABLE, row: rowOf(random.integer(0, rows - 1)), column: COLUMN };
    const isRewrite = n % 2 === 1;
    await percolator.transact(
      async (transaction) => {
        const number = Number(await transaction.get(cell));
        if (isRewrite) transaction.set(cell, String(number + 1));
      },
      { kind: isRewrite ? 'rewrite' : 'read' },
    );
    if (isRewrite) rewrites++;
  };
  return {
    run: (options) => timedLoop(one, options),
    check: () => checkSum(percolator, rewrites),
    [Symbol.asyncDispose]: () => percolator.close(),
  };
}

async function checkSum(percolator: Percolator, rewrites: number): Promise<Check> {
  let sum = 0;
  await using snapshot = await percolator.snapshot();
  for await (const { values } of snapshot.scan({ table: TABLE, columns: [COLUMN] })) {
    sum += Number(values.get(COLUMN));
  }
  return {
    passed: sum === rewrites,
    detail: `the numbers add up to ${sum} after ${rewrites} rewrites`,
  };
}

function rowOf(n: number): string {
  return String(n).padStart(9, '0');
}
