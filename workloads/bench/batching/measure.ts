/**
 * The measurements of `./run.sh bench:batching`: the same work on the same storage, with each
 * optimisation off and on. Each repeat measures all variants once, in an order drawn from the seed.
 */
import { sum } from 'simple-statistics';
import {
  batchTimestamps,
  type Bigtable,
  createRandom,
  openAllocator,
  openBulkLoader,
  openPercolator,
  type Percolator,
  type TimestampOracle,
  viewOf,
} from '#engine';
import type { Progress } from '#harness';
import { type Histogram, mergeHistograms, percentileMs, statedPercentileMs } from '#results';
import { crawlDocuments, loadCrawl, openCrawl } from '../../crawl-rate/clustering-loop.ts';
import {
  type EngineSettings,
  type EngineValues,
  settingsOf,
} from '../../harness/engine-settings.ts';
import { type LoopOptions, type LoopResult, timedLoop } from '../../harness/load/loops.ts';
import type { STORES } from '../../harness/stores.ts';
import {
  copyCounts,
  countCalls,
  countsPerUnit,
  type Distance,
  distantStore,
  type StoreCounts,
  total,
} from '../../harness/watched-stores.ts';

interface EngineVariant {
  readonly name: string;
  readonly settings: EngineSettings;
  /** Whether conditional mutations may share an RPC; in the public API they may not. */
  readonly conditionalBatch: boolean;
}

/** One workload under one variant, all repeats together; counts are per document or transaction. */
export interface VariantResult {
  readonly variant: string;
  readonly done: number;
  /** The rate of each repeat. */
  readonly perSecond: readonly number[];
  readonly operations: number;
  readonly rpcs: number;
  readonly readRpcs: number;
  readonly conditionalRpcs: number;
  readonly blindRpcs: number;
  readonly scanRpcs: number;
  /** Prefetched cells that were not used. */
  readonly wasted: number;
  /** CPU time of this process: engine, workload and an embedded storage. */
  readonly cpuMs: number;
  readonly medianMs: number;
  /** Null with too few latencies. */
  readonly p99Ms: number | null;
  /** The median latency of one transaction at a time, which has no other to share calls with. */
  readonly aloneMedianMs: number;
  /** Latencies that the percentiles are taken from. */
  readonly samples: number;
  readonly aloneSamples: number;
}

export interface BenchOptions {
  readonly variants: readonly EngineVariant[];
  readonly roundTripMs: number;
  readonly repository: number;
  readonly documents: number;
  readonly transactions: number;
  readonly concurrency: number;
  readonly repeats: number;
  readonly seed: number;
}

export interface BenchContext {
  /** Opens an empty storage without other users; disposing of it deletes its data. */
  readonly openEmpty: () => Promise<Bigtable>;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

interface RepeatResult {
  readonly counts: StoreCounts;
  readonly done: number;
  readonly seconds: number;
  readonly wasted: number;
  readonly cpuMs: number;
  readonly latencies: Histogram;
  readonly alone: Histogram;
}

/** Warm-up before a run, as a share of its documents or transactions. */
const WARM_UP = 0.15;
/** Documents or transactions that run one at a time, after the others. */
const ALONE = 50;

export async function benchCrawl(
  options: BenchOptions,
  context: BenchContext,
): Promise<readonly VariantResult[]> {
  return measureInTurns('clustering documents', options, context, (variant, seed) =>
    measureCrawl(options, variant, { ...context, seed }),
  );
}

export async function benchTenColumns(
  options: BenchOptions,
  context: BenchContext,
): Promise<readonly VariantResult[]> {
  return measureInTurns('reading rows of ten columns', options, context, (variant, seed) =>
    measureTenColumns(options, variant, { ...context, seed }),
  );
}

async function measureInTurns(
  name: string,
  { variants, repeats, seed }: BenchOptions,
  { progress, signal }: BenchContext,
  measure: (variant: EngineVariant, seed: number) => Promise<RepeatResult>,
): Promise<readonly VariantResult[]> {
  const random = createRandom(seed).fork(name);
  const parts = new Map<string, RepeatResult[]>(variants.map((variant) => [variant.name, []]));
  progress.phase(name, repeats * variants.length, 'runs');
  let done = 0;
  for (let repeat = 0; repeat < repeats; repeat++) {
    const left = [...variants];
    while (left.length > 0) {
      signal.throwIfAborted();
      const [variant] = left.splice(random.integer(0, left.length - 1), 1);
      if (variant === undefined) break;
      parts.get(variant.name)?.push(await measure(variant, seed + repeat));
      progress.update(++done);
    }
  }
  return [...parts].map(([variant, ofVariant]) => merged(variant, ofVariant));
}

async function measureCrawl(
  { repository, documents: count, concurrency, roundTripMs }: BenchOptions,
  variant: EngineVariant,
  { openEmpty, signal, seed }: BenchContext & { readonly seed: number },
): Promise<RepeatResult> {
  await using store = await openEmpty();
  const documents = crawlDocuments(repository, seed);
  await loadCrawl(store, documents);
  const counted = await countedStore(store, variant, roundTripMs);
  const { settings } = variant;
  await using crawl = await openCrawl(counted.store, {
    settings,
    oracle: counted.oracle,
    documents,
    scanners: 1,
    concurrency,
  });
  const part = await measured(counted.counts, crawl.percolator, {
    warmUp: () => crawl.run({ count: Math.ceil(count * WARM_UP), concurrency, signal }),
    busy: () => crawl.run({ count, concurrency, signal }),
    alone: () => crawl.run({ count: ALONE, concurrency: 1, signal }),
  });
  const check = await crawl.check();
  if (!check.passed) throw new Error(`variant ${variant.name} has no numbers: ${check.detail}`);
  return part;
}

async function measureTenColumns(
  { repository: rows, transactions: count, concurrency, roundTripMs }: BenchOptions,
  variant: EngineVariant,
  { openEmpty, signal, seed }: BenchContext & { readonly seed: number },
): Promise<RepeatResult> {
  await using store = await openEmpty();
  await loadTenColumns(store, rows);
  const counted = await countedStore(store, variant, roundTripMs);
  await using reading = await openTenColumns(counted, variant.settings);
  const run = { rows, seed, signal };
  return await measured(counted.counts, reading.percolator, {
    warmUp: () => reading.run({ ...run, count: Math.ceil(count * WARM_UP), concurrency }),
    busy: () => reading.run({ ...run, count, concurrency }),
    alone: () => reading.run({ ...run, count: ALONE, concurrency: 1 }),
  });
}

/**
 * The oracle takes the place of a separate service at the same distance; its own calls of the
 * storage are not counted.
 */
async function countedStore(
  store: Bigtable,
  { conditionalBatch }: EngineVariant,
  roundTripMs: number,
): Promise<ReturnType<typeof countCalls> & { readonly oracle: TimestampOracle }> {
  const distance: Distance = {
    roundTripMs,
    conditionalBatch: conditionalBatch && store.manifest.conditionalBatch,
  };
  const distant = distantStore(store, distance);
  return { ...countCalls(distant), oracle: batchTimestamps(await openAllocator(distant)) };
}

type Loop = Awaited<ReturnType<Awaited<ReturnType<typeof openTenColumns>>['run']>>;

async function measured(
  counts: StoreCounts,
  percolator: Awaited<ReturnType<typeof openTenColumns>>['percolator'],
  loops: { readonly [K in 'warmUp' | 'busy' | 'alone']: () => Promise<Loop> },
): Promise<RepeatResult> {
  await loops.warmUp();
  await percolator.settled();
  const before = { counts: copyCounts(counts), wasted: wastedBy(percolator) };
  const cpuBefore = process.cpuUsage();
  const busy = await loops.busy();
  await percolator.settled();
  const cpu = process.cpuUsage(cpuBefore);
  const cpuMs = (cpu.user + cpu.system) / 1_000 / busy.done;
  const perUnit = countsPerUnit(counts, before.counts, busy.done);
  const wasted = (wastedBy(percolator) - before.wasted) / busy.done;
  const alone = await loops.alone();
  const { done, seconds, latencies } = busy;
  return { counts: perUnit, done, seconds, wasted, cpuMs, latencies, alone: alone.latencies };
}

function wastedBy({ counters }: Parameters<typeof measured>[1]): number {
  return counters.prefetched - counters.prefetchedUsed;
}

function merged(variant: string, parts: readonly RepeatResult[]): VariantResult {
  const done = sum(parts.map((part) => part.done));
  const mean = (of: (part: RepeatResult) => number): number =>
    sum(parts.map((part) => of(part) * part.done)) / done;
  const latencies = mergeHistograms(parts.map((part) => part.latencies));
  const alone = mergeHistograms(parts.map((part) => part.alone));
  return {
    variant,
    done,
    perSecond: parts.map((part) => part.done / part.seconds),
    operations: mean(({ counts }) => total(counts, 'operations')),
    rpcs: mean(({ counts }) => total(counts, 'rpcs')),
    readRpcs: mean(({ counts }) => counts.reads.rpcs),
    conditionalRpcs: mean(({ counts }) => counts.conditionals.rpcs),
    blindRpcs: mean(({ counts }) => counts.blind.rpcs),
    scanRpcs: mean(({ counts }) => counts.scans.rpcs),
    wasted: mean((part) => part.wasted),
    cpuMs: mean((part) => part.cpuMs),
    medianMs: percentileMs(latencies, 50),
    p99Ms: statedPercentileMs(latencies, 99),
    aloneMedianMs: percentileMs(alone, 50),
    samples: latencies.totalCount,
    aloneSamples: alone.totalCount,
  };
}

type VariantOptions = Pick<EngineValues, 'batchDelay' | 'batchRows' | 'batchInFlight'> & {
  readonly store: (typeof STORES)[number];
};

/** The emulator has the public API alone, so there "both" is "both, public API". */
export function variantsOf({ store, ...values }: VariantOptions): readonly EngineVariant[] {
  const variant = (
    name: string,
    batching: 'off' | 'on',
    prefetch: 'off' | 'learn',
  ): EngineVariant => ({
    name,
    settings: settingsOf({ ...values, batching, prefetch }),
    conditionalBatch: true,
  });
  const publicApi = { ...variant('both, public API', 'on', 'learn'), conditionalBatch: false };
  return [
    variant('off', 'off', 'off'),
    variant('prefetch', 'off', 'learn'),
    variant('batching', 'on', 'off'),
    variant('both', 'on', 'learn'),
    ...(store === 'emulator' ? [] : [publicApi]),
  ];
}

/*
 * The second workload: rows with ten columns, and transactions that read all ten of a row, one
 * after the other, as if each read depended on the one before: the work that prefetching is for.
 * The rows are drawn from the seed, so each variant reads the same ones.
 */
const TABLE = 'ten-columns';
const COLUMNS = Array.from({ length: 10 }, (_, i) => `column-${i}`);

export interface TenColumns extends AsyncDisposable {
  readonly percolator: Percolator;
  /** Reads rows. Rejects if a value is not the one that was loaded. */
  run(options: LoopOptions & { readonly rows: number; readonly seed: number }): Promise<LoopResult>;
}

async function loadTenColumns(store: Bigtable, rows: number): Promise<void> {
  await using percolator = await openPercolator({ store });
  await percolator.createTable(TABLE);
  const loader = await openBulkLoader(percolator);
  for (let n = 0; n < rows; n++) {
    const cells = COLUMNS.map((column) => ({ column, value: valueOf(n, column) }));
    await loader.add({ table: TABLE, row: rowOf(n), cells });
  }
  await loader.finish();
}

async function openTenColumns(
  services: { readonly store: Bigtable; readonly oracle?: TimestampOracle | undefined },
  settings: EngineSettings,
): Promise<TenColumns> {
  const percolator = await openPercolator({
    store: services.store,
    oracle: services.oracle,
    ...settings,
  });
  return {
    percolator,
    run: ({ rows, seed, ...options }) => {
      const random = createRandom(seed);
      return timedLoop(() => readRow(percolator, random.integer(0, rows - 1)), options);
    },
    [Symbol.asyncDispose]: () => percolator.close(),
  };
}

async function readRow(percolator: Percolator, n: number): Promise<void> {
  await percolator.transact(
    async (transaction) => {
      for (const column of COLUMNS) {
        const value = await transaction.get({ table: TABLE, row: rowOf(n), column });
        if (value !== undefined && viewOf(value).equals(valueOf(n, column))) continue;
        throw new Error(`column ${column} of row ${n} is not the value that was loaded`);
      }
    },
    { kind: 'ten-columns' },
  );
}

function rowOf(n: number): string {
  return String(n).padStart(9, '0');
}

function valueOf(n: number, column: string): Buffer {
  return Buffer.from(`${column} of row ${n}`.padEnd(100));
}
