/** Documents waiting over the time of a point: if the line climbs, the system does not keep up. */
import type { ChartConfiguration } from 'chart.js';
import type { ChartData } from './chart-data.ts';
import { shade } from './distribution.ts';
import { latencyChartOptions, type LatencyDataset, type LatencyMark } from './figure-7.ts';
import { formatCount, formatDigits, formatRate, formatSystem } from './format.ts';
import { linearAxis } from './scales.ts';
import type { Theme } from './theme.ts';

/** Null if no point kept a time series. */
export function backlogFigure(
  data: ChartData,
  theme: Theme,
): ChartConfiguration<'scatter', LatencyMark[]> | null {
  if (data.backlogs.length === 0) return null;
  const datasets = (['mapreduce', 'percolator'] as const).flatMap((system) => {
    const curves = data.backlogs.filter((backlog) => backlog.system === system);
    return curves.map((curve, rank) => backlogDataset(curve, shade(rank, curves.length), theme));
  });
  return {
    type: 'scatter',
    data: { datasets },
    options: latencyChartOptions(
      {
        x: linearAxis('Seconds since the point began', theme),
        y: linearAxis('Documents waiting', theme),
      },
      theme,
    ),
  };
}

export function backlogDataset(
  backlog: ChartData['backlogs'][number],
  opacity: string,
  theme: Theme,
): LatencyDataset {
  const { system, rate, curve } = backlog;
  const name = `${formatSystem(system)} at ${formatRate(rate)}`;
  const color = theme[system] + opacity;
  return {
    label: name,
    data: curve.map(({ seconds, documents }) => ({
      x: seconds,
      y: documents,
      words: [`${name}: ${formatCount(documents)} waiting after ${formatDigits(seconds)} s`],
    })),
    showLine: true,
    borderColor: color,
    backgroundColor: color,
    borderWidth: 2,
    pointRadius: 0,
    pointHoverRadius: 5,
  };
}
