/** Figure 9: cores used against Trade-Results a second, and the straight line through them. */
import { linearRegression, linearRegressionLine, mean, rSquared, sum } from 'simple-statistics';
import type { ResultChart, ResultMark, ResultSeries } from '#results';
import type { RunResult } from './clients.ts';
import { type SystemName, SYSTEMS } from './plan.ts';
import {
  cores,
  cpuPerTrade,
  type Figure9Results,
  saturation,
  type SystemRun,
  tradesPerSecond,
} from './results.ts';
import { studentT } from '../harness/statistics.ts';

/** Names for the report. */
export const NAMES: Readonly<Record<SystemName, string>> = {
  embedded: 'Percolator, embedded',
  emulator: 'Percolator, emulator',
  hbase: 'Percolator, HBase',
  cloud: 'Percolator, Cloud Bigtable',
  postgres: 'PostgreSQL, functions',
};

/**
 * Section 3.3: 11,200 transactions per second on 15,000 cores, and the ratio to a database on the
 * same work.
 */
export const PAPER = { cores: 15_000, tradesPerSecond: 11_200, inflation: 30 } as const;

/** The edges of a band are curves; with this many points they look smooth. */
const BAND_POINTS = 25;

export interface CostLine {
  /** Null with fewer than three loads. */
  readonly fit: LineFit | null;
  /** The runs that kept up with their load, ascending. */
  readonly kept: readonly SystemRun[];
  /**
   * One point for all rounds of a load, ascending. It is the median round, because a disturbance of
   * the machine for some seconds is not a cost of the system.
   */
  readonly loads: readonly LoadPoint[];
  /** Trade-Results per second at the lowest and the highest load; NaN if there is none. */
  readonly from: number;
  readonly to: number;
}

/** Trade-Results per second and cores of the median round. */
interface LoadPoint extends XY {
  /** Cores of the cheapest and of the most expensive round; null if there was only one. */
  readonly low: number | null;
  readonly high: number | null;
  /** Trade-Results that the point rests on. */
  readonly samples: number;
}

export function lineOf({ ladder }: Figure9Results, system: SystemName): CostLine {
  const kept = ladder
    .filter((point) => point.system === system && saturation(point.result) === null)
    .toSorted((a, b) => tradesPerSecond(a.result) - tradesPerSecond(b.result));
  const rounds = Map.groupBy(kept, ({ result }) => result.offered.tradesPerSecond);
  const loads = [...rounds.values()]
    .flatMap((points) => loadOf(points.map(({ result }) => result)))
    .toSorted((a, b) => a.x - b.x);
  const [from, to] = [loads[0]?.x ?? Number.NaN, loads.at(-1)?.x ?? Number.NaN];
  return { fit: fitLine(loads), kept, loads, from, to };
}

/**
 * Returns the round of median cost, or the mean of the two middle ones; an empty list if the
 * processor time is unknown.
 */
function loadOf(rounds: readonly RunResult[]): readonly LoadPoint[] {
  const costOf = (result: RunResult): number => cpuPerTrade([result]) ?? Number.NaN;
  const byCost = rounds.toSorted((a, b) => costOf(a) - costOf(b));
  const middle = byCost.slice(Math.ceil(rounds.length / 2) - 1, Math.floor(rounds.length / 2) + 1);
  const perTrade = cpuPerTrade(middle);
  if (perTrade === null) return [];
  const trades = sum(middle.map(({ records }) => records.tradeResult.ended));
  const x = trades / sum(middle.map(({ offered }) => offered.seconds));
  const each = rounds.flatMap((result) => cores(result) ?? []);
  const [low, high] = each.length < 2 ? [null, null] : [Math.min(...each), Math.max(...each)];
  return [{ x, y: x * perTrade, low, high, samples: trades }];
}

export function figure9Chart(results: Figure9Results): ResultChart {
  const systems = SYSTEMS.filter((system) =>
    results.ladder.some((point) => point.system === system),
  );
  const series = systems.map((system) => seriesOf(results, system));
  return {
    name: 'figure-9',
    title: 'Cores used by all processes against Trade-Results per second',
    caption: captionOf(series),
    x: { title: 'Trade-Results per second', scale: 'linear', ticks: [] },
    y: { title: 'Cores', scale: 'linear', ticks: [] },
    series,
  };
}

/** Says what is drawn. */
function captionOf(series: readonly ResultSeries[]): string {
  const hasBars = series.some(({ points }) => points.some(({ low }) => low !== null));
  const hasLines = series.some(({ fit }) => (fit ?? []).length > 0);
  return [
    `Each mark is a load that the system kept up with${hasBars ? ': the round of median cost' : ''}.`,
    ...(hasBars ? ['Bars reach from the cheapest to the most expensive round.'] : []),
    ...(hasLines
      ? [
          'Lines are least-squares fits; the area around them is the 95 % confidence band of the mean.',
        ]
      : []),
    'The samples of a mark are its Trade-Results.',
  ].join(' ');
}

function seriesOf(results: Figure9Results, system: SystemName): ResultSeries {
  const { fit, loads, from, to } = lineOf(results, system);
  const look = system === 'postgres' ? 'other' : 'percolator';
  const measured = { name: NAMES[system], look, isLine: false, points: loads } as const;
  if (fit === null) return measured;
  const line = Array.from({ length: BAND_POINTS }, (_, i): ResultMark => {
    const x = from + (i * (to - from)) / (BAND_POINTS - 1);
    return { x, ...fit.at(x) };
  });
  return { ...measured, fit: line };
}

/*
 * A straight line through points, how well it fits, and the band that contains the true line.
 *
 *     y = a + b x        least squares
 *     R²                 share of the variance of y that the line explains
 *     band at x          ŷ ± t · s · √(1/n + (x − x̄)² / Sxx), with s² = Σ(y − ŷ)² / (n − 2),
 *                        Sxx = Σ(x − x̄)²
 *
 * The band contains the mean of y at x with 95 % confidence; t is Student's, with n − 2 degrees of
 * freedom (the mean confidence limits of statistics packages; JMP, "Statistical Details for the Fit
 * Line Option").
 */

export interface XY {
  readonly x: number;
  readonly y: number;
}

export interface LineFit {
  readonly intercept: number;
  readonly slope: number;
  /** Half the width of the interval that holds the true slope with 95 % confidence. */
  readonly slopeError: number;
  readonly rSquared: number;
  readonly at: (x: number) => BandPoint;
}

export interface BandPoint {
  readonly y: number;
  readonly low: number;
  readonly high: number;
}

/**
 * Returns null for fewer than three different values of x: then nothing can be said about the
 * error.
 */
export function fitLine(points: readonly XY[]): LineFit | null {
  if (new Set(points.map(({ x }) => x)).size < 3) return null;
  const pairs = points.map(({ x, y }) => [x, y]);
  const { m: slope, b: intercept } = linearRegression(pairs);
  const line = linearRegressionLine({ m: slope, b: intercept });
  const middle = mean(points.map(({ x }) => x));
  const sxx = sum(points.map(({ x }) => (x - middle) ** 2));
  const residual = sum(points.map(({ x, y }) => (y - line(x)) ** 2));
  const freedom = points.length - 2;
  const off = studentT(freedom) * Math.sqrt(residual / freedom);
  return {
    intercept,
    slope,
    slopeError: off / Math.sqrt(sxx),
    rSquared: rSquared(pairs, line),
    at: (x) => {
      const half = off * Math.sqrt(1 / points.length + (x - middle) ** 2 / sxx);
      return { y: line(x), low: line(x) - half, high: line(x) + half };
    },
  };
}
