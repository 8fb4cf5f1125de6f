/**
 * The metrics of a run: the numbers by which it is compared with another.
 *
 * An experiment declares in its record which columns of its tables are metrics. A record of an
 * earlier version declares nothing; its tables are read by the declarations of the run that it is
 * compared with.
 */
import type { Interval, ResultMetric, ResultTable, RunRecord } from '#results';
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

/** The cell of a latency of a system that did not keep up. */
const UNBOUNDED = '\u221e';

type Values = Pick<Metric, 'value'> & Partial<Metric>;
type MetricRow = ResultTable['rows'][number];
type Kind = Pick<Metric, 'name' | 'unit' | 'better'>;

/** @param declaring the records whose declarations count, in this order */
export function metricsOf(
  record: RunRecord,
  declaring: readonly RunRecord[] = [record],
): readonly Metric[] {
  return record.findings.tables.flatMap((table) => tableMetrics(table, declaring));
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
function rowName({ columns }: ResultTable, row: MetricRow, count: number): string {
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
    .flatMap(({ findings }) => findings.tables)
    .find(({ name, metrics }) => name === table && (metrics ?? null) !== null)?.metrics;
}

interface MetricCell {
  readonly table: ResultTable;
  readonly column: ResultMetric;
  readonly row: MetricRow;
  readonly index: number;
  /** Whether the table itself declares the metric: only then do its intervals fit the rows. */
  readonly isOwn: boolean;
}

function cellMetric(kind: Kind, { table, column, row, index, isOwn }: MetricCell): Metric {
  const numberIn = (name: string): number | null => {
    const value = row[table.columns.indexOf(name)];
    if (value === UNBOUNDED) return Infinity;
    return typeof value === 'number' ? value : null;
  };
  const [low, high] = (column.intervalColumns ?? []).map(numberIn);
  const shown = typeof low === 'number' && typeof high === 'number' ? { low, high } : null;
  const hidden = isOwn ? (column.intervals?.[index] ?? null) : null;
  return metric(kind, { value: numberIn(column.column), interval: shown ?? hidden });
}
