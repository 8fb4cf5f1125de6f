/**
 * The history of metrics in the records of runs, and one run in the format of Bencher, a service
 * that keeps such histories (Bencher Metric Format).
 *
 * Metrics have the names that `compare` gives them: `table: row: column`.
 */
import type { FoundRun, RunRecord, TrendLine, TrendPoint } from '#results';
import { type Metric, metricsOf } from '../compare/metrics.ts';
import { readableNotes } from './notes.ts';

/** The lines of all metrics whose names contain the text, whatever the case of its letters. */
export function trendOf(runs: readonly FoundRun[], wanted: string): readonly TrendLine[] {
  const found = runs.flatMap((run) => {
    const { record } = run;
    if (record?.state !== 'finished') return [];
    return metricsOf(record)
      .filter(({ name, value }) => isNamed(name, wanted) && Number.isFinite(value))
      .map((metric) => ({ run, record, metric }));
  });
  const lines = Map.groupBy(found, ({ metric, record }) =>
    [metric.name, record.commandLine, machineOf(record)].join('\0'),
  );
  return [...lines.values()].flatMap((some): readonly TrendLine[] => {
    const [first] = some;
    if (first === undefined) return [];
    const { name, unit, better } = first.metric;
    const points = some.map(pointOf).toSorted((a, b) => a.date.localeCompare(b.date));
    const { record } = first;
    const command = record.commandLine;
    return [{ metric: name, unit, better, command, machine: machineOf(record), points }];
  });
}

/** Runs of two kinds of machines say nothing about the code. */
function machineOf({ environment: { cpuModel, cores } }: RunRecord): string {
  return `${cpuModel}, ${cores} cores`;
}

function isNamed(name: string, wanted: string): boolean {
  return name.toLowerCase().includes(wanted.toLowerCase());
}

interface Found {
  readonly run: FoundRun;
  readonly record: RunRecord;
  readonly metric: Metric;
}

function pointOf({ run, record, metric }: Found): TrendPoint {
  const { commit } = record.environment;
  return {
    run: run.name,
    commit: commit === null ? '-' : `${commit.hash.slice(0, 7)}${commit.dirty ? '+' : ''}`,
    date: record.startedAt,
    value: metric.value ?? Number.NaN,
    interval: metric.interval,
    tags: readableNotes(run.folder).tags,
  };
}

/** Each benchmark's measures: `value` and, where there is an interval, its ends. */
export type BencherReport = Readonly<Record<string, Readonly<Record<string, BencherMeasure>>>>;

interface BencherMeasure {
  readonly value: number;
  readonly lower_value?: number;
  readonly upper_value?: number;
}

/**
 * The metrics of a run in Bencher's format. A benchmark is experiment, table and row; a measure is
 * a column, in small letters, digits and hyphens, as Bencher asks. Without metrics of infinite or
 * unknown value, which the format does not know.
 */
export function bencherOf(record: RunRecord): BencherReport {
  const found = metricsOf(record).filter(({ value }) => Number.isFinite(value));
  const named = found.map((metric) => {
    const at = metric.name.lastIndexOf(': ');
    const benchmark = `${record.experiment}: ${metric.name.slice(0, at)}`;
    return { benchmark, measure: slugOf(metric.name.slice(at + 2)), metric };
  });
  const benchmarks = [...Map.groupBy(named, ({ benchmark }) => benchmark)];
  return Object.fromEntries(
    benchmarks.map(([benchmark, measures]) => [
      benchmark,
      Object.fromEntries(measures.map(({ measure, metric }) => [measure, measureOf(metric)])),
    ]),
  );
}

function slugOf(column: string): string {
  return column
    .toLowerCase()
    .replaceAll('/', ' per ')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
}

function measureOf({ value, interval }: Metric): BencherMeasure {
  const ends = interval === null ? {} : { lower_value: interval.low, upper_value: interval.high };
  return { value: value ?? Number.NaN, ...ends };
}
