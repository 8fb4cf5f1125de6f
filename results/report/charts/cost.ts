/** CPU time per new document against crawl rate; it shows where the batch becomes cheaper. */
import type { ChartConfiguration } from 'chart.js';
import type { ChartData, ChartPoint } from './chart-data.ts';
import { latencyChartOptions, type LatencyDataset, type LatencyMark } from './figure-7.ts';
import { formatDuration, formatMeasured, formatRate, formatSystem } from './format.ts';
import { logarithmicAxis, rateAxis, roundDurations } from './scales.ts';
import type { Theme } from './theme.ts';

/** Null if no point recorded its cost. */
export function costFigure(
  data: ChartData,
  theme: Theme,
): ChartConfiguration<'scatter', LatencyMark[]> | null {
  const datasets = (['mapreduce', 'percolator'] as const)
    .map((system) => costDataset(data.points, system, theme))
    .filter((dataset) => dataset.data.length > 0);
  const marks = datasets.flatMap((dataset) => dataset.data);
  if (marks.length === 0) return null;
  const min = Math.min(...marks.map((mark) => mark.y)) / 3;
  const max = Math.max(...marks.map((mark) => mark.y)) * 3;
  const y = logarithmicAxis(
    {
      title: 'CPU time per new document',
      min,
      max,
      ticks: roundDurations().filter((value) => value >= min && value <= max),
      label: formatDuration,
    },
    theme,
  );
  const x = rateAxis(
    marks.map((mark) => mark.x),
    theme,
  );
  return { type: 'scatter', data: { datasets }, options: latencyChartOptions({ x, y }, theme) };
}

export function costDataset(
  points: readonly ChartPoint[],
  system: ChartPoint['system'],
  theme: Theme,
): LatencyDataset {
  const name = formatSystem(system);
  return {
    label: name,
    data: points.flatMap((point) => {
      const seconds = point.system === system ? point.cpuSecondsPerDocument : null;
      if (seconds === null || seconds <= 0) return [];
      const words = `${name} at ${formatRate(point.rate)}: ${formatMeasured(seconds)} of CPU a document`;
      return [{ x: point.rate, y: seconds, words: [words] }];
    }),
    showLine: true,
    borderColor: theme[system],
    backgroundColor: theme[system],
    borderWidth: 2.5,
    pointRadius: 4.5,
    pointHoverRadius: 7,
  };
}
