/**
 * Figure 7 independent of the machine: everything in units of T0, one batch run over the
 * repository.
 *
 * x is the fraction of the repository that arrives during one batch run, rate times T0; y is the
 * latency over T0. A laptop and the paper's 240 machines then share one picture: every batch system
 * that keeps up has its median near 1.5, and Percolator's wall is at one over its cost ratio.
 */
import type { ChartConfiguration } from 'chart.js';
import { annotationPlugin } from './annotations.ts';
import type { ChartData, Visible } from './chart-data.ts';
import { latencyChartOptions, figure7, type LatencyDataset, type LatencyMark } from './figure-7.ts';
import { formatDigits } from './format.ts';
import { logarithmicAxis } from './scales.ts';
import type { Theme } from './theme.ts';

/** Null if no batch model was fitted: without T0 there is no unit. */
export function normalisedFigure(
  data: ChartData,
  theme: Theme,
  visible: Visible,
): ChartConfiguration<'scatter', LatencyMark[]> | null {
  const unit = data.batchRunSeconds;
  if (unit === null || unit <= 0) return null;
  const paperUnit = data.paper.mapreduceProcessingSeconds;
  const datasets = figure7(data, theme, { ...visible, paper: false }).data.datasets.map((dataset) =>
    scaled(dataset as LatencyDataset, unit),
  );
  const papers = visible.paper ? [paperDataset(data, theme)] : [];
  const marks = [...datasets, ...papers].flatMap((dataset) => dataset.data);
  const wall = arrivedPerRun(data.paper.percolatorWallPercentPerHour, paperUnit);
  const axes = normalisedAxes([...marks, { x: wall, y: 1, words: [] }], theme);
  return {
    type: 'scatter',
    data: { datasets: [...datasets.map((dataset) => onEdge(dataset, axes.top)), ...papers] },
    options: latencyChartOptions({ x: axes.x, y: axes.y }, theme),
    plugins: [
      annotationPlugin(
        {
          labels: [],
          walls: visible.paper
            ? [
                {
                  x: wall,
                  text: 'the paper\u2019s wall',
                  color: theme.paper,
                },
              ]
            : [],
        },
        theme,
      ),
    ],
  };
}

/** The fraction of the repository that arrives during a batch run of `seconds`. */
export function arrivedPerRun(percentPerHour: number, seconds: number): number {
  return (percentPerHour / 100) * (seconds / 3600);
}

export function scaled(dataset: LatencyDataset, unit: number): LatencyDataset {
  const data = dataset.data.map(({ x, y, words }) => ({
    x: arrivedPerRun(x, unit),
    y: y / unit,
    words: [...words, normalisedWords(arrivedPerRun(x, unit), y / unit, dataset)],
  }));
  return { ...dataset, data };
}

/** The tooltip of a saturated point, on the edge of the chart, states no latency. */
export function normalisedWords(x: number, y: number, dataset: LatencyDataset): string {
  const arrived = `${formatDigits(x * 100)} % of the repository arrives during a batch run`;
  return dataset.clip === false ? arrived : `${formatDigits(y)} batch runs; ${arrived}`;
}

/** Moves saturated points from the upper edge of figure 7 to the upper edge of this chart. */
export function onEdge(dataset: LatencyDataset, top: number): LatencyDataset {
  if (dataset.clip !== false) return dataset;
  return { ...dataset, data: dataset.data.map((mark) => ({ ...mark, y: top })) };
}

export function paperDataset(data: ChartData, theme: Theme): LatencyDataset {
  const { paper } = data;
  const unit = paper.mapreduceProcessingSeconds;
  const x = arrivedPerRun(paper.ratePercentPerHour, unit);
  const mark = (name: string, seconds: number): LatencyMark => ({
    x,
    y: seconds / unit,
    words: [`${name} in the paper: ${formatDigits(seconds / unit)} batch runs of 20 min`],
  });
  return {
    label: 'the paper, on its machines',
    data: [mark('MapReduce', paper.mapreduceSeconds), mark('Percolator', paper.percolatorSeconds)],
    showLine: false,
    borderColor: theme.paper,
    backgroundColor: theme.background,
    pointStyle: 'rectRot',
    pointRadius: 7,
    pointHoverRadius: 9,
    pointBorderWidth: 2,
  };
}

export function normalisedAxes(
  marks: readonly LatencyMark[],
  theme: Theme,
): { x: object; y: object; top: number } {
  const range = (values: readonly number[], below: number, above: number): [number, number] => [
    Math.min(...values) * below,
    Math.max(...values) * above,
  ];
  const decades = Array.from({ length: 25 }, (_, index) => 10 ** (index - 12));
  const ticksIn = (min: number, max: number): readonly number[] =>
    decades.filter((value) => value >= min && value <= max);
  const [left, right] = range(
    marks.map(({ x }) => x),
    0.6,
    1.8,
  );
  const [bottom, highest] = range(
    marks.map(({ y }) => y),
    0.5,
    1,
  );
  const top = Math.max(highest, 10);
  return {
    top,
    x: logarithmicAxis(
      {
        title: 'Share of the repository that arrives during one batch run',
        min: left,
        max: right,
        ticks: ticksIn(left, right),
        label: (value) => `${formatDigits(value * 100)} %`,
      },
      theme,
    ),
    y: logarithmicAxis(
      {
        title: 'Latency, in batch runs',
        min: bottom,
        max: top,
        ticks: ticksIn(bottom, top),
        label: formatDigits,
      },
      theme,
    ),
  };
}
