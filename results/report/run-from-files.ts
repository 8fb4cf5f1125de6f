/** A run as read from its files: the record, and the histogram of each point that has a latency. */
import path from 'node:path';
import { readHistogram, type Histogram } from './histogram.ts';
import { readRunRecord } from './record-file.ts';
import type { Latency, Point, RunRecord } from './run-record.ts';
import { UsageError } from './usage-error.ts';

export interface MeasuredRun {
  readonly record: RunRecord;
  /** In the order of the record. */
  readonly latencies: readonly MeasuredLatency[];
}

export interface MeasuredLatency {
  readonly point: Point;
  readonly latency: Latency;
  readonly histogram: Histogram;
}

export function readMeasuredRun(folder: string): MeasuredRun {
  const record = readRunRecord(folder);
  const latencies = record.points.flatMap((point) =>
    point.latency === null ? [] : [readLatency(folder, point, point.latency)],
  );
  return { record, latencies };
}

function readLatency(folder: string, point: Point, latency: Latency): MeasuredLatency {
  const histogram = readHistogram(path.join(folder, latency.histogramFile));
  if (histogram.totalCount === latency.count) return { point, latency, histogram };
  throw new UsageError(
    `The histogram ${latency.histogramFile} must hold the ${latency.count} documents of its ` +
      `record, but holds ${histogram.totalCount}.`,
  );
}
