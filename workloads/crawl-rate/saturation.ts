/**
 * Did the system keep up? Decided from how the backlog went, not from how long anybody waited.
 *
 * Saturated, if over the measured interval any of these holds (evaluation, section 2.5):
 *
 *   1. less than 99 % of what arrived was completed, and what is missing is more than a second's
 *      worth;
 *   2. the backlog has a slope that is not chance (95 %), and the growth it projects over the
 *      interval is more than one second of arrivals and more than 5 % of all;
 *   3. the second half was more than 1.5 times as slow as the first, slow enough to matter, and the
 *      backlog has such a slope; without one, something else on the machine was at work for a
 *      while.
 *
 * A saturated system has no latency: it would have been longer if somebody had watched longer.
 */
import { linearRegression } from 'simple-statistics';
import type { TimeSeriesRow } from '#results';

export interface KeptUp {
  readonly saturated: boolean;
  readonly reason: string;
  /** Documents per second by which the backlog grew; near 0 if it did not. */
  readonly backlogGrowthPerSecond: number;
}

export interface Observation {
  /** Samples of the measured interval only. */
  readonly series: readonly TimeSeriesRow[];
  readonly perSecond: number;
  readonly seconds: number;
  /**
   * Medians of the documents that arrived in either half, in milliseconds; null if there were none.
   */
  readonly halfMediansMs: readonly [number | null, number | null];
}

/** A backlog of so many documents is what is in flight anyway. */
const IN_FLIGHT = 50;
/** Below this a slower second half is noise, in milliseconds. */
const SLOW_MS = 100;

export function judge({ series, perSecond, seconds, halfMediansMs }: Observation): KeptUp {
  const points = series.map(({ seconds: at, arrived, completed }) => [at, arrived - completed]);
  const slope = points.length < 3 ? 0 : linearRegression(points).m;
  const growth = slope * seconds;
  const certain = slope > 0 && slope > 1.96 * slopeError(points, slope);
  const tooMuch = Math.max(perSecond, 0.05 * perSecond * seconds, IN_FLIGHT);
  const saturated = (reason: string): KeptUp => ({
    saturated: true,
    reason,
    backlogGrowthPerSecond: slope,
  });

  const missing = missingShare(series);
  if (missing.share > 0.01 && missing.count > Math.max(perSecond, IN_FLIGHT)) {
    const percent = (100 * (1 - missing.share)).toFixed(1);
    return saturated(`only ${percent} % of the arrivals of the interval were clustered in it`);
  }
  if (certain && growth > tooMuch) {
    return saturated(`the backlog grows by ${slope.toFixed(0)} documents a second`);
  }
  const [first, second] = halfMediansMs;
  const slower = first !== null && second !== null && second > SLOW_MS && second > 1.5 * first;
  if (certain && slower) {
    return saturated(
      `the second half (median ${second.toFixed(0)} ms) was slower than the first (${first.toFixed(0)} ms)`,
    );
  }
  return { saturated: false, reason: 'the backlog did not grow', backlogGrowthPerSecond: slope };
}

function missingShare(series: readonly TimeSeriesRow[]): { count: number; share: number } {
  const [first, last] = [series[0], series.at(-1)];
  if (first === undefined || last === undefined) return { count: 0, share: 0 };
  const arrived = last.arrived - first.arrived;
  const missing = arrived - (last.completed - first.completed);
  return { count: missing, share: arrived === 0 ? 0 : missing / arrived };
}

/** Standard error of a least-squares slope. */
function slopeError(points: readonly number[][], slope: number): number {
  const n = points.length;
  if (n < 3) return Number.POSITIVE_INFINITY;
  const meanX = points.reduce((sum, [x = 0]) => sum + x, 0) / n;
  const meanY = points.reduce((sum, [, y = 0]) => sum + y, 0) / n;
  const sxx = points.reduce((sum, [x = 0]) => sum + (x - meanX) ** 2, 0);
  const residual = points.reduce(
    (sum, [x = 0, y = 0]) => sum + (y - meanY - slope * (x - meanX)) ** 2,
    0,
  );
  return Math.sqrt(residual / (n - 2) / sxx);
}
