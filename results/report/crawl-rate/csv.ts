/**
 * The CSV files of a run: `points.csv`, one line per point, and `latency-percentiles.csv`.
 *
 * A point without a latency has empty cells, and its verdict says why.
 */
import { stringify } from 'csv-stringify/sync';
import type { MeasuredLatency } from '../run-from-files.ts';
import { percentileMs, type Histogram } from '../histogram.ts';
import type { Latency, Point } from '../run-record.ts';
import { isStated } from '../samples.ts';

const POINT_COLUMNS = [
  'system',
  'rate_percent_per_hour',
  'verdict',
  'check_passed',
  'documents',
  'seconds',
  'offered_documents_per_second',
  'completed_documents_per_second',
  'backlog_growth_per_second',
  'latency_min_ms',
  'latency_mean_ms',
  'latency_median_ms',
  'latency_p90_ms',
  'latency_p99_ms',
  'latency_max_ms',
  'cycles_measured',
  'cpu_seconds_per_document',
  'generator_lag_p99_ms',
  'verdict_reason',
] as const;

export function pointsCsv(points: readonly Point[]): string {
  return stringify(points.map(pointCells), { header: true, columns: [...POINT_COLUMNS] });
}

function pointCells(point: Point): readonly (string | number | boolean | null)[] {
  return [
    point.system,
    point.ratePercentPerHour,
    point.verdict,
    String(point.check.passed),
    point.documents,
    point.seconds,
    point.documentsPerSecondOffered,
    point.documentsPerSecondCompleted,
    point.backlogGrowthPerSecond,
    point.latency?.minMs ?? null,
    point.latency?.meanMs ?? null,
    point.latency?.medianMs ?? null,
    statedMs(point, 90, ({ p90Ms }) => p90Ms),
    statedMs(point, 99, ({ p99Ms }) => p99Ms),
    point.latency?.maxMs ?? null,
    point.cyclesMeasured,
    point.cpuSecondsPerDocument,
    point.generatorLagP99Ms,
    point.verdictReason,
  ];
}

/** Empty if the point has no latency, or too few documents for the percentile. */
function statedMs(
  { latency }: Point,
  percentile: number,
  of: (latency: Latency) => number,
): number | null {
  return latency !== null && isStated(percentile, latency.count) ? of(latency) : null;
}

const PERCENTILE_COLUMNS = [
  'system',
  'rate_percent_per_hour',
  'percentile',
  'latency_ms',
  'documents',
];

export function percentilesCsv(latencies: readonly MeasuredLatency[]): string {
  const rows = latencies.flatMap(({ point, histogram }) =>
    percentilesOf(histogram).map((percentile) => [
      point.system,
      point.ratePercentPerHour,
      percentile,
      percentileMs(histogram, percentile),
      histogram.totalCount,
    ]),
  );
  return stringify(rows, { header: true, columns: PERCENTILE_COLUMNS });
}

const PERCENTILES = [0, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999, 100];

/** The percentiles that have enough documents: p99.9 of 50 documents is only their maximum. */
function percentilesOf({ totalCount }: Histogram): readonly number[] {
  return PERCENTILES.filter((percentile) => isStated(percentile, totalCount));
}
