/**
 * Figure 7: latency against crawl rate, ours and the paper's. Runs in Node (the PNG) and in the
 * page.
 *
 *   solid line, filled points    our median
 *   thin dashed line             our 99th percentile
 *   dotted line                  the batch model, where there is no measurement
 *   arrow at the upper edge      saturated: the backlog grows, and the latency with it
 *   grey, hollow                 figures that the paper states for its own machines
 *
 * Failed and invalid points are not drawn; the table names them.
 */
import type { ChartConfiguration, ChartDataset, LegendItem } from 'chart.js';
import { annotationPlugin, type Annotations } from './annotations.ts';
import type { ChartData, ChartPoint, Visible } from './chart-data.ts';
import { formatBacklogGrowth, formatDuration, formatRate, formatSystem } from './format.ts';
import { formatCount, formatMeasured } from './format.ts';
import { latencyAxis, rateAxis } from './scales.ts';
import type { Theme } from './theme.ts';

export type LatencyDataset = ChartDataset<'scatter', LatencyMark[]>;

/** A point of a dataset, with the words of its tooltip. */
export interface LatencyMark {
  readonly x: number;
  readonly y: number;
  readonly words: readonly string[];
}

export function figure7(
  data: ChartData,
  theme: Theme,
  visible: Visible,
): ChartConfiguration<'scatter', LatencyMark[]> {
  const { paper } = data;
  const rates = [...data.points.map((point) => point.rate), paper.ratePercentPerHour];
  const seconds = drawnLatencies(data, visible);
  const y = latencyAxis(seconds, theme);
  const top = Number(y.max);
  return {
    type: 'scatter',
    data: {
      datasets: [
        ...(['mapreduce', 'percolator'] as const).flatMap((system) =>
          systemDatasets(data, system, { color: theme[system], visible, top }),
        ),
        ...(visible.median ? modelDatasets(data, theme) : []),
        ...(visible.paper ? paperDatasets(data, theme) : []),
      ],
    },
    options: latencyChartOptions(
      { x: rateAxis([...rates, paper.percolatorWallPercentPerHour], theme), y },
      theme,
    ),
    plugins: [annotationPlugin(figure7Annotations(data, theme, visible, top), theme)],
  };
}

/** All visible latencies, which determine the range of the axis. */
export function drawnLatencies(data: ChartData, visible: Visible): readonly number[] {
  const { paper } = data;
  const ours = data.points.flatMap((point) => [
    visible.median ? point.medianSeconds : null,
    visible.p99 ? point.p99Seconds : null,
  ]);
  const papers = visible.paper ? [paper.mapreduceSeconds, paper.percolatorSeconds] : [];
  const all = [...ours.filter((value) => value !== null && value > 0), ...papers] as number[];
  return all.length > 0 ? all : [0.001, 1];
}

/** Median, 99th percentile and saturated points of one of our systems. */
export function systemDatasets(
  data: ChartData,
  system: ChartPoint['system'],
  look: { readonly color: string; readonly visible: Visible; readonly top: number },
): LatencyDataset[] {
  const { color, visible, top } = look;
  const points = data.points.filter((point) => point.system === system);
  const name = formatSystem(system);
  const curve = (label: string, latencyOf: (point: ChartPoint) => number | null): LatencyMark[] =>
    points.flatMap((point) => {
      const y = latencyOf(point);
      return y === null ? [] : [{ x: point.rate, y, words: latencyWords(label, point, y) }];
    });
  const saturated = points.filter((point) => point.state === 'saturated');
  const style = { showLine: true, borderColor: color, backgroundColor: color };
  const datasets: LatencyDataset[] = [
    {
      ...style,
      label: `${name}, median`,
      data: visible.median ? curve(`${name}, median`, (point) => point.medianSeconds) : [],
      borderWidth: 2.5,
      pointRadius: 4.5,
      pointHoverRadius: 7,
    },
    {
      ...style,
      label: `${name}, 99th percentile`,
      data: visible.p99 ? curve(`${name}, 99th percentile`, (point) => point.p99Seconds) : [],
      borderWidth: 1.25,
      borderDash: [5, 4],
      pointRadius: 2,
      pointHoverRadius: 5,
    },
    {
      label: `${name}, backlog grows`,
      data: saturated.map((point) => ({ x: point.rate, y: top, words: saturatedWords(point) })),
      showLine: false,
      borderColor: color,
      backgroundColor: color,
      pointStyle: 'triangle',
      pointRadius: 8,
      pointHoverRadius: 10,
      clip: false,
    },
  ];
  return datasets.filter((dataset) => dataset.data.length > 0);
}

export function latencyWords(label: string, point: ChartPoint, seconds: number): string[] {
  return [
    `${label} at ${formatRate(point.rate)}: ${formatMeasured(seconds)}`,
    `${formatCount(point.documents)} documents`,
  ];
}

export function saturatedWords(point: ChartPoint): string[] {
  return [
    `${formatSystem(point.system)} at ${formatRate(point.rate)}: saturated`,
    formatBacklogGrowth(point.backlogGrowthPerSecond),
  ];
}

export function modelDatasets(data: ChartData, theme: Theme): LatencyDataset[] {
  if (data.model.length === 0) return [];
  return [
    {
      label: 'MapReduce, model',
      data: data.model.map(({ rate, seconds }) => ({
        x: rate,
        y: seconds,
        words: [`MapReduce, model at ${formatRate(rate)}: ${formatMeasured(seconds)}`],
      })),
      showLine: true,
      borderColor: theme.mapreduce,
      backgroundColor: theme.mapreduce,
      borderWidth: 1.25,
      borderDash: [1.5, 3.5],
      pointRadius: 0,
      pointHitRadius: 0,
    },
  ];
}

export function paperDatasets(data: ChartData, theme: Theme): LatencyDataset[] {
  const { paper } = data;
  const at = `the paper at ${formatRate(paper.ratePercentPerHour)}`;
  const mark = (y: number, words: string): LatencyMark => ({
    x: paper.ratePercentPerHour,
    y,
    words: [words],
  });
  return [
    {
      label: 'the paper, on its machines',
      data: [
        mark(
          paper.mapreduceSeconds,
          `MapReduce in ${at}: about ${formatDuration(paper.mapreduceSeconds)}, ` +
            `${formatDuration(paper.mapreduceProcessingSeconds)} of it processing`,
        ),
        mark(
          paper.percolatorSeconds,
          `Percolator in ${at}: ${formatDuration(paper.percolatorSeconds)}`,
        ),
      ],
      showLine: false,
      borderColor: theme.paper,
      backgroundColor: theme.background,
      pointStyle: 'rectRot',
      pointRadius: 7,
      pointHoverRadius: 9,
      pointBorderWidth: 2,
    },
  ];
}

export function figure7Annotations(
  data: ChartData,
  theme: Theme,
  visible: Visible,
  top: number,
): Annotations {
  const { paper } = data;
  const right = { x: paper.ratePercentPerHour, color: theme.paper, align: 'right' } as const;
  const papers = [
    {
      ...right,
      y: paper.mapreduceSeconds,
      lines: [
        'the paper\u2019s',
        `MapReduce: ${formatDuration(paper.mapreduceSeconds)}`,
        `(${formatDuration(paper.mapreduceProcessingSeconds)} processing)`,
      ],
    },
    {
      ...right,
      y: paper.percolatorSeconds,
      lines: ['the paper\u2019s', `Percolator: ${formatDuration(paper.percolatorSeconds)}`],
    },
  ];
  const wall = {
    x: paper.percolatorWallPercentPerHour,
    text: `the paper\u2019s wall: ${formatRate(paper.percolatorWallPercentPerHour)}`,
    color: theme.paper,
  };
  return {
    labels: [...saturatedLabels(data, theme, top), ...(visible.paper ? papers : [])],
    walls: visible.paper ? [wall] : [],
  };
}

/** One label per system, below its first saturated rate, on the side and line with free space. */
export function saturatedLabels(data: ChartData, theme: Theme, top: number): Annotations['labels'] {
  const rates = [...data.points.map((point) => point.rate), data.paper.ratePercentPerHour];
  const middleSquared = Math.min(...rates) * Math.max(...rates);
  return (['percolator', 'mapreduce'] as const).flatMap((system, index) => {
    const first = data.points.find(
      (point) => point.system === system && point.state === 'saturated',
    );
    if (first === undefined) return [];
    return [
      {
        x: first.rate,
        y: top,
        lines: [`${formatSystem(system)}: backlog grows`],
        below: 20 + 18 * index,
        color: theme[system],
        align: first.rate ** 2 > middleSquared ? ('right' as const) : ('left' as const),
      },
    ];
  });
}

/** The legend shows a piece of line for each curve, and a mark for each set of single points. */
export function legendItems(datasets: readonly LatencyDataset[], theme: Theme): LegendItem[] {
  return datasets.map((dataset, index) => ({
    text: dataset.label ?? '',
    fontColor: theme.text,
    strokeStyle: dataset.borderColor as string,
    fillStyle: dataset.backgroundColor as string,
    lineWidth: dataset.showLine === true ? Number(dataset.borderWidth ?? 2) : 2,
    lineDash: (dataset.borderDash as number[] | undefined) ?? [],
    pointStyle: dataset.showLine === true ? 'line' : (dataset.pointStyle as 'triangle'),
    datasetIndex: index,
  }));
}

/**
 * Options common to the charts of latencies: no animation, and tooltips with the words of a mark.
 */
export function latencyChartOptions(
  scales: { readonly x: object; readonly y: object },
  theme: Theme,
): NonNullable<ChartConfiguration<'scatter', LatencyMark[]>['options']> {
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    layout: { padding: { top: 10, right: 20, bottom: 6, left: 10 } },
    interaction: { mode: 'nearest', intersect: false, axis: 'xy' },
    scales,
    plugins: {
      legend: {
        position: 'bottom',
        labels: {
          color: theme.text,
          font: { family: theme.font, size: 12 },
          usePointStyle: true,
          boxHeight: 12,
          padding: 16,
          generateLabels: (chart) => legendItems(chart.data.datasets as LatencyDataset[], theme),
        },
      },
      tooltip: {
        displayColors: false,
        callbacks: {
          title: () => '',
          label: (item) => [...(item.raw as LatencyMark).words],
        },
      },
    },
  };
}
