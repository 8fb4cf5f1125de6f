/** Axes: their ranges, ticks and labels. Runs in Node and in the page. */
import type { ScaleOptionsByType } from 'chart.js';
import { formatCount, formatDigits, formatDuration } from './format.ts';
import type { Theme } from './theme.ts';

export interface AxisOptions {
  readonly title: string;
  readonly min: number;
  readonly max: number;
  readonly ticks: readonly number[];
  readonly label: (value: number) => string;
}

type Scale<T extends 'logarithmic' | 'linear'> = { type: T } & {
  [K in keyof ScaleOptionsByType<T>]?: unknown;
};
type LogarithmicScale = Scale<'logarithmic'>;

/** An axis with exactly the ticks given: chart.js's own are 2, 3, 4, ... of every decade. */
export function logarithmicAxis(axis: AxisOptions, theme: Theme): LogarithmicScale {
  return {
    type: 'logarithmic',
    min: axis.min,
    max: axis.max,
    title: axisTitle(axis.title, theme),
    border: { color: theme.muted },
    grid: { color: theme.grid },
    ticks: {
      color: theme.muted,
      font: { family: theme.font, size: 12 },
      autoSkip: false,
      maxRotation: 0,
      callback: (value: number) => axis.label(value),
    },
    afterBuildTicks: (scale: { ticks: { value: number }[] }) => {
      scale.ticks = axis.ticks.map((value) => ({ value }));
    },
  };
}

/** A linear axis from zero. */
export function linearAxis(title: string, theme: Theme): Scale<'linear'> {
  return {
    type: 'linear',
    min: 0,
    title: axisTitle(title, theme),
    border: { color: theme.muted },
    grid: { color: theme.grid },
    ticks: {
      color: theme.muted,
      font: { family: theme.font, size: 12 },
      callback: (value: number) => formatCount(value),
    },
  };
}

export function axisTitle(text: string, theme: Theme): object {
  return {
    display: true,
    text,
    color: theme.text,
    font: { family: theme.font, size: 13, weight: 600 },
    padding: 8,
  };
}

/**
 * The axis of crawl rates, with space for text to the left of the lowest, and a little on the
 * right.
 */
export function rateAxis(rates: readonly number[], theme: Theme): LogarithmicScale {
  const span = Math.max(10, Math.max(...rates) / Math.min(...rates));
  const min = Math.min(...rates) / span ** 0.17;
  const max = Math.max(...rates) * span ** 0.06;
  return logarithmicAxis(
    {
      title: 'Crawl rate, % of the repository per hour',
      min,
      max,
      ticks: roundNumbers(min, max),
      label: (value) => `${formatDigits(value)} %`,
    },
    theme,
  );
}

/** The axis of latencies, with space above the highest for the saturated points. */
export function latencyAxis(seconds: readonly number[], theme: Theme): LogarithmicScale {
  const min = Math.min(...seconds) / 2;
  const max = Math.max(...seconds) * 8;
  return logarithmicAxis(
    {
      title: 'Latency until clustered',
      min,
      max,
      ticks: roundDurations().filter((value) => value >= min && value <= max),
      label: formatDuration,
    },
    theme,
  );
}

/** Familiar durations: decades below a second, then seconds, minutes, hours. */
export function roundDurations(): readonly number[] {
  return [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 60, 600, 3600, 36_000, 360_000];
}

/** 1, 2, 5, 10, ... between `min` and `max`; only decades if that would be more than a dozen. */
export function roundNumbers(min: number, max: number): readonly number[] {
  const decades = Array.from({ length: 25 }, (_, index) => 10 ** (index - 12));
  const within = (value: number): boolean => value >= min && value <= max;
  const fine = decades.flatMap((decade) => [decade, 2 * decade, 5 * decade]).filter(within);
  return fine.length <= 12 ? fine : decades.filter(within);
}
