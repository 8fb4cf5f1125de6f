/**
 * The CSV files of a run: `points.csv`, one line per point, and `latency-percentiles.csv`.
 *
 * A point without a latency has empty cells, and its verdict says why.
 */
import { stringify } from 'csv-stringify/sync';
import type { MeasuredLatency } from './measured-run.ts';
import { percentileMs, type Histogram } from './histogram.ts';
import type { Point, ResultTable } from './run-record.ts';

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
    point.latency?.p90Ms ?? null,
    point.latency?.p99Ms ?? null,
    point.latency?.maxMs ?? null,
    point.cyclesMeasured,
    point.cpuSecondsPerDocument,
    point.generatorLagP99Ms,
    point.verdictReason,
  ];
}

const PERCENTILE_COLUMNS = ['system', 'rate_percent_per_hour', 'percentile', 'latency_ms'];

export function percentilesCsv(latencies: readonly MeasuredLatency[]): string {
  const rows = latencies.flatMap(({ point, histogram }) =>
    percentilesOf(histogram).map((percentile) => [
      point.system,
      point.ratePercentPerHour,
      percentile,
      percentileMs(histogram, percentile),
    ]),
  );
  return stringify(rows, { header: true, columns: PERCENTILE_COLUMNS });
}

const PERCENTILES = [0, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999];

/**
 * The percentiles with at least one document beyond them, then 100: p99.9 of 50 documents is only
 * their maximum.
 */
export function percentilesOf(histogram: Histogram): readonly number[] {
  const resolved = PERCENTILES.filter((p) => histogram.totalCount * (1 - p / 100) >= 1);
  return [...resolved, 100];
}

/** The CSV of any table of findings. */
export function tableCsv({ columns, rows }: ResultTable): string {
  return stringify(
    rows.map((row) => [...row]),
    { header: true, columns: [...columns] },
  );
}
