/**
 * A chart of findings: marks, joined or not, each with its interval if it has one, and the fitted
 * line.
 */
import type { ChartConfiguration } from 'chart.js';
import type { ResultAxis, ResultChart, ResultMark, ResultSeries } from '../run-record.ts';
import { latencyChartOptions, type LatencyDataset, type LatencyMark } from './figure-7.ts';
import { formatDigits } from './format.ts';
import { axisTitle, logarithmicAxis, roundNumbers } from './scales.ts';
import type { Theme } from './theme.ts';

export function findingsFigure(
  chart: ResultChart,
  theme: Theme,
): ChartConfiguration<'scatter', LatencyMark[]> {
  const marks = chart.series.flatMap(({ points, fit }) => [...points, ...(fit ?? [])]);
  const colors = colorsOf(chart.series, theme);
  const datasets = chart.series.flatMap((series, i) => [
    seriesDataset(series, colors[i] ?? theme.text),
    ...series.points.flatMap((mark) => intervalDataset(mark, colors[i] ?? theme.text)),
    ...fitDatasets(series.fit ?? [], looks(theme)[series.look]),
  ]);
  const xs = marks.map(({ x }) => x);
  const ys = marks.flatMap(({ y, low, high }) => [y, low ?? y, high ?? y]);
  const options = latencyChartOptions(
    { x: axisOf(chart.x, xs, theme), y: axisOf(chart.y, ys, theme) },
    theme,
  );
  return { type: 'scatter', data: { datasets }, options: named(options) };
}

type Options = NonNullable<ChartConfiguration<'scatter', LatencyMark[]>['options']>;

/** The legend names series, not their intervals. */
function named(options: Options): Options {
  const legend = options.plugins?.legend;
  const filter = ({ text }: { readonly text: string }): boolean => text !== '';
  return {
    ...options,
    plugins: {
      ...options.plugins,
      legend: { ...legend, labels: { ...legend?.labels, filter } },
    },
  };
}

/** Each look has its colour; further series of the same look are lighter. */
function colorsOf(series: readonly ResultSeries[], theme: Theme): readonly string[] {
  return series.map(({ look }, i) => {
    const rank = series.slice(0, i).filter((before) => before.look === look).length;
    return looks(theme)[look] + (['', '99', '66', '44'][rank] ?? '33');
  });
}

function looks(theme: Theme): Readonly<Record<ResultSeries['look'], string>> {
  return { percolator: theme.percolator, other: theme.mapreduce, paper: theme.paper };
}

function seriesDataset(
  { name, points, isLine, look }: ResultSeries,
  color: string,
): LatencyDataset {
  return {
    label: name,
    data: points.map(({ x, y }) => ({ x, y, words: [`${name}: ${formatDigits(y)}`] })),
    showLine: isLine,
    borderColor: color,
    backgroundColor: look === 'paper' ? 'transparent' : color,
    borderWidth: 2.5,
    pointRadius: 5.5,
    pointHoverRadius: 7,
  };
}

/** A line without a name, so that the legend leaves it out. */
function intervalDataset({ x, low, high }: ResultMark, color: string): readonly LatencyDataset[] {
  if (low === null || high === null) return [];
  const end = (y: number): LatencyMark => ({ x, y, words: [] });
  return [
    {
      data: [end(low), end(high)],
      showLine: true,
      borderColor: color,
      borderWidth: 1.5,
      pointRadius: 0,
    },
  ];
}

/** The line, and its band as the area between two edges: the second is filled up to the first. */
function fitDatasets(fit: readonly ResultMark[], color: string): readonly LatencyDataset[] {
  if (fit.length === 0) return [];
  const drawn = (yOf: (mark: ResultMark) => number, look: object): LatencyDataset => ({
    data: fit.map((mark) => ({ x: mark.x, y: yOf(mark), words: [] })),
    showLine: true,
    borderColor: color,
    borderWidth: 0,
    pointRadius: 0,
    pointHoverRadius: 0,
    ...look,
  });
  return [
    drawn(({ y }) => y, { borderWidth: 1.5 }),
    drawn(({ y, low }) => low ?? y, {}),
    drawn(({ y, high }) => high ?? y, { fill: '-1', backgroundColor: `${color}1f` }),
  ];
}

function axisOf(
  { title, scale, ticks }: ResultAxis,
  values: readonly number[],
  theme: Theme,
): object {
  const label = (value: number): string =>
    ticks.find(({ at }) => at === value)?.label ?? formatDigits(value);
  const at = ticks.map((tick) => tick.at);
  if (scale === 'logarithmic') {
    const min = Math.min(...values) / 1.5;
    const max = Math.max(...values) * 1.5;
    const shown = at.length > 0 ? at : roundNumbers(min, max);
    return logarithmicAxis({ title, min, max, ticks: shown, label }, theme);
  }
  const isWords = at.length > 0;
  return {
    type: 'linear',
    min: isWords ? Math.min(...at) - 0.5 : 0,
    ...(isWords ? { max: Math.max(...at) + 0.5 } : { suggestedMax: Math.max(...values) * 1.1 }),
    title: axisTitle(title, theme),
    border: { color: theme.muted },
    grid: { color: theme.grid },
    ticks: {
      color: theme.muted,
      font: { family: theme.font, size: 12 },
      callback: label,
    },
    ...(isWords
      ? {
          afterBuildTicks: (built: { ticks: { value: number }[] }) => {
            built.ticks = at.map((value) => ({ value }));
          },
        }
      : {}),
  };
}
