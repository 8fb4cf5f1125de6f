/** Figure 9: cores used against Trade-Results a second, and the straight line through them. */
import type { ResultChart, ResultMark, ResultSeries } from '#results';
import type { Ran } from './clients.ts';
import { fitLine, type LineFit, type XY } from './line-fit.ts';
import { type WayName, WAYS } from './plan.ts';
import { cores, cpuPerTrade, type Point, saturation, tradesPerSecond } from './point.ts';
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
  /** The runs of loads that were kept up with, ascending. */
  readonly kept: readonly Point[];
  /** All rounds of a load are one point, ascending: what disturbs a machine for some seconds is nobody's cost. */
  readonly loads: readonly LoadPoint[];
  /** Trade-Results a second. */
  readonly from: number;
  readonly to: number;
}

/** Trade-Results a second, and cores, over all rounds. */
interface LoadPoint extends XY {
  /** Cores of the cheapest and of the dearest round; null if there was but one. */
  readonly low: number | null;
  readonly high: number | null;
}

export function lineOf({ ladder }: Results, way: WayName): Line {
  const kept = ladder
    .filter((point) => point.way === way && saturation(point.ran) === null)
    .toSorted((a, b) => tradesPerSecond(a.ran) - tradesPerSecond(b.ran));
  const rounds = Map.groupBy(kept, ({ ran }) => ran.offered.tradesPerSecond);
  const loads = [...rounds.values()]
    .flatMap((points) => loadOf(points.map(({ ran }) => ran)))
    .toSorted((a, b) => a.x - b.x);
  const [from, to] = [loads[0]?.x ?? Number.NaN, loads.at(-1)?.x ?? Number.NaN];
  return { fit: fitLine(loads), kept, loads, from, to };
}

/** Nothing if the system does not tell its processor time. */
function loadOf(rounds: readonly Ran[]): readonly LoadPoint[] {
  const perTrade = cpuPerTrade(rounds);
  if (perTrade === null) return [];
  const trades = rounds.reduce((sum, { records }) => sum + records.tradeResult.ended, 0);
  const x = trades / rounds.reduce((sum, { offered }) => sum + offered.seconds, 0);
  const each = rounds.flatMap((ran) => cores(ran) ?? []);
  const [low, high] = each.length < 2 ? [null, null] : [Math.min(...each), Math.max(...each)];
  return [{ x, y: x * perTrade, low, high }];
}

export function figure9Chart(results: Results): ResultChart {
  const ways = WAYS.filter((way) => results.ladder.some((point) => point.way === way));
  return {
    name: 'figure-9',
    title: 'Cores used by all processes against Trade-Results a second',
    caption:
      'Marks are loads that were kept up with, from the cheapest to the dearest round; lines are least squares, their bars ' +
      'the 95 % confidence band of the mean.',
    x: { title: 'Trade-Results a second', scale: 'linear', ticks: [] },
    y: { title: 'Cores', scale: 'linear', ticks: [] },
    series: ways.flatMap((way) => seriesOf(results, way)),
  };
}

/** Marks without a line, and a line with its band: each of few points, so that the band can be seen. */
function seriesOf(results: Results, way: WayName): readonly ResultSeries[] {
  const { fit, loads, from, to } = lineOf(results, way);
  const look = way === 'embedded' || way === 'emulator' ? 'percolator' : 'other';
  const measured: ResultSeries = { name: NAMES[way], look, isLine: false, points: loads };
  if (fit === null) return [measured];
  const xs = [0, 1, 2, 3, 4].map((i) => from + (i * (to - from)) / 4);
  const points = xs.map((x): ResultMark => {
    const { y, low, high } = fit.at(x);
    return { x, y, low, high };
  });
  return [measured, { name: `${NAMES[way]}: line`, look, isLine: true, points }];
}
