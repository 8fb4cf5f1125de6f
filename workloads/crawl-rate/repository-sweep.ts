/**
 * `--sweep repository`: does the cost of a document depend on the size of the repository?
 *
 * A batch pays for the whole repository, an incremental system for the document alone (section 1).
 * That holds only if the storage under it costs the same at every size.
 *
 *   1. For each size, load the repository into an embedded store of its own, and note the time.
 *   2. For each repeat, each size in random order: copy the store, cluster a few new documents to
 *      warm up, then measure more of them, the same number at each size, at full speed, and check
 *      the partition. Before the first repeat the smallest size has a turn that does not count, in
 *      which the code is compiled.
 *
 * Everything that is measured runs in one thread, so the processor time of the process is that of
 * loader, engine, storage and oracle together. The partition is checked in a thread that has a heap
 * of its own: a check of millions of documents leaves a large heap, in which the garbage of the
 * next turn would be collected less often than after the check of a small repository.
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { sum } from 'simple-statistics';
import { createRandom, openPercolator, openStore } from '#engine';
import { counted, measureChecked, type Measuring, type RunPlan as ExperimentPlan } from '#harness';
import {
  column,
  type FindingsParts,
  formatCount,
  formatJudged,
  higher,
  line,
  lower,
  resultTable,
  rowName,
  series,
  TARGETS,
} from '#results';
import { shuffled } from '../harness/chance.ts';
import { type EngineValues, engineValuesOf, settingsOf } from '../harness/engine-settings.ts';
import { parametersOf } from '../harness/experiment/plan.ts';
import { runThread } from '../harness/processes/thread.ts';
import { type Estimate, estimate, intervalOf, rounded } from '../harness/statistics.ts';
import { copyStore, describeStore } from '../harness/stores.ts';
import type { Check } from './check.ts';
import { crawlDocuments, keyed, openCrawl } from './clustering-loop.ts';
import { clusterOneByOne } from './documents/index.ts';
import { type LoadOptions, loadRepository } from './percolator/load-repository.ts';
import type { Plan } from './plan.ts';

/** What a thread needs for the check of a turn. */
export interface FinishedTurn {
  readonly folder: string;
  readonly size: number;
  readonly seed: number;
  /** The numbers of the new documents, in commit order. */
  readonly order: readonly number[];
}

export type SweepPlan = Pick<Plan, 'repository' | 'repeats' | 'seed' | 'concurrency' | 'engine'>;

/** The smallest size of a sweep, and the factor from one size to the next. */
const SMALLEST = 10_000;
const FACTOR = 10;
/** New documents, as shares of the smallest repository: many more would make it a larger one. */
const WARM_UP_PART = 0.1;
const MEASURED_PART = 0.4;

/** Guesses for the plan. */
const LOADED_PER_SECOND = 20_000;
const CHECKED_PER_SECOND = 25_000;
const BYTES_PER_DOCUMENT = 2_500;

/** The name and the subject of the record of a sweep. */
export const SWEEP = {
  name: 'crawl-rate-repository',
  subject: {
    kicker: 'Percolator paper, section 1',
    title: 'What a document costs, by the size of the repository',
  },
} as const;

/** The plan of a sweep. Its parameters are only the options that a sweep uses. */
export function sweepPlan(
  options: Omit<SweepPlan, 'engine'> & EngineValues & { readonly sweep: string },
): ExperimentPlan {
  const { sweep, repository, repeats, seed, concurrency } = options;
  const engine = engineValuesOf(options);
  const sizes = sweptSizes(repository);
  const all = sum(sizes);
  return {
    about: `new documents at full speed in repositories of ${counted(sizes.length, 'sizes')} up to ${counted(repository, 'documents')}, ${repeats} times each`,
    seconds: 2 + all / LOADED_PER_SECOND + (repeats * all) / CHECKED_PER_SECOND,
    diskBytes: (all + repository) * BYTES_PER_DOCUMENT,
    parameters: parametersOf({ sweep, repository, repeats, seed, concurrency, ...engine }),
    store: describeStore('embedded'),
    limitations: [
      'One process does everything, so the processor time includes that of the loader and of the oracle.',
      'A turn adds half of the smallest repository to each, so the smallest grows by half while it is measured.',
    ],
  };
}

/**
 * From 10,000 documents by factors of ten to the given size. If that is at most 10,000: half of it,
 * and all of it.
 */
function sweptSizes(largest: number): readonly number[] {
  const sizes = [];
  for (let size = SMALLEST; size < largest; size *= FACTOR) sizes.push(size);
  return [...(sizes.length > 0 ? sizes : [Math.floor(largest / 2)]), largest];
}

/**
 * Keeps what was found after each repeat.
 * @throws if a check fails: the cost of a wrong answer is meaningless, and no number is kept
 */
export async function sweepRepository(
  plan: SweepPlan,
  measuring: Measuring,
): Promise<FindingsParts> {
  const { keep, progress, signal } = measuring;
  const sizes = sweptSizes(plan.repository);
  const loads = await loadAll(sizes, plan, measuring);
  const turns = new Map<number, SweepTurn[]>(sizes.map((size) => [size, []]));
  const found = (): FindingsParts =>
    sweepFindings(
      Array.from(loads, ([repository, loadSeconds]) => {
        return { repository, loadSeconds, turns: turns.get(repository) ?? [] };
      }),
    );
  const random = createRandom(plan.seed).fork('sweep');
  const measured = Array.from({ length: plan.repeats }, () => shuffled(random, sizes)).flat();
  const order = [...sizes.slice(0, 1), ...measured];
  progress.phase('clustering new documents', order.length, 'turns');
  for (const [done, size] of order.entries()) {
    const copy = path.join(measuring.work, 'copy');
    await copyStore(folderOf(size, measuring), copy);
    const { turn, order: commits } = await measureTurn(copy, size, { plan, sizes, signal });
    const finished = { folder: copy, size, seed: plan.seed, order: commits };
    const check = await checkOf(finished, signal); // If it cannot be made, earlier turns count.
    await measureChecked(measuring, async () => refuseFailed(size, check));
    if (done > 0) turns.get(size)?.push(turn);
    await rm(copy, { recursive: true });
    progress.update(done + 1);
    if (done > 0 && done % sizes.length === 0) keep(found());
  }
  return found();
}

/** Loads a store for each size. Resolves with the seconds that each took. */
async function loadAll(
  sizes: readonly number[],
  { seed }: SweepPlan,
  { work, progress, signal }: Measuring,
): Promise<ReadonlyMap<number, number>> {
  const loads = new Map<number, number>();
  let loaded = 0;
  progress.phase('loading repositories', sum(sizes), 'documents');
  for (const size of sizes) {
    const onProgress = (documents: number): void => progress.update(loaded + documents);
    const load = { folder: folderOf(size, { work }), size, seed, signal, onProgress };
    loads.set(size, await secondsToLoad(load));
    loaded += size;
    progress.update(loaded);
  }
  return loads;
}

function folderOf(size: number, { work }: Pick<Measuring, 'work'>): string {
  return path.join(work, `repository-${size}`);
}

/** The time of the load alone, without that of clustering the documents in memory before it. */
async function secondsToLoad(
  options: Pick<LoadOptions, 'signal' | 'onProgress'> & {
    readonly folder: string;
    readonly size: number;
    readonly seed: number;
  },
): Promise<number> {
  const { folder, size, seed, signal, onProgress } = options;
  await using store = await openStore({ kind: 'embedded', folder });
  await using percolator = await openPercolator({ store });
  const all = crawlDocuments(size, seed);
  const partition = clusterOneByOne(keyed(all, 0, size));
  const beganMs = performance.now();
  await loadRepository(percolator, {
    documents: all.range(0, size),
    partition,
    signal,
    onProgress,
  });
  return (performance.now() - beganMs) / 1_000;
}

/** One turn, and the numbers of its new documents in commit order. */
async function measureTurn(
  folder: string,
  size: number,
  context: {
    readonly plan: SweepPlan;
    readonly sizes: readonly number[];
    readonly signal: AbortSignal;
  },
): Promise<{ readonly turn: SweepTurn; readonly order: readonly number[] }> {
  const { plan, sizes, signal } = context;
  const { concurrency, engine, seed } = plan;
  const smallest = sizes[0] ?? size;
  await using store = await openStore({ kind: 'embedded', folder });
  await using crawl = await openCrawl(store, {
    settings: settingsOf(engine),
    documents: crawlDocuments(size, seed),
    scanners: engine.scanners,
    concurrency,
  });
  const part = (share: number) => ({ count: Math.ceil(share * smallest), concurrency, signal });
  await crawl.run(part(WARM_UP_PART));
  const before = process.cpuUsage();
  const { done, seconds } = await crawl.run(part(MEASURED_PART));
  const { user, system } = process.cpuUsage(before);
  const turn = { documents: done, seconds, cpuSeconds: (user + system) / 1e6 };
  return { turn, order: await crawl.finish() };
}

function checkOf(turn: FinishedTurn, signal: AbortSignal): Promise<Check> {
  const program = new URL('repository-sweep-thread.ts', import.meta.url);
  return runThread<Check>(program, { data: turn, signal });
}

/** @throws if the partition is wrong */
function refuseFailed(size: number, { passed, detail }: Check): void {
  if (!passed) throw new Error(`${size} documents: there are no numbers: ${detail}`);
}

/* The findings of `./run.sh bench:crawl-rate --sweep repository`, for the report. */

/** What was measured at one size. */
export interface SweepPoint {
  readonly repository: number;
  readonly loadSeconds: number;
  /** At least one. */
  readonly turns: readonly SweepTurn[];
}

/** One repeat of one size. */
interface SweepTurn {
  readonly documents: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

const { costRatioMax: COST_RATIO_MAX } = TARGETS.crawlRate;
/** The sizes that the target is about. */
const [SMALL, LARGE] = [10_000, 2_000_000];

interface Row {
  readonly repository: number;
  readonly loadedPerSecond: number;
  readonly perSecond: Estimate;
  readonly costUs: Estimate;
}

function sweepFindings(points: readonly SweepPoint[]): FindingsParts {
  const rows = points.map(rowOf);
  const costs = rows.map(({ costUs }) => costUs.value);
  const ratio = Math.max(...costs) / Math.min(...costs);
  const documents = sum(points.flatMap(({ turns }) => turns).map((turn) => turn.documents));
  return {
    headline:
      `A new document takes ${costs[0]?.toFixed(0)} \u00b5s of processor time in a repository of ` +
      `${formatCount(rows[0]?.repository ?? 0)} documents, and ${costs.at(-1)?.toFixed(0)} \u00b5s in one of ` +
      `${formatCount(rows.at(-1)?.repository ?? 0)}.`,
    check: {
      passed: true,
      detail: `after each turn, all documents were in the clusters that the reference clustering finds (${formatCount(documents)} were measured)`,
    },
    tables: [tableOf(rows)],
    charts: [chartOf(rows)],
    targets: [targetOf(rows, ratio)],
  };
}

function rowOf({ repository, loadSeconds, turns }: SweepPoint): Row {
  return {
    repository,
    loadedPerSecond: repository / loadSeconds,
    perSecond: estimate(turns.map(({ documents, seconds }) => documents / seconds)),
    costUs: estimate(turns.map(({ documents, cpuSeconds }) => (1e6 * cpuSeconds) / documents)),
  };
}

function targetOf(rows: readonly Row[], ratio: number): FindingsParts['targets'][number] {
  const sizes = rows.map(({ repository }) => repository);
  const isMet = (value: number): boolean => value <= COST_RATIO_MAX;
  const isAsked = Math.min(...sizes) <= SMALL && Math.max(...sizes) >= LARGE;
  return {
    name: 'cost of a document by the size of the repository',
    target: `from ${formatCount(SMALL)} to ${formatCount(LARGE)} documents, at most ${COST_RATIO_MAX} times as dear at one size as at another`,
    measured: `${formatJudged(ratio, 2, isMet)} times`,
    ...(isAsked
      ? { met: isMet(ratio) }
      : {
          met: null,
          reason: `the sizes went from ${formatCount(sizes[0] ?? 0)} to ${formatCount(sizes.at(-1) ?? 0)}`,
        }),
  };
}

function tableOf(rows: readonly Row[]): FindingsParts['tables'][number] {
  return resultTable(
    {
      name: 'sizes',
      title: 'New documents in repositories of several sizes',
      caption:
        'Loaded: in bulk, without transactions. Clustered and CPU: new documents at full speed, geometric means of the turns; low and high bound the 95 % confidence interval of the CPU time.',
    },
    rows,
    [
      rowName('repository', ({ repository }) => formatCount(repository)),
      column('loaded, documents/s', (row) => rounded(row.loadedPerSecond), higher('documents/s')),
      column('turns', ({ costUs }) => costUs.samples),
      column(
        'clustered, documents/s',
        ({ perSecond }) => rounded(perSecond.value),
        higher('documents/s', ({ perSecond }) => intervalOf(perSecond)),
      ),
      column(
        'CPU, \u00b5s per document',
        ({ costUs }) => rounded(costUs.value),
        lower('\u00b5s', ['low', 'high']),
      ),
      column('low', ({ costUs }) => rounded(costUs.low)),
      column('high', ({ costUs }) => rounded(costUs.high)),
    ],
  );
}

function chartOf(rows: readonly Row[]): FindingsParts['charts'][number] {
  return {
    name: 'sizes',
    title: 'Processor time of a new document',
    caption:
      'In microseconds, with the 95 % confidence interval of the turns where there are three or more.',
    x: { title: 'Documents in the repository', scale: 'logarithmic', ticks: [] },
    y: { title: 'Processor time per document, in microseconds', scale: 'linear', ticks: [] },
    series: series(rows, ({ repository }) => ({ x: repository }), [
      line('Percolator', 'percolator', ({ costUs: { value, low, high, samples } }) => {
        return { y: value, low, high, samples };
      }),
    ]),
  };
}
