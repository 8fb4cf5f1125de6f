/**
 * The experiment's targets on 2 cores, next to its measurements. They are printed, never asserted.
 */
import type { Point, RunRecord, Target } from '#results';

const DOCUMENTS_PER_SECOND = 3_000;
const RATIO = 1_000;
const RATIO_REPOSITORY = 1_000_000;
/** A scan interval would be tens of milliseconds or more. */
const LOW_RATE_MEDIAN_MS = 10;

export function targetsOf(record: RunRecord): readonly Target[] {
  return [capacityTarget(record), lowRateTarget(record), ratioTarget(record)];
}

function capacityTarget({ capacity }: RunRecord): Target {
  const measured = capacity?.percolatorDocumentsPerSecond ?? 0;
  return {
    name: 'throughput of the engine',
    target: `at least ${DOCUMENTS_PER_SECOND} documents/s clustered, with durable commits`,
    measured: `${measured.toFixed(0)} documents/s`,
    met: measured >= DOCUMENTS_PER_SECOND,
  };
}

function lowRateTarget(record: RunRecord): Target {
  const point = lowest(record, 'percolator');
  const medianMs = point?.latency?.medianMs;
  return {
    name: 'latency at the lowest rate',
    target: `milliseconds, not scan intervals: a median below ${LOW_RATE_MEDIAN_MS} ms`,
    measured:
      medianMs === undefined
        ? 'no latency'
        : `${medianMs.toFixed(2)} ms at ${point?.ratePercentPerHour} %/hour`,
    met: medianMs !== undefined && medianMs < LOW_RATE_MEDIAN_MS,
  };
}

function ratioTarget(record: RunRecord): Target {
  const ours = lowest(record, 'percolator')?.latency?.medianMs;
  const batch = lowest(record, 'mapreduce');
  const ratio = ours && batch?.latency ? batch.latency.medianMs / ours : undefined;
  const documents = record.repository?.documents ?? 0;
  const size = `${documents} documents at ${batch?.ratePercentPerHour} %/hour`;
  return {
    name: 'latency compared with the batch',
    target: `at 1 %/hour of ${RATIO_REPOSITORY} documents, a median ${RATIO} times below the batch's`,
    measured: ratio === undefined ? 'no ratio' : `${ratio.toFixed(0)} times, with ${size}`,
    met: ratio !== undefined && ratio >= RATIO && documents >= RATIO_REPOSITORY,
  };
}

function lowest({ points }: RunRecord, system: Point['system']): Point | undefined {
  return points
    .filter((point) => point.system === system)
    .toSorted((a, b) => a.ratePercentPerHour - b.ratePercentPerHour)[0];
}
