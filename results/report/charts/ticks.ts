/** Values that axes of durations, rates and shares may label. */
import type { ChartAxis } from './chart.ts';
import { roundTicks } from './axes.ts';
import { formatDigits, formatDuration } from './format.ts';

type Ticks = ChartAxis['ticks'];

/**
 * Familiar durations: decades below a second, then of seconds, minutes and hours. Twice and five
 * times each of them are fine ticks.
 */
export function durationTicks(): Ticks {
  const seconds = [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 60, 600, 3600, 36_000, 360_000];
  const tick = (at: number, isFine: boolean): Ticks[number] => {
    return { at, label: formatDuration(at), isFine };
  };
  return seconds.flatMap((at) => [tick(at, false), tick(2 * at, true), tick(5 * at, true)]);
}

/** Rates that are already in percent. */
export function rateTicks(): Ticks {
  return roundTicks().map(({ at, label }) => ({ at, label: `${label} %` }));
}

/** Shares from 0 to 1, as percent. */
export function shareTicks(): Ticks {
  return decades().map((at) => ({ at, label: `${formatDigits(at * 100)} %` }));
}

/** 1/(1-p) of a percentile p, so that 90 %, 99 % and 99.9 % are equally far apart. */
export function percentileTicks(): Ticks {
  return [2, 4, 10, 100, 1000, 10_000, 100_000].map((at) => ({
    at,
    label: `${Number((100 - 100 / at).toFixed(4))} %`,
  }));
}

function decades(): readonly number[] {
  return Array.from({ length: 25 }, (_, index) => 10 ** (index - 12));
}
