/**
 * How findings declare a table by its columns and a chart by its series: whatever belongs to a
 * column or to a series is said in one place.
 *
 *     resultTable({ name: 'timestamps', title: '...', caption: '...' }, points, [
 *       rowName('callers', ({ callers }) => callers),
 *       column('timestamps/s', ({ perSecond }) => Math.round(perSecond), higher('timestamps/s')),
 *       column('p50 ms', ({ p50Ms }) => rounded(p50Ms), lower('ms')),
 *       column('samples', ({ samples }) => samples),
 *     ]);
 *
 *     series(points, ({ callers, samples }) => ({ x: callers, samples }), [
 *       line('median', 'percolator', ({ p50Ms }) => p50Ms),
 *       dots('slowest', 'other', ({ maxMs }) => maxMs),
 *     ]);
 *
 * Two runs are compared by the columns that have `higher(unit)` or `lower(unit)`. Rows that differ
 * in no `rowName` are repeats of the same measurement.
 */
import type {
  Findings,
  Interval,
  ResultMark,
  ResultMetric,
  ResultSeries,
  ResultTable,
  TableMetrics,
  Target,
} from './run-record.ts';

/** What is known of the findings before the measurement. */
export type Subject = Pick<Findings, 'kind' | 'kicker' | 'title'>;

/** What a measurement found. */
export interface FindingsParts extends Omit<Findings, keyof Subject> {
  readonly targets: readonly Target[];
}

/** For the record of a run that found nothing, or failed its check: only the reason. */
export function noNumbers(detail: string): FindingsParts {
  const check = { passed: false, detail };
  return { headline: 'There are no numbers.', check, tables: [], charts: [], targets: [] };
}

type TableCell = ResultTable['rows'][number][number];

export interface Column<Row> {
  readonly title: string;
  readonly of: (row: Row) => TableCell;
  readonly isName?: boolean;
  readonly metric?: Better<Row>;
}

interface Better<Row> {
  readonly better: ResultMetric['better'];
  readonly unit: string;
  /** How the 95 % confidence interval of a value is found. */
  readonly interval: IntervalOf<Row> | undefined;
}

/** Of a row, or the titles of the two columns that show it. */
type IntervalOf<Row> = ((row: Row) => Interval | null) | readonly [low: string, high: string];

/**
 * @param columns those made by `rowName` first
 * @param first a row above all others, such as the paper's, by the titles of its columns; its other
 *   cells are empty
 */
export function resultTable<Row>(
  about: Pick<ResultTable, 'name' | 'title' | 'caption'>,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  first?: Readonly<Record<string, TableCell>>,
): ResultTable {
  const titles = columns.map(({ title }) => title);
  const above = first === undefined ? [] : [rowByTitle(first, titles)];
  const metrics = metricsOf(rows, columns, above.length);
  return {
    ...about,
    columns: titles,
    rows: [...above, ...rows.map((row) => columns.map(({ of }) => of(row)))],
    ...(metrics.columns.length > 0 && { metrics }),
  };
}

function rowByTitle(
  row: Readonly<Record<string, TableCell>>,
  titles: readonly string[],
): readonly TableCell[] {
  const unknown = Object.keys(row).find((title) => !titles.includes(title));
  if (unknown !== undefined) throw new Error(`no column of the table has the title ${unknown}`);
  return titles.map((title) => row[title] ?? null);
}

/** @param above rows of the table that are not among `rows`: they have no interval */
function metricsOf<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  above: number,
): TableMetrics {
  const metricOf = (title: string, { better, unit, interval }: Better<Row>): ResultMetric => {
    const metric = { column: title, unit, better };
    if (interval === undefined) return metric;
    if (typeof interval !== 'function') return { ...metric, intervalColumns: interval };
    const none = Array.from({ length: above }, () => null);
    return { ...metric, intervals: [...none, ...rows.map((row) => interval(row))] };
  };
  return {
    rowNames: columns.filter(({ isName }) => isName === true).length,
    columns: columns.flatMap(({ title, metric }) =>
      metric === undefined ? [] : [metricOf(title, metric)],
    ),
  };
}

/** A column that names the row; the first columns of a table. */
export function rowName<Row>(title: string, of: Column<Row>['of']): Column<Row> {
  return { title, of, isName: true };
}

export function column<Row>(
  title: string,
  of: Column<Row>['of'],
  metric?: Better<Row>,
): Column<Row> {
  return metric === undefined ? { title, of } : { title, of, metric };
}

/** The columns of a table whose rows are a name and what is said of it. */
export function pair(
  name: string,
  value: string,
): readonly Column<readonly [name: string, value: TableCell]>[] {
  return [column(name, ([named]) => named), column(value, ([, said]) => said)];
}

export function higher<Row>(unit: string, interval?: IntervalOf<Row>): Better<Row> {
  return { better: 'higher', unit, interval };
}

export function lower<Row>(unit: string, interval?: IntervalOf<Row>): Better<Row> {
  return { better: 'lower', unit, interval };
}

export interface SeriesOf<Row> extends Omit<ResultSeries, 'points'> {
  /** Null leaves the row out. */
  readonly y: (row: Row) => number | null | Omit<ResultMark, 'x'>;
}

/** One mark for each row and series, in the order of `rows`. The first series is drawn on top. */
export function series<Row>(
  rows: readonly Row[],
  at: (row: Row, i: number) => Pick<ResultMark, 'x' | 'samples'>,
  all: readonly SeriesOf<Row>[],
): readonly ResultSeries[] {
  return all.map(({ y: yOf, ...one }) => ({
    ...one,
    points: rows.flatMap((row, i): readonly ResultMark[] => {
      const y = yOf(row);
      if (y === null) return [];
      const mark = typeof y === 'number' ? { y, low: null, high: null } : y;
      return [{ ...at(row, i), ...mark }];
    }),
  }));
}

/** Marks that are joined. */
export function line<Row>(
  name: string,
  look: ResultSeries['look'],
  y: SeriesOf<Row>['y'],
): SeriesOf<Row> {
  return { name, look, isLine: true, y };
}

export function dots<Row>(
  name: string,
  look: ResultSeries['look'],
  y: SeriesOf<Row>['y'],
): SeriesOf<Row> {
  return { name, look, isLine: false, y };
}
