/** The findings of `./run.sh bench:batching`, for the report. */
import {
  type FindingsParts,
  higherIsBetter,
  type Interval,
  lowerIsBetter,
  type ResultChart,
  type ResultTable,
  type TableMetrics,
  formatJudged,
  type Target,
  TARGETS,
} from '#results';
import { rounded } from '../../harness/statistics/rounded.ts';
import type { VariantResult } from './measure-variants.ts';

export interface BatchingResult {
  readonly crawl: readonly VariantResult[];
  readonly tenColumns: readonly VariantResult[];
  readonly concurrency: number;
}

/** Ten reads become one at best, so any other read makes the ratio less than ten. */
const { fewerReadsMin: READ_RPC_RATIO_MIN, tolerance: TOLERANCE } = TARGETS.batching;
/** The chance that the true median is outside of its interval. */
const OUTSIDE_MAX = 0.05;

export function findingsOf({ crawl, tenColumns, concurrency }: BatchingResult): FindingsParts {
  const target = readTarget(tenColumns);
  return {
    headline: `Read RPCs of transactions that read ten columns, with prefetching: ${target.measured}.`,
    check: {
      passed: true,
      detail:
        'after each run the clusters are those that the reference clustering finds in commit order, and each value read is the one that was loaded',
    },
    tables: [
      tableOf('crawl-rate', 'Clustering a new document', crawl, concurrency),
      tableOf('ten-columns', 'Reading ten columns of a row', tenColumns, concurrency),
    ],
    targets: [target],
    charts: [
      chartOf('crawl-rate-rpcs', 'RPCs per clustered document', crawl),
      chartOf('ten-columns-rpcs', 'RPCs per transaction of ten reads', tenColumns),
    ],
  };
}

/** The reads that prefetching alone saves, together with its effect on latency. */
function readTarget(tenColumns: readonly VariantResult[]): Target {
  const off = tenColumns.find(({ variant }) => variant === 'off');
  const on = tenColumns.find(({ variant }) => variant === 'prefetch');
  const name = 'read RPCs saved by prefetching';
  const target =
    `at least ${READ_RPC_RATIO_MIN} times fewer for rows with ten columns, ` +
    `within ${100 * TOLERANCE} %`;
  if (off === undefined || on === undefined) {
    return { name, target, measured: 'not measured', met: false };
  }
  const ratio = off.readRpcs / on.readRpcs;
  const isMet = (value: number): boolean => value >= READ_RPC_RATIO_MIN * (1 - TOLERANCE);
  const change = (before: number, after: number): string =>
    `${after.toFixed(2)} ms instead of ${before.toFixed(2)} ms`;
  const measured =
    `${formatJudged(ratio, 1, isMet)} times fewer; median latency ${change(off.medianMs, on.medianMs)}, ` +
    `one at a time ${change(off.aloneMedianMs, on.aloneMedianMs)}`;
  const samples = Math.min(off.samples, on.samples);
  return { name, target, measured, met: isMet(ratio), samples };
}

function tableOf(
  name: string,
  title: string,
  measured: readonly VariantResult[],
  concurrency: number,
): ResultTable {
  return {
    name,
    title,
    caption:
      'Operations and RPCs are means per document or transaction; the first variant has everything off.',
    columns: [
      'variant',
      'operations',
      'RPCs',
      'of reads',
      'of conditional mutations',
      'of blind mutations',
      'of scans',
      'prefetched cells not used',
      'CPU ms of this process',
      'per second, median repeat',
      `median ms, ${concurrency} at a time`,
      '99th percentile ms',
      'latencies',
      'median ms, one at a time',
      'latencies, one at a time',
    ],
    rows: measured.map((one) => [
      one.variant,
      rounded(one.operations),
      rounded(one.rpcs),
      rounded(one.readRpcs),
      rounded(one.conditionalRpcs),
      rounded(one.blindRpcs),
      rounded(one.scanRpcs),
      rounded(one.wasted),
      rounded(one.cpuMs),
      Math.round(middle(one.perSecond)),
      rounded(one.medianMs),
      one.p99Ms === null ? null : rounded(one.p99Ms),
      one.samples,
      rounded(one.aloneMedianMs),
      one.aloneSamples,
    ]),
    metrics: metricsOf(measured, concurrency),
  };
}

function metricsOf(measured: readonly VariantResult[], concurrency: number): TableMetrics {
  const intervals = measured.map(({ perSecond }) => middleInterval(perSecond));
  return {
    rowNames: 1,
    columns: [
      lowerIsBetter('RPCs', 'RPCs'),
      lowerIsBetter('CPU ms of this process', 'ms'),
      higherIsBetter('per second, median repeat', '1/s', { intervals }),
      lowerIsBetter(`median ms, ${concurrency} at a time`, 'ms'),
      lowerIsBetter('99th percentile ms', 'ms'),
      lowerIsBetter('median ms, one at a time', 'ms'),
    ],
  };
}

function chartOf(name: string, title: string, measured: readonly VariantResult[]): ResultChart {
  const ticks = measured.map(({ variant }, at) => ({ at: at + 1, label: variant }));
  const points = (of: (one: VariantResult) => number): ResultChart['series'][number]['points'] =>
    measured
      .map((one, i) => ({ x: i + 1, y: of(one), low: null, high: null, samples: one.done }))
      .filter(({ y }) => y > 0);
  return {
    name,
    title,
    caption:
      'Calls of a storage that takes several conditional mutations in one call, as the paper’s did; “both, public API” and the ' +
      'emulator do without that. Fewer is cheaper. A variant without such calls has no mark.',
    x: { title: 'Variant', scale: 'linear', ticks },
    y: { title: 'RPCs', scale: 'logarithmic', ticks: [] },
    series: [
      { name: 'all RPCs', look: 'percolator', isLine: false, points: points(({ rpcs }) => rpcs) },
      { name: 'of reads', look: 'other', isLine: false, points: points((one) => one.readRpcs) },
    ],
  };
}

function middle(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
}

/**
 * The 95 % interval of the median: from the value of a rank up to that of the same rank from the
 * top. Each value is above the true median with even chances, so a binomial distribution tells the
 * rank; it assumes nothing about the values. With fewer than six there is none.
 */
function middleInterval(values: readonly number[]): Interval | null {
  const sorted = values.toSorted((a, b) => a - b);
  const count = sorted.length;
  let chance = 0.5 ** count; // That exactly `rank` values are below the true median.
  let rank = 0;
  for (let outside = 2 * chance; outside <= OUTSIDE_MAX; outside += 2 * chance) {
    chance *= (count - rank) / (rank + 1);
    rank++;
  }
  const [low, high] = [sorted[rank - 1], sorted[count - rank]];
  return low === undefined || high === undefined ? null : { low, high };
}
