/** Makes the data of the charts from the files of a run. */
import path from 'node:path';
import type { MeasuredLatency, MeasuredRun } from '../measured-run.ts';
import { percentileMs } from '../histogram.ts';
import type { MapreduceModel, Point } from '../run-record.ts';
import { percentilesOf } from '../tables.ts';
import { readTimeSeries } from '../time-series.ts';
import type { Backlog, ChartData, ChartPoint, Distribution } from './chart-data.ts';
import { PAPER } from './paper.ts';

export function buildChartData(folder: string, run: MeasuredRun): ChartData {
  const { points, mapreduceModel: model } = run.record;
  const byRate = points.toSorted((a, b) => a.ratePercentPerHour - b.ratePercentPerHour);
  return {
    paper: PAPER,
    points: byRate.map(chartPoint),
    model: model === null ? [] : modelCurve(model, byRate),
    batchRunSeconds: model === null ? null : model.fixedSeconds + model.perRepositorySeconds,
    distributions: run.latencies
      .toSorted((a, b) => a.point.ratePercentPerHour - b.point.ratePercentPerHour)
      .map(distribution),
    backlogs: byRate.flatMap((point) => backlogsOf(folder, point)),
  };
}

function chartPoint(point: Point): ChartPoint {
  return {
    system: point.system,
    rate: point.ratePercentPerHour,
    state: stateOf(point),
    medianSeconds: point.latency === null ? null : point.latency.medianMs / 1000,
    p99Seconds: point.latency === null ? null : point.latency.p99Ms / 1000,
    documents: point.documents,
    backlogGrowthPerSecond: point.backlogGrowthPerSecond,
    cpuSecondsPerDocument: point.check.passed ? point.cpuSecondsPerDocument : null,
  };
}

/** A failed check outweighs every verdict: the speed of a wrong result is meaningless. */
export function stateOf(point: Point): ChartPoint['state'] {
  if (!point.check.passed) return 'failed';
  if (point.verdict === 'saturated') return 'saturated';
  return point.verdict === 'sustained' && point.latency !== null ? 'measured' : 'invalid';
}

/**
 * Back-to-back runs of duration T = (F + V) / (1 - rV); a document waits for the next run and then
 * for its end, so its latency is uniform between T and 2T and its median 1.5 T.
 */
function modelCurve(model: MapreduceModel, points: readonly Point[]): ChartData['model'] {
  const rates = points.map((point) => point.ratePercentPerHour);
  const from = Math.min(PAPER.ratePercentPerHour, ...rates);
  const to = Math.max(PAPER.percolatorWallPercentPerHour, ...rates);
  const steps = Array.from({ length: 101 }, (_, step) => from * (to / from) ** (step / 100));
  return steps.flatMap((rate) => {
    const perSecond = rate / 100 / 3600;
    const slack = 1 - perSecond * model.perRepositorySeconds;
    const runSeconds = (model.fixedSeconds + model.perRepositorySeconds) / slack;
    // Close to its own wall the model can give any number.
    return slack > 0.02 ? [{ rate, seconds: 1.5 * runSeconds }] : [];
  });
}

function distribution({ point, histogram }: MeasuredLatency): Distribution {
  const last = percentilesOf(histogram).at(-2) ?? 50;
  const curve = curvePercentiles(last).map((percentile) => ({
    percentile,
    seconds: percentileMs(histogram, percentile) / 1000,
  }));
  return { system: point.system, rate: point.ratePercentPerHour, curve };
}

/**
 * Percentiles evenly spaced on the axis of the chart, log 1/(1-p), up to the last one with
 * documents beyond it.
 */
function curvePercentiles(last: number): readonly number[] {
  const nines = Math.log10(1 / (1 - last / 100));
  return Array.from({ length: 120 }, (_, step) => 100 * (1 - 10 ** ((-nines * (step + 1)) / 120)));
}

function backlogsOf(folder: string, point: Point): readonly Backlog[] {
  if (point.timeSeriesFile === null) return [];
  const rows = readTimeSeries(path.join(folder, point.timeSeriesFile));
  const curve = rows.map((row) => ({
    seconds: row.seconds,
    documents: row.arrived - row.completed,
  }));
  return [{ system: point.system, rate: point.ratePercentPerHour, curve }];
}
