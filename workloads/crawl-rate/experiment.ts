/**
 * Figure 7: the latency of clustering a newly crawled document against the crawl rate, for
 * Percolator and for back-to-back MapReduces, on one fixed repository.
 *
 *   1. Cluster a real crawl with both, as a demonstration.
 *   2. Make the repository: batch files, and a loaded store.
 *   3. For each repeat, in an order drawn from the seed: every rate on both systems, one at a time,
 *      each with the whole machine. After each point, check its partition; a point that fails has
 *      no number.
 *   4. Merge the repeats, fit the batch's model, compare with the targets, draw.
 */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { createRandom } from '#engine';
import { counted, type Run } from '#results';
import type { Measuring, Progress } from '#harness';
import { type BatchEngine, openBatchEngine } from '../harness/batch-engines.ts';
import { shuffled } from '../harness/shuffled.ts';
import { describeDamage, openCrawl, type Crawl } from './documents/index.ts';
import { clusterCrawl } from './real-crawl.ts';
import { type MapReducePoint, measureMapReduce } from './batch/point.ts';
import { capacityOf, fitBatchModel, type MeasuredPoints } from './model.ts';
import { measurePercolator, type PercolatorPoint } from './percolator/point.ts';
import { type Measurement, type Plan, syntheticOptions } from './plan.ts';
import { addMapReducePoint, addPercolatorPoint } from './points.ts';
import { prepare, type PreparedRepository } from './prepared.ts';
import { createSchedule, documentsPerSecond } from '../harness/load/schedule.ts';
import { targetsOf } from './targets.ts';

/** Damaged records of the real crawl that are named; all are counted. */
const DAMAGES_NAMED = 20;
const BATCH_MEMORY_BYTES_PER_WORKER = 256 * 1024 * 1024;

/** Describes in the record what is found; keeps the measurements, whatever ends the run. */
export async function measureFigure7(plan: Plan, measuring: Measuring): Promise<void> {
  const { run } = measuring;
  const crawl = await openCrawl([plan.input]);
  const measured: MeasuredPoints = { percolator: new Map(), mapreduce: new Map() };
  try {
    await measureAll(plan, { ...measuring, crawl, measured });
  } finally {
    conclude(plan, run, measured);
  }
}

interface Context extends Measuring {
  readonly crawl: Crawl;
  /** Filled point by point. */
  readonly measured: MeasuredPoints;
}

async function measureAll(plan: Plan, context: Context): Promise<void> {
  const { run, work, progress, signal, measured } = context;
  const memoryBytes = BATCH_MEMORY_BYTES_PER_WORKER * plan.workers;
  await using engine = await openBatchEngine(plan.batch, { workers: plan.workers, memoryBytes });

  await demonstrate(plan, { ...context, engine });
  const prepared = await prepare(plan, { folder: work, progress, signal });
  await using _ = prepared.store;
  run.describe({ repository: prepared.description });
  const { meanClusterSize, nonSingletonShare } = prepared.description;
  progress.note(
    `repository: ${plan.repository} documents, mean cluster ${meanClusterSize.toFixed(3)} ` +
      `(the paper's 3.3), ${(100 * nonSingletonShare).toFixed(2)} % with a duplicate (93 %)`,
  );

  const measurements = inRandomOrder(plan);
  progress.phase('measuring', measurements.length, 'points');
  for (const [done, measurement] of measurements.entries()) {
    await measure(plan, measurement, { prepared, batch: engine, signal, measured, progress });
    progress.update(done + 1);
  }
}

/** Merges the repeats into points, and derives capacity, model and targets from them. */
function conclude(plan: Plan, run: Run, measured: MeasuredPoints): void {
  for (const rate of plan.rates.toSorted((a, b) => a - b)) {
    addMapReducePoint(run, plan, rate, measured.mapreduce.get(rate) ?? []);
    addPercolatorPoint(run, plan, rate, measured.percolator.get(rate) ?? []);
  }
  const capacity = capacityOf(measured);
  run.describe({ capacity, mapreduceModel: fitBatchModel(plan, measured) });
  run.describe({ targets: targetsOf(run.record) });
}

async function demonstrate(
  plan: Plan,
  { run, crawl, work, progress, signal, engine }: Context & { readonly engine: BatchEngine },
): Promise<void> {
  progress.phase(`clustering the real crawl ${path.basename(plan.input)}`, 0, 'pages');
  for (const damage of crawl.damages.slice(0, DAMAGES_NAMED)) {
    progress.note(`${describeDamage(damage)}; it is left out`);
  }
  const unnamed = crawl.damages.length - DAMAGES_NAMED;
  if (unnamed > 0) progress.note(`and ${counted(unnamed, 'more records')} are left out`);
  const folder = path.join(work, 'crawl');
  await mkdir(folder);
  const onProgress = (pages: number): void => progress.update(pages);
  const file = plan.input;
  const result = await clusterCrawl({ file, crawl, folder, engine, signal, onProgress });
  await rm(folder, { recursive: true, force: true });
  run.describe({ crawl: result });
  const { pages, distinctContents, clusters, crossHostDuplicateGroups, check } = result;
  progress.note(
    `real crawl: ${pages} pages, ${distinctContents} distinct contents, ${clusters} clusters, ` +
      `${crossHostDuplicateGroups} of them across hosts; ${check.passed ? 'check passed' : check.detail}`,
  );
}

/**
 * Every rate on both systems, each repeat in its own order, so that no point always follows the
 * same one.
 */
function inRandomOrder(plan: Plan): Measurement[] {
  const random = createRandom(plan.seed).fork('order');
  const order: Measurement[] = [];
  for (let repeat = 0; repeat < plan.repeats; repeat++) {
    const systems = ['percolator', 'mapreduce'] as const;
    const all = plan.rates.flatMap((rate) => systems.map((system) => ({ system, rate, repeat })));
    order.push(...shuffled(random, all));
  }
  return order;
}

async function measure(
  plan: Plan,
  { system, rate }: Measurement,
  context: {
    readonly prepared: PreparedRepository;
    readonly batch: BatchEngine;
    readonly signal: AbortSignal;
    readonly measured: MeasuredPoints;
    readonly progress: Progress;
  },
): Promise<void> {
  const { prepared, batch, signal, measured, progress } = context;
  signal.throwIfAborted();
  const { repository, seconds, warmUp, batchSeconds, concurrency, processes, engine } = plan;
  const documents = syntheticOptions(plan);
  const { serverPids } = prepared.store;
  if (system === 'percolator') {
    const store = await prepared.store.forPoint();
    const options = { repository, ratePercentPerHour: rate, seconds, warmupSeconds: warmUp };
    const schedule = createSchedule(options);
    const point = await measurePercolator({
      store,
      serverPids,
      documents,
      schedule,
      seconds,
      concurrency,
      processes,
      engine,
      signal,
    });
    append(measured.percolator, rate, point);
    progress.note(inWords('Percolator', rate, point));
  } else {
    const point = await measureMapReduce({
      engine: batch,
      serverPids: serverPids ?? [], // Unknown ones are not descendants of this process.
      folder: prepared.folder,
      documents,
      repositoryFiles: prepared.repositoryFiles,
      arrivals: prepared.arrivals,
      perSecond: documentsPerSecond(repository, rate),
      seconds: batchSeconds,
      signal,
    });
    append(measured.mapreduce, rate, point);
    progress.note(inWords('MapReduce', rate, point));
  }
}

function inWords(name: string, rate: number, point: PercolatorPoint | MapReducePoint): string {
  const { check, keptUp, histogram } = point;
  const where = `${name} at ${rate} %/hour`;
  if (!check.passed) return `${where}: CHECK FAILED: ${check.detail}`;
  if (keptUp.saturated) return `${where}: saturated, ${keptUp.reason}`;
  if (histogram.totalCount === 0) return `${where}: no documents were measured`;
  const median = (histogram.getValueAtPercentile(50) / 1000).toFixed(2);
  return `${where}: median ${median} ms over ${histogram.totalCount} documents`;
}

function append<T>(map: Map<number, T[]>, rate: number, point: T): void {
  map.set(rate, [...(map.get(rate) ?? []), point]);
}
