/**
 * Figure 7: the latency of clustering a newly crawled document against the crawl rate, for
 * Percolator and for back-to-back MapReduces, on one fixed repository.
 *
 *   1. Cluster a real crawl with both, as a demonstration.
 *   2. Make the repository: batch files, and a loaded store.
 *   3. For each repeat, in an order drawn from the seed: every rate on both systems, one at a time,
 *      each with the whole machine. After each point, check its partition; if one is wrong, the
 *      run ends without numbers.
 *   4. Merge the repeats, fit the batch's model, compare with the targets, draw.
 */
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { createRandom } from '#engine';
import {
  counted,
  formatDigits,
  type CrawlResult,
  figure7Findings,
  type FindingsParts,
} from '#results';
import { live, type Measuring, type Progress } from '#harness';
import { type BatchEngine, openBatchEngine } from '../harness/batch-engines.ts';
import { shuffled } from '../harness/chance.ts';
import { describeDamage, openCrawl, type Crawl } from './documents/index.ts';
import type { Check } from './check.ts';
import { clusterCrawl } from './real-crawl.ts';
import { type MapReducePoint, measureMapReduce } from './batch/point.ts';
import {
  capacityOf,
  fitBatchModel,
  mapReducePoint,
  type MeasuredPoints,
  percolatorPoint,
  targetsOf,
} from './points.ts';
import { measurePercolator, type PercolatorPoint } from './percolator/point.ts';
import { type Measurement, type Plan, syntheticOptions } from './plan.ts';
import { prepare, type PreparedRepository } from './prepared.ts';
import { createSchedule, documentsPerSecond } from '../harness/load/schedule.ts';
import { describeStore } from '../harness/stores.ts';

/** Damaged records of the real crawl that are named; all are counted. */
const DAMAGES_NAMED = 20;
const BATCH_MEMORY_BYTES_PER_WORKER = 256 * 1024 * 1024;

/** What was found so far, filled step by step. */
interface Found extends MeasuredPoints {
  crawl: CrawlResult | null;
  repository: PreparedRepository['description'] | null;
  /** That of the first point whose check failed. */
  failed?: Check;
}

interface Context extends Measuring {
  readonly crawl: Crawl;
}

/** Keeps what was found after each step, whatever ends the run. */
export async function measureFigure7(plan: Plan, measuring: Measuring): Promise<FindingsParts> {
  const { work, progress, signal, keep, hosts } = measuring;
  const crawl = await openCrawl([plan.input]);
  const found: Found = {
    percolator: new Map(),
    mapreduce: new Map(),
    crawl: null,
    repository: null,
  };
  const memoryBytes = BATCH_MEMORY_BYTES_PER_WORKER * plan.workers;
  await using engine = await openBatchEngine(plan.batch, { workers: plan.workers, memoryBytes });

  found.crawl = await demonstrate(plan, { ...measuring, crawl, engine });
  keep(findingsOf(plan, found));
  const prepared = await prepare(plan, { folder: work, progress, signal });
  await using _ = prepared.store;
  found.repository = prepared.description;
  const { meanClusterSize, nonSingletonShare } = prepared.description;
  progress.note(
    `repository: ${plan.repository} documents, mean cluster ${meanClusterSize.toFixed(3)} ` +
      `(the paper's 3.3), ${(100 * nonSingletonShare).toFixed(2)} % with a duplicate (93 %)`,
  );

  const measurements = inRandomOrder(plan);
  progress.phase('measuring', measurements.length, 'points');
  for (const [done, measurement] of measurements.entries()) {
    const check = await measure(plan, measurement, {
      prepared,
      batch: engine,
      hosts,
      signal,
      found,
      progress,
    });
    if (!check.passed) {
      const where = `${measurement.system} at ${measurement.rate} %/hour`;
      return findingsOf(plan, {
        ...found,
        failed: { passed: false, detail: `${where}: ${check.detail}` },
      });
    }
    keep(findingsOf(plan, found));
    progress.update(done + 1);
  }
  return findingsOf(plan, found);
}

/** Merges the repeats into points, and derives capacity, model and targets from them. */
function findingsOf(plan: Plan, found: Found): FindingsParts {
  const { crawl, repository, failed } = found;
  const points = [
    ...Array.from(found.mapreduce, ([rate, repeats]) => mapReducePoint(plan, rate, repeats)),
    ...Array.from(found.percolator, ([rate, repeats]) => percolatorPoint(plan, rate, repeats)),
  ];
  const capacity = capacityOf(found);
  const check = failed ?? { passed: true, detail: CHECKED };
  const figure = {
    points,
    repository,
    crawl,
    capacity,
    mapreduceModel: fitBatchModel(plan, found),
    check,
  };
  const findings = figure7Findings(figure);
  const store = describeStore(plan.store);
  const judged = { points, capacity, store, documents: plan.repository };
  return { ...findings, targets: findings.check.passed ? targetsOf(judged) : [] };
}

const CHECKED =
  'at every point all documents are in the clusters that the reference clustering finds';

async function demonstrate(
  plan: Plan,
  { crawl, work, progress, signal, engine }: Context & { readonly engine: BatchEngine },
): Promise<CrawlResult> {
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
  const { pages, distinctContents, clusters, crossHostDuplicateGroups, check } = result;
  progress.note(
    `real crawl: ${pages} pages, ${distinctContents} distinct contents, ${clusters} clusters, ` +
      `${crossHostDuplicateGroups} of them across hosts; ${check.passed ? 'check passed' : check.detail}`,
  );
  return result;
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
    readonly hosts: Measuring['hosts'];
    readonly signal: AbortSignal;
    readonly found: Found;
    readonly progress: Progress;
  },
): Promise<Check> {
  const { prepared, batch, hosts, signal, found, progress } = context;
  signal.throwIfAborted();
  live.phase(
    `${system === 'percolator' ? 'Percolator' : 'MapReduce'} at ${formatDigits(rate)} %/h`,
  );
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
      hosts,
      signal,
    });
    append(found.percolator, rate, point);
    progress.note(inWords('Percolator', rate, point) + ownCost(point));
    return point.check;
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
    append(found.mapreduce, rate, point);
    progress.note(inWords('MapReduce', rate, point));
    return point.check;
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

/** What the engine used of its processors, where that of the store is not known. */
function ownCost({ cpuSecondsPerDocument, engine }: PercolatorPoint): string {
  if (cpuSecondsPerDocument !== null || engine.commits.length === 0) return '';
  const milliseconds = (1_000 * engine.cpuSeconds) / engine.commits.length;
  return `; the engine used ${milliseconds.toFixed(2)} ms of processor time for each of ${engine.commits.length} documents`;
}

function append<T>(map: Map<number, T[]>, rate: number, point: T): void {
  map.set(rate, [...(map.get(rate) ?? []), point]);
}
