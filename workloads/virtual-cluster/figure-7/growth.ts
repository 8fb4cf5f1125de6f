/**
 * Did the cluster keep up? The number of documents between arrival and cluster decides: the cluster
 * is saturated if that number grows by more than a twentieth of the arrivals, and by more than
 * chance explains. With a hundred arrivals, thirty more or fewer documents in flight say nothing.
 *
 * Nothing disturbs virtual time, so short intervals suffice: only the second half of the samples
 * counts, when queues have had the time to fill.
 */
import { linearRegression } from 'simple-statistics';
import type { TimeSeriesRow } from '#results';

export interface Growth {
  readonly isSaturated: boolean;
  /** Documents a second by which the backlog grows. */
  readonly perSecond: number;
}

const SHARE_MAX = 0.05;
/** Standard deviations of the number that arrives in the interval. */
const DEVIATIONS_MAX = 3;

/**
 * @param series samples of the measured interval, at even distances
 * @param perSecond documents that arrive in a second
 */
export function growthOf(series: readonly TimeSeriesRow[], perSecond: number): Growth {
  const half = series.slice(Math.floor(series.length / 2));
  const points = half.map(({ seconds, arrived, completed }) => [seconds, arrived - completed]);
  const slope = linearRegression(points).m;
  const seconds = (half.at(-1)?.seconds ?? 0) - (half[0]?.seconds ?? 0);
  const arrivals = perSecond * seconds;
  const growthMax = Math.max(SHARE_MAX * arrivals, DEVIATIONS_MAX * Math.sqrt(arrivals));
  return { isSaturated: slope * seconds > growthMax, perSecond: slope };
}
