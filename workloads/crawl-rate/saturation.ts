/**
 * Did the system keep up? The verdict depends on the backlog, never on latencies alone.
 *
 * The system is saturated if any of these holds over the measured interval:
 *
 *   1. less than 99 % of the arrivals were completed, and more are missing than arrive in a second,
 *      than arrive in one run of a batch, and than are always in flight (50). The run of a batch
 *      counts because the last run may be longer than the first by chance, but only if there are
 *      enough runs to judge the slope in 2;
 *   2. the backlog has a significant slope (95 %), and the growth it projects over the interval is
 *      more than one second of arrivals, more than 5 % of all arrivals, and more than those 50;
 *   3. the second half was more than 1.5 times as slow as the first, slow enough to matter, and the
 *      slope of the backlog is significant; if the slope is not, another process on the machine was
 *      active for a while;
 *   4. documents of the interval still waited a minute after its end.
 *
 * A saturated system has no latency: a longer measurement would have given a higher one.
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
  /** How long a batch takes for one run, in seconds. Default: 0, no batch. */
  readonly runSeconds?: number;
  /** Median latency in each half of the interval, in milliseconds; null if it has no documents. */
  readonly halfMediansMs: readonly [number | null, number | null];
  /** Whether documents still waited a minute after the interval. Default: false. */
  readonly stillWaiting?: boolean;
}

/** A backlog of up to this many documents is normal: they are in flight. */
const IN_FLIGHT = 50;
/** Below this many milliseconds a slower second half is noise. */
const SLOW_MS = 100;

export function judge(observation: Observation): KeptUp {
  const { series, perSecond, seconds, halfMediansMs } = observation;
  const { runSeconds = 0, stillWaiting = false } = observation;
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
  // Without a slope, nothing else would notice runs that grow.
  const ofARun = points.length < 3 ? 0 : perSecond * runSeconds;
  const expected = Math.max(perSecond, ofARun, IN_FLIGHT);
  if (missing.share > 0.01 && missing.count > expected) {
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
  if (stillWaiting) return saturated('documents still waited a minute after the interval');
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
