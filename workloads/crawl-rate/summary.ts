/** The table that a run prints: the main results, in a terminal's width. */
import { isStated, type Point, type ResultTable, type RunRecord, tooFewSamples } from '#results';

const COLUMNS = [
  'crawl rate',
  'MapReduce median',
  'p99',
  'documents',
  'Percolator median',
  'p99',
  'documents',
  'ratio',
] as const;

export function summaryTable(record: RunRecord): Pick<ResultTable, 'title' | 'columns' | 'rows'> {
  const rates = [...new Set(record.points.map((point) => point.ratePercentPerHour))];
  const rows = rates.map((rate) => rowOf(record, rate));
  return { title: 'From crawled to clustered', columns: COLUMNS, rows };
}

function rowOf({ points }: RunRecord, rate: number): string[] {
  const of = (system: Point['system']): Point | undefined =>
    points.find((point) => point.system === system && point.ratePercentPerHour === rate);
  const [batch, ours] = [of('mapreduce'), of('percolator')];
  return [
    `${rate} %/hour`,
    ...latencyCells(batch),
    ...latencyCells(ours),
    ratioOf(batch?.latency, ours?.latency),
  ];
}

function ratioOf(batch: Point['latency'] | undefined, ours: Point['latency'] | undefined): string {
  if (!batch || !ours) return '-';
  const ratio = batch.medianMs / ours.medianMs;
  const words = `${ratio < 10 ? ratio.toFixed(1) : Math.round(ratio)} x`;
  return tooFewSamples(Math.min(batch.count, ours.count)) ?? words;
}

/** A 99th percentile needs a hundred documents. */
function latencyCells(point: Point | undefined): readonly string[] {
  if (point === undefined) return ['-', '-', '-'];
  if (!point.check.passed) return ['check failed', '-', '-'];
  if (point.latency === null) return [point.verdict, '-', '-'];
  const { medianMs, p99Ms, count } = point.latency;
  const p99 = isStated(99, count) ? duration(p99Ms) : '-';
  return [duration(medianMs), p99, String(count)];
}

function duration(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms >= 999.5) return `${(ms / 1000).toFixed(2)} s`; // toPrecision(3) would give 1.00e+3.
  return `${ms.toPrecision(3)} ms`;
}
