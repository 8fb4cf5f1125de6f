/**
 * All parameters of a run of the experiment, fixed before it begins: its sizes, how long they take,
 * and what the numbers of such a run do not say.
 */
import type { Sizes } from '#harness';
import type { BatchEngineName } from '../harness/batch-engines.ts';
import type { EngineValues } from '../harness/engine-settings.ts';
import type { SyntheticOptions } from './documents/index.ts';

export interface Plan extends Size {
  readonly seed: number;
  readonly documentBytes: number;
  /** The store of Percolator, as the user named it. */
  readonly store: string;
  /** Region servers of an HBase that is started here. */
  readonly regionServers: number;
  /** Observer runs in flight in all processes of the engine together. */
  readonly concurrency: number;
  /** Batching, prefetching, and the number of workers that share the runs in flight. */
  readonly engine: EngineValues;
  /**
   * Worker processes of the engine, in addition to oracle, lock service and loader; undefined for
   * one process that does everything.
   */
  readonly processes: number | undefined;
  /** What runs the batch. */
  readonly batch: BatchEngineName;
  /** Worker processes of the batch. */
  readonly workers: number;
  /** A real crawl to cluster as well. */
  readonly input: string;
}

export function syntheticOptions(plan: Plan): SyntheticOptions {
  const { repository, documentBytes, seed } = plan;
  return { repository, documentBytes, seed };
}

/** Identifies the measurement of a point among the repeats. */
export interface Measurement {
  readonly system: 'percolator' | 'mapreduce';
  readonly rate: number;
  readonly repeat: number;
}

/* The sizes of the experiment, and how long they take. */

export interface Size {
  /** Documents in the repository before the crawl. */
  readonly repository: number;
  /** Crawl rates in percent of the repository per hour. */
  readonly rates: readonly number[];
  /** Measured seconds per point. */
  readonly seconds: number;
  /** Seconds of warm-up before the measured ones. */
  readonly warmUp: number;
  /** Measured seconds of back-to-back batch runs per point. */
  readonly batchSeconds: number;
  readonly repeats: number;
}

export const SIZES: Sizes<Size> = {
  smoke: {
    repository: 2_000,
    rates: [5_000, 30_000],
    seconds: 1.5,
    warmUp: 0.5,
    batchSeconds: 0.5,
    repeats: 1,
  },
  quick: {
    repository: 250_000,
    rates: [1, 10, 100, 1_000, 4_500, 10_000],
    seconds: 15,
    warmUp: 3,
    batchSeconds: 12,
    repeats: 1,
  },
  standard: {
    repository: 1_000_000,
    rates: [1, 10, 100, 400, 800, 4_000],
    seconds: 30,
    warmUp: 8,
    batchSeconds: 12,
    repeats: 2,
  },
  full: {
    repository: 1_000_000,
    rates: [1, 2, 4, 10, 20, 40, 100, 200, 400, 700, 1_000, 1_500, 4_000],
    seconds: 120,
    warmUp: 15,
    batchSeconds: 60,
    repeats: 5,
  },
};

/** Documents that are loaded, or copied and checked, in a second; guesses on two cores. */
const LOADED_PER_SECOND = 10_000;
const CHECKED_PER_SECOND = 25_000;

/** The expected duration of a run. */
export function expectedSeconds(size: Size): number {
  const { repository, rates, seconds, warmUp, batchSeconds, repeats } = size;
  const perPoint = warmUp + seconds + batchSeconds + repository / CHECKED_PER_SECOND;
  return 5 + repository / LOADED_PER_SECOND + repeats * rates.length * perPoint;
}

/* Limitations of the numbers of figure 7, for the reader of a report. */

const BATCH_LIMITATIONS: Readonly<Record<BatchEngineName, string>> = {
  local:
    'The batch keeps its worker processes between runs and does not pay for crawling; both make it faster than the MapReduce of the paper.',
  sort: 'The batch is GNU sort between streaming programs, which are started for each run.',
  hadoop: 'The batch is Hadoop Streaming, which starts processes for each of its three jobs.',
  spark: 'The batch is Spark with streaming programs, one application for each run.',
};

export function limitationsOf({
  batch,
  store,
  hosts,
}: {
  readonly batch: BatchEngineName;
  readonly store: string;
  readonly hosts: number;
}): readonly string[] {
  return [
    ...(hosts > 0 ? ACROSS_HOSTS : []),
    ...LIMITATIONS,
    ...(store === 'embedded' ? EMBEDDED : []),
    BATCH_LIMITATIONS[batch],
  ];
}

const ACROSS_HOSTS: readonly string[] = [
  'The processes of the engine are on other hosts, but the batch is on the one that measures. A latency ends when that host is told of the commit, so it includes the way of that message.',
];

const EMBEDDED: readonly string[] = [
  'The storage is a log in the process of the engine, not a Bigtable on other machines: no measured latency includes a network.',
];

const LIMITATIONS: readonly string[] = [
  'Generator, engine, storage and batch share the cores, the memory and the disk of one machine, as far as this run starts them. The paper used 240 machines.',
  'The repository fits in memory, so the batch reads its input from the page cache; if it read the input from the disk, it would be slower.',
  'The position of the wall depends on how much cheaper the batch handles a document than the engine does (q); on one machine q is much larger than the 7.5 of the paper, so compare shapes, not positions.',
];
