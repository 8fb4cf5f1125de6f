/**
 * Axes: their ranges, ticks and labels. Runs in Node and in the page.
 *
 * Widths of texts are estimates, in pixels: a character takes about 7 (7.5 in a title). The
 * vertical axis and the margins take about 90 of a chart's width.
 */
import type { CartesianScaleOptions, Scale } from 'chart.js';
import type { ChartAxis } from './chart.ts';
import { formatDigits } from './format.ts';
import type { Theme } from './theme.ts';

export interface AxisRange {
  readonly min: number;
  readonly max: number;
}

export interface Tick {
  readonly value: number;
  readonly label: string | string[];
}

export function chartScale(axis: ChartAxis, range: AxisRange, theme: Theme): object {
  return {
    type: axis.scale,
    min: range.min,
    // A linear axis may end at the round number above.
    ...(axis.scale === 'linear' && axis.hasWords !== true && axis.max === undefined
      ? { suggestedMax: range.max }
      : { max: range.max }),
    title: {
      display: true,
      text: axis.title,
      color: theme.text,
      font: { family: theme.font, size: 13, weight: 600 },
      padding: 8,
    },
    // Chart.js would squeeze a title that is longer than its axis.
    beforeFit: (scale: Scale<CartesianScaleOptions>) => {
      if (scale.isHorizontal()) scale.options.title.text = titleLines(axis.title, scale.width);
    },
    border: { color: theme.muted },
    grid: { color: theme.grid },
    ticks: {
      includeBounds: axis.max === undefined,
      color: theme.muted,
      font: { family: theme.font, size: 12 },
      autoSkip: axis.scale === 'linear' && axis.hasWords !== true,
      maxRotation: 0,
      ...(axis.isWhole === true ? { precision: 0 } : {}),
      callback: (value: number, index: number, ticks: readonly Tick[]) =>
        ticks[index]?.label ?? formatDigits(value),
    },
    ...(axis.scale === 'linear' && axis.ticks.length === 0
      ? {}
      : {
          afterBuildTicks: (scale: Scale<CartesianScaleOptions>) => {
            const width = scale.isHorizontal() ? scale.chart.width : null;
            const turn = areTurned(axis, width) ? 50 : 0;
            Object.assign(scale.options.ticks, { minRotation: turn, maxRotation: turn });
            scale.ticks = shownTicks(axis, range, width);
          },
        }),
  };
}

/** A title in one line, or in two of similar length if it is wider than `width`, in pixels. */
export function titleLines(title: string, width: number): string | string[] {
  if (7.5 * title.length <= width) return title;
  const words = title.split(' ');
  const half = words.findIndex((_, i) => 2 * words.slice(0, i + 1).join(' ').length > title.length);
  return [words.slice(0, half), words.slice(half)].map((line) => line.join(' '));
}

/**
 * A linear axis begins at zero, or below it at the lowest value. An axis of words reaches half a
 * place beyond its first and last place. A logarithmic axis has a margin at both ends.
 * @param above a factor by which a logarithmic axis goes on above that margin
 */
export function axisRange(axis: ChartAxis, values: readonly number[], above: number): AxisRange {
  const [low, high] = extremes(values);
  if (axis.hasWords === true) {
    const places = axis.ticks.map(({ at }) => at);
    return { min: Math.min(...places, low) - 0.5, max: Math.max(...places, high) + 0.5 };
  }
  if (values.length === 0) return { min: 0.1, max: 1 };
  if (axis.scale === 'linear') {
    return { min: Math.min(0, low), max: axis.max ?? (high * 1.1 || 1) };
  }
  const margin = Math.max(1.5, (high / low) ** 0.06);
  return { min: low / margin, max: high * margin * above };
}

/** The lowest and the highest of the values, which may be more than a call can have arguments. */
export function extremes(values: readonly number[]): readonly [low: number, high: number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return [low, high];
}

/**
 * The labels within the range that have space: all, else only decades, else every second decade,
 * else those that do not touch the label before. `width`, in pixels, is null for a vertical axis.
 */
export function shownTicks(axis: ChartAxis, range: AxisRange, width: number | null): Tick[] {
  const isWithin = (at: number): boolean => at >= range.min && at <= range.max;
  if (axis.hasWords === true) {
    const lines = (label: string): string | string[] =>
      areTurned(axis, width) ? label : wrapped(label, width);
    return axis.ticks.map(({ at, label }) => ({ value: at, label: lines(label) }));
  }
  const all = axis.ticks.length > 0 ? axis.ticks : roundTicks();
  const within = all.filter(({ at }) => isWithin(at));
  const decades = within.filter(({ at }) => Math.abs(Math.log10(at) % 1) < 1e-9);
  const choices = [within, decades, decades.filter((_, index) => index % 2 === 0)];
  const space = { axis, range, width };
  const fitting =
    choices.find((ticks) => ticks.length >= 3 && apart(ticks, space).length === ticks.length) ??
    apart(within, space);
  return fitting.map(({ at, label }) => ({ value: at, label }));
}

/** The ticks whose labels do not touch the label before. */
export function apart(
  ticks: ChartAxis['ticks'],
  space: { readonly axis: ChartAxis; readonly range: AxisRange; readonly width: number | null },
): ChartAxis['ticks'] {
  const { axis, range, width } = space;
  if (width === null) return ticks.length <= 14 ? ticks : ticks.filter((_, i) => i % 2 === 0);
  const scaled = (value: number): number => (axis.scale === 'linear' ? value : Math.log10(value));
  const whole = scaled(range.max) - scaled(range.min);
  let end = -Infinity;
  return ticks.filter(({ at, label }) => {
    const middle = ((scaled(at) - scaled(range.min)) / whole) * (width - 90);
    const half = 3.5 * label.length;
    if (middle - half < end + 10) return false;
    end = middle + half;
    return true;
  });
}

/** Whether the labels of places are written at an angle, because a word of one is too long. */
export function areTurned({ hasWords, ticks }: ChartAxis, width: number | null): boolean {
  if (hasWords !== true || width === null) return false;
  const words = ticks.flatMap(({ label }) => wrapped(label, width));
  const place = (width - 90) / ticks.length;
  return words.some((word) => 6.5 * word.length > place);
}

/** On a narrow screen each word of a label has a line of its own. */
export function wrapped(label: string, width: number | null): string | string[] {
  return width !== null && width < 700 && label.includes(' ') ? label.split(' ') : label;
}

/** 1, 2 and 5 of each decade, each with its label. */
export function roundTicks(): ChartAxis['ticks'] {
  const decades = Array.from({ length: 25 }, (_, index) => 10 ** (index - 12));
  const values = decades.flatMap((decade) => [decade, 2 * decade, 5 * decade]);
  return values.map((at) => ({ at, label: formatDigits(at) }));
}
