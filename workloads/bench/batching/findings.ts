/** The findings of `./run.sh bench:batching`, for the report. */
import {
  column,
  dots,
  type FindingsParts,
  formatJudged,
  higher,
  type Interval,
  lower,
  type ResultChart,
  type ResultTable,
  resultTable,
  rowName,
  series,
  type Target,
  TARGETS,
} from '#results';
import { rounded } from '../../harness/statistics.ts';
import type { VariantResult } from './measure.ts';

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
  const caption =
    'Operations and RPCs are means per document or transaction; the first variant has everything off.';
  const interval = ({ perSecond }: VariantResult): Interval | null => middleInterval(perSecond);
  return resultTable({ name, title, caption }, measured, [
    rowName('variant', ({ variant }) => variant),
    column('operations', ({ operations }) => rounded(operations)),
    column('RPCs', ({ rpcs }) => rounded(rpcs), lower('RPCs')),
    column('of reads', ({ readRpcs }) => rounded(readRpcs)),
    column('of conditional mutations', ({ conditionalRpcs }) => rounded(conditionalRpcs)),
    column('of blind mutations', ({ blindRpcs }) => rounded(blindRpcs)),
    column('of scans', ({ scanRpcs }) => rounded(scanRpcs)),
    column('prefetched cells not used', ({ wasted }) => rounded(wasted)),
    column('CPU ms of this process', ({ cpuMs }) => rounded(cpuMs), lower('ms')),
    column(
      'per second, median repeat',
      ({ perSecond }) => Math.round(middle(perSecond)),
      higher('1/s', interval),
    ),
    column(`median ms, ${concurrency} at a time`, ({ medianMs }) => rounded(medianMs), lower('ms')),
    column('99th percentile ms', ({ p99Ms }) => rounded(p99Ms), lower('ms')),
    column('latencies', ({ samples }) => samples),
    column('median ms, one at a time', (one) => rounded(one.aloneMedianMs), lower('ms')),
    column('latencies, one at a time', ({ aloneSamples }) => aloneSamples),
  ]);
}

function chartOf(name: string, title: string, measured: readonly VariantResult[]): ResultChart {
  const at = ({ done }: VariantResult, i: number) => ({ x: i + 1, samples: done });
  const some = (rpcs: number): number | null => (rpcs > 0 ? rpcs : null);
  return {
    name,
    title,
    caption:
      'Calls of a storage that takes several conditional mutations in one call, as the paper’s did; “both, public API” and the ' +
      'emulator do without that. Fewer is cheaper. A variant without such calls has no mark.',
    x: {
      title: 'Variant',
      scale: 'linear',
      ticks: measured.map(({ variant }, i) => ({ at: i + 1, label: variant })),
    },
    y: { title: 'RPCs', scale: 'logarithmic', ticks: [] },
    series: series(measured, at, [
      dots('all RPCs', 'percolator', ({ rpcs }) => some(rpcs)),
      dots('of reads', 'other', ({ readRpcs }) => some(readRpcs)),
    ]),
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
