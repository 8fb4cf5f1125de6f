/** Figure 9: cores used against Trade-Results a second, and the straight line through them. */
import type { ResultChart, ResultMark, ResultSeries } from '#results';
import { fitLine, type LineFit } from './line-fit.ts';
import { type WayName, WAYS } from './plan.ts';
import { cores, type Point, saturation, tradesPerSecond } from './point.ts';
import type { Results } from './results.ts';

/** For people. */
export const NAMES: Readonly<Record<WayName, string>> = {
  embedded: 'Percolator, embedded',
  emulator: 'Percolator, emulator',
  functions: 'PostgreSQL, functions',
  frames: 'PostgreSQL, frames',
};

/** Section 3.3: 11,200 transactions a second on 15,000 cores, and the ratio to a database on the same work. */
export const PAPER = { cores: 15_000, tradesPerSecond: 11_200, inflation: 30 } as const;

export interface Line {
  /** Null with fewer than three loads. */
  readonly fit: LineFit | null;
  /** The loads that were kept up with, ascending. */
  readonly kept: readonly Point[];
  /** Trade-Results a second. */
  readonly from: number;
  readonly to: number;
}

export function lineOf({ ladder }: Results, way: WayName): Line {
  const kept = ladder
    .filter((point) => point.way === way && saturation(point.ran) === null)
    .toSorted((a, b) => tradesPerSecond(a.ran) - tradesPerSecond(b.ran));
  const points = kept.flatMap(({ ran }) => {
    const y = cores(ran);
    return y === null ? [] : [{ x: tradesPerSecond(ran), y }];
  });
  const [from, to] = [points[0]?.x ?? Number.NaN, points.at(-1)?.x ?? Number.NaN];
  return { fit: fitLine(points), kept, from, to };
}

export function figure9Chart(results: Results): ResultChart {
  const ways = WAYS.filter((way) => results.ladder.some((point) => point.way === way));
  return {
    name: 'figure-9',
    title: 'Cores used by all processes against Trade-Results a second',
    caption:
      'Marks are loads that were kept up with; lines are least squares, their bars the 95 % confidence band of the mean.',
    x: { title: 'Trade-Results a second', scale: 'linear', ticks: [] },
    y: { title: 'Cores', scale: 'linear', ticks: [] },
    series: ways.flatMap((way) => seriesOf(results, way)),
  };
}

/** Marks without a line, and a line with its band: each of few points, so that the band can be seen. */
function seriesOf(results: Results, way: WayName): readonly ResultSeries[] {
  const { fit, kept, from, to } = lineOf(results, way);
  const look = way === 'embedded' || way === 'emulator' ? 'percolator' : 'other';
  const marks = kept.flatMap(({ ran }): ResultMark[] => {
    const y = cores(ran);
    return y === null ? [] : [{ x: tradesPerSecond(ran), y, low: null, high: null }];
  });
  const measured: ResultSeries = { name: NAMES[way], look, isLine: false, points: marks };
  if (fit === null) return [measured];
  const xs = [0, 1, 2, 3, 4].map((i) => from + (i * (to - from)) / 4);
  const points = xs.map((x): ResultMark => {
    const { y, low, high } = fit.at(x);
    return { x, y, low, high };
  });
  return [measured, { name: `${NAMES[way]}: line`, look, isLine: true, points }];
}
