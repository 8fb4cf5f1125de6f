/**
 * Did the system keep up? The verdict depends on the backlog, never on latencies alone.
 *
 * The system is saturated by the rule of all experiments (harness/load/kept-up.ts), where the
 * growth of the backlog is that of a line through its samples, if its slope is significant (95 %);
 * or if
 *
 *   1. the second half was more than 1.5 times as slow as the first, slow enough to matter, and the
 *      slope of the backlog is significant; if the slope is not, another process on the machine was
 *      active for a while;
 *   2. documents of the interval still waited a minute after its end.
 *
 * One run of a batch may be in flight at the end: the last run may be longer than the first by
 * chance. That holds only if there are enough runs to judge the slope.
 *
 * A saturated system has no latency: a longer measurement would have given a higher one.
 */
import { linearRegression, mean, sum } from 'simple-statistics';
import type { ProgressRow } from '#results';
import { whyNotKeptUp } from '../harness/load/kept-up.ts';

export interface KeptUp {
  readonly saturated: boolean;
  readonly reason: string;
  /** Documents per second by which the backlog grew; near 0 if it did not. */
  readonly backlogGrowthPerSecond: number;
}

export interface Observation {
  /** Samples of the measured interval only. */
  readonly series: readonly ProgressRow[];
  readonly perSecond: number;
  readonly seconds: number;
  /** How long a batch takes for one run, in seconds. Default: 0, no batch. */
  readonly runSeconds?: number;
  /** Median latency in each half of the interval, in milliseconds; null if it has no documents. */
  readonly halfMediansMs: readonly [number | null, number | null];
  /** Whether documents still waited a minute after the interval. Default: false. */
  readonly stillWaiting?: boolean;
}

/** Below this many milliseconds a slower second half is noise. */
const SLOW_MS = 100;

export function judge(observation: Observation): KeptUp {
  const { series, perSecond, seconds, halfMediansMs } = observation;
  const { runSeconds = 0, stillWaiting = false } = observation;
  const points = series.map(({ seconds: at, arrived, completed }) => [at, arrived - completed]);
  const slope = points.length < 3 ? 0 : linearRegression(points).m;
  const certain = slope > 0 && slope > 1.96 * slopeError(points, slope);
  const saturated = (reason: string): KeptUp => ({
    saturated: true,
    reason,
    backlogGrowthPerSecond: slope,
  });

  const reason = whyNotKeptUp({
    offered: passed(series, 'arrived'),
    completed: passed(series, 'completed'),
    unit: 'documents',
    // Without a slope, nothing else would notice runs that grow.
    inFlight: points.length < 3 ? 0 : perSecond * runSeconds,
    backlog: { growth: certain ? slope * seconds : 0, perSecond, seconds },
  });
  if (reason !== null) return saturated(reason);
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

/** How many arrived, or were completed, from the first sample to the last. */
function passed(series: readonly ProgressRow[], what: 'arrived' | 'completed'): number {
  return (series.at(-1)?.[what] ?? 0) - (series[0]?.[what] ?? 0);
}

/** Standard error of a least-squares slope. */
function slopeError(points: readonly number[][], slope: number): number {
  const n = points.length;
  if (n < 3) return Number.POSITIVE_INFINITY;
  const meanX = mean(points.map(([x = 0]) => x));
  const meanY = mean(points.map(([, y = 0]) => y));
  const sxx = sum(points.map(([x = 0]) => (x - meanX) ** 2));
  const residual = sum(points.map(([x = 0, y = 0]) => (y - meanY - slope * (x - meanX)) ** 2));
  return Math.sqrt(residual / (n - 2) / sxx);
}
