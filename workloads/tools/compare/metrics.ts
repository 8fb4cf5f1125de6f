/**
 * The metrics of a run: the numbers by which it is compared with another.
 *
 * Figure 7 has those of its points and its capacities. All other experiments declare in their
 * record which columns of their tables are metrics. A record of an earlier version declares
 * nothing; its tables are read by the declarations of the run that it is compared with.
 */
import {
  HEADLINE_SAMPLES_MIN,
  type Interval,
  isStated,
  type Point,
  type ResultMetric,
  type ResultTable,
  type RunRecord,
} from '#results';
import { mean } from 'simple-statistics';

export interface Metric {
  /** The same in both runs: table, row and column. */
  readonly name: string;
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  /**
   * Infinite for the latency of a system that did not keep up; null without a value, and then
   * `missing` says why.
   */
  readonly value: number | null;
  readonly missing: string | null;
  /** The 95 % confidence interval that the record holds. */
  readonly interval: Interval | null;
  /** The values of independent repeats or runs; one alone says nothing about their spread. */
  readonly samples: readonly number[];
}

type Values = Pick<Metric, 'value'> & Partial<Metric>;
type Row = ResultTable['rows'][number];
type Kind = Pick<Metric, 'name' | 'unit' | 'better'>;

/** @param declaring the records whose declarations count, in this order */
export function metricsOf(
  record: RunRecord,
  declaring: readonly RunRecord[] = [record],
): readonly Metric[] {
  const tables = record.findings?.tables ?? [];
  return [
    ...record.points.flatMap(pointMetrics),
    ...capacityMetrics(record),
    ...tables.flatMap((table) => tableMetrics(table, declaring)),
  ];
}

/** One metric from those of several runs, each of which counts as a repeat. */
export function merged(metrics: readonly Metric[]): Metric | null {
  const [first] = metrics;
  if (first === undefined || metrics.length === 1) return first ?? null;
  const values = metrics.map(({ value }) => value);
  const without = metrics.find(({ value }) => value === null);
  if (without !== undefined) return { ...without, interval: null, samples: [] };
  const known = values.filter((value) => value !== null);
  const unbounded = known.filter((value) => value === Infinity).length;
  if (unbounded > 0 && unbounded < known.length) {
    return metric(first, { value: null, missing: 'it kept up in some of the runs only' });
  }
  // The mean of infinities is not a number.
  if (unbounded > 0) return metric(first, { value: Infinity });
  return metric(first, { value: middle(known), samples: known });
}

function metric(kind: Kind, { value, ...rest }: Values): Metric {
  const { name, unit, better } = kind;
  const isNumber = value !== null && !Number.isNaN(value);
  const given = { missing: null, interval: null, samples: [], ...rest };
  if (isNumber) return { name, unit, better, ...given, value };
  return { name, unit, better, ...given, value: null, missing: given.missing ?? 'it has no value' };
}

/** As everywhere in this project: rates and times multiply, so their logarithms are averaged. */
function middle(values: readonly number[]): number {
  if (values.some((value) => value <= 0)) return mean([...values]);
  return Math.exp(mean(values.map((value) => Math.log(value))));
}

function pointMetrics(point: Point): readonly Metric[] {
  const system = point.system === 'percolator' ? 'Percolator' : 'MapReduce';
  const at = `${system} at ${point.ratePercentPerHour} %/hour`;
  const lower = (what: string, unit: string): Kind => ({
    name: `${at}: ${what}`,
    unit,
    better: 'lower',
  });
  const { latency, cpuSecondsPerDocument: cpu } = point;
  return [
    metric(lower('median latency', 'ms'), {
      ...latencyOf(point, latency?.medianMs, (count) => count >= HEADLINE_SAMPLES_MIN),
      samples: point.repeatMediansMs,
    }),
    metric(
      lower('p99 latency', 'ms'),
      latencyOf(point, latency?.p99Ms, (count) => isStated(99, count)),
    ),
    ...(cpu === null || !point.check.passed
      ? []
      : [metric(lower('CPU per document', 'ms'), { value: cpu * 1000 })]),
  ];
}

function latencyOf(
  point: Point,
  ms: number | undefined,
  isEnough: (samples: number) => boolean,
): Values {
  if (!point.check.passed) return { value: null, missing: 'its check failed' };
  if (point.verdict === 'invalid') return { value: null, missing: 'its measurement is invalid' };
  if (point.verdict === 'saturated') return { value: Infinity };
  const samples = point.latency?.count ?? 0;
  if (ms !== undefined && isEnough(samples)) return { value: ms };
  return { value: null, missing: `${samples} samples are too few` };
}

function capacityMetrics({ capacity }: RunRecord): readonly Metric[] {
  const of = (system: string, value: number | null | undefined): readonly Metric[] =>
    value === null || value === undefined
      ? []
      : [metric({ name: `capacity: ${system}`, unit: 'documents/s', better: 'higher' }, { value })];
  return [
    ...of('Percolator', capacity?.percolatorDocumentsPerSecond),
    ...of('MapReduce', capacity?.mapreduceDocumentsPerSecond),
  ];
}

function tableMetrics(table: ResultTable, declaring: readonly RunRecord[]): readonly Metric[] {
  const own = table.metrics ?? null;
  const declared = own ?? declarationOf(table.name, declaring);
  if (declared === null || declared === undefined) return [];
  const rowsOf = Map.groupBy(table.rows.entries(), ([, row]) =>
    rowName(table, row, declared.rowNames),
  );
  return declared.columns.flatMap((column) =>
    [...rowsOf].flatMap(([row, rows]) => {
      if (rows.some(([, [first]]) => first === 'paper')) return []; // It was not measured here.
      const name = `${table.name}: ${row}: ${column.column}`;
      const kind = { name, unit: column.unit, better: column.better };
      const repeats = rows.map(([index, cells]) =>
        cellMetric(kind, { table, column, row: cells, index, isOwn: own !== null }),
      );
      return merged(repeats) ?? [];
    }),
  );
}

/** "embedded, callers 64": a number alone would say little. */
function rowName({ columns }: ResultTable, row: Row, count: number): string {
  const texts = row.slice(0, count).map((value, i) => {
    return typeof value === 'number' ? `${columns[i]} ${value}` : (value ?? '');
  });
  return texts.filter((text) => text !== '').join(', ');
}

function declarationOf(
  table: string,
  declaring: readonly RunRecord[],
): ResultTable['metrics'] | undefined {
  return declaring
    .flatMap(({ findings }) => findings?.tables ?? [])
    .find(({ name, metrics }) => name === table && (metrics ?? null) !== null)?.metrics;
}

interface Cell {
  readonly table: ResultTable;
  readonly column: ResultMetric;
  readonly row: Row;
  readonly index: number;
  /** Whether the table itself declares the metric: only then do its intervals fit the rows. */
  readonly isOwn: boolean;
}

function cellMetric(kind: Kind, { table, column, row, index, isOwn }: Cell): Metric {
  const numberIn = (name: string): number | null => {
    const value = row[table.columns.indexOf(name)];
    return typeof value === 'number' ? value : null;
  };
  const [low, high] = (column.intervalColumns ?? []).map(numberIn);
  const shown = typeof low === 'number' && typeof high === 'number' ? { low, high } : null;
  const hidden = isOwn ? (column.intervals?.[index] ?? null) : null;
  return metric(kind, { value: numberIn(column.column), interval: shown ?? hidden });
}
