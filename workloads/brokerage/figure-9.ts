/** Figure 9: cores used against Trade-Results a second, and the straight line through them. */
import type { ResultChart, ResultMark, ResultSeries } from '#results';
import type { RunResult } from './clients.ts';
import { fitLine, type LineFit, type XY } from './line-fit.ts';
import { type SystemName, SYSTEMS } from './plan.ts';
import { cores, cpuPerTrade, type Point, saturation, tradesPerSecond } from './point.ts';
import type { Results } from './results.ts';

/** Names for the report. */
export const NAMES: Readonly<Record<SystemName, string>> = {
  embedded: 'Percolator, embedded',
  emulator: 'Percolator, emulator',
  hbase: 'Percolator, HBase',
  cloud: 'Percolator, Cloud Bigtable',
  functions: 'PostgreSQL, functions',
  frames: 'PostgreSQL, frames',
};

/**
 * Section 3.3: 11,200 transactions per second on 15,000 cores, and the ratio to a database on the
 * same work.
 */
export const PAPER = { cores: 15_000, tradesPerSecond: 11_200, inflation: 30 } as const;

/** The edges of a band are curves; with this many points they look smooth. */
const BAND_POINTS = 25;

export interface Line {
  /** Null with fewer than three loads. */
  readonly fit: LineFit | null;
  /** The runs that kept up with their load, ascending. */
  readonly kept: readonly Point[];
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

export function lineOf({ ladder }: Results, system: SystemName): Line {
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
  const trades = middle.reduce((sum, { records }) => sum + records.tradeResult.ended, 0);
  const x = trades / middle.reduce((sum, { offered }) => sum + offered.seconds, 0);
  const each = rounds.flatMap((result) => cores(result) ?? []);
  const [low, high] = each.length < 2 ? [null, null] : [Math.min(...each), Math.max(...each)];
  return [{ x, y: x * perTrade, low, high, samples: trades }];
}

export function figure9Chart(results: Results): ResultChart {
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

function seriesOf(results: Results, system: SystemName): ResultSeries {
  const { fit, loads, from, to } = lineOf(results, system);
  const look = system === 'functions' || system === 'frames' ? 'other' : 'percolator';
  const measured = { name: NAMES[system], look, isLine: false, points: loads } as const;
  if (fit === null) return measured;
  const line = Array.from({ length: BAND_POINTS }, (_, i): ResultMark => {
    const x = from + (i * (to - from)) / (BAND_POINTS - 1);
    return { x, ...fit.at(x) };
  });
  return { ...measured, fit: line };
}
