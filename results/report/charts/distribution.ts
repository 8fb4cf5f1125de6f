/**
 * The whole distribution of each point: latency against percentile, as HdrHistogram draws it.
 *
 * The axis is log 1/(1-p), so that 90 %, 99 % and 99.9 % are equally far apart; a curve ends where
 * less than one document lies beyond.
 */
import type { ChartConfiguration } from 'chart.js';
import type { ChartData } from './chart-data.ts';
import { latencyChartOptions, type LatencyDataset, type LatencyMark } from './figure-7.ts';
import { formatDigits, formatMeasured, formatRate, formatSystem } from './format.ts';
import { latencyAxis, logarithmicAxis } from './scales.ts';
import type { Theme } from './theme.ts';

/** Null if no point has a latency. */
export function distributionFigure(
  data: ChartData,
  theme: Theme,
): ChartConfiguration<'scatter', LatencyMark[]> | null {
  if (data.distributions.length === 0) return null;
  const datasets = (['mapreduce', 'percolator'] as const).flatMap((system) => {
    const curves = data.distributions.filter((distribution) => distribution.system === system);
    return curves.map((curve, rank) =>
      distributionDataset(curve, shade(rank, curves.length), theme),
    );
  });
  const marks = datasets.flatMap((dataset) => dataset.data);
  const x = percentileAxis(Math.max(...marks.map((mark) => mark.x), 10), theme);
  const positive = marks.map((mark) => mark.y).filter((seconds) => seconds > 0);
  const y = latencyAxis(positive, theme);
  return {
    type: 'scatter',
    data: { datasets },
    options: latencyChartOptions({ x, y: { ...y, max: Math.max(...positive) * 2 } }, theme),
  };
}

/**
 * Opacity by rate, as two hexadecimal digits: from a third for the lowest to full for the highest.
 */
export function shade(rank: number, count: number): string {
  const opacity = count <= 1 ? 1 : 0.35 + (0.65 * rank) / (count - 1);
  return Math.round(opacity * 255)
    .toString(16)
    .padStart(2, '0');
}

export function distributionDataset(
  distribution: ChartData['distributions'][number],
  opacity: string,
  theme: Theme,
): LatencyDataset {
  const { system, rate, curve } = distribution;
  const name = `${formatSystem(system)} at ${formatRate(rate)}`;
  const color = theme[system] + opacity;
  return {
    label: name,
    data: curve.map(({ percentile, seconds }) => ({
      x: 100 / (100 - percentile),
      y: seconds,
      words: [`${name}: ${percentileWords(percentile)} within ${formatMeasured(seconds)}`],
    })),
    showLine: true,
    borderColor: color,
    backgroundColor: color,
    borderWidth: 2,
    pointRadius: 0,
    pointHoverRadius: 5,
  };
}

/** A percentile with enough digits to differ from 100 %. */
export function percentileWords(percentile: number): string {
  const digits = Math.max(0, Math.ceil(-Math.log10(1 - percentile / 100)) - 1);
  return `${percentile.toFixed(digits)} %`;
}

export function percentileAxis(max: number, theme: Theme): object {
  const ticks = [1, 2, 4, 10, 100, 1000, 10_000, 100_000].filter((value) => value <= max * 1.05);
  return logarithmicAxis(
    {
      title: 'Share of the documents clustered within that latency',
      min: 1,
      max: max * 1.15,
      ticks,
      label: (value) => `${formatPercentile(100 - 100 / value)} %`,
    },
    theme,
  );
}

export function formatPercentile(percentile: number): string {
  return percentile < 99 ? formatDigits(percentile) : String(Number(percentile.toFixed(4)));
}
