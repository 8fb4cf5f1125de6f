/**
 * Did the cluster keep up? The number of documents between arrival and cluster decides: it is
 * saturated if that number grows by more than a twentieth of the arrivals.
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

export function growthOf(series: readonly TimeSeriesRow[], perSecond: number): Growth {
  const half = series.slice(Math.floor(series.length / 2));
  const points = half.map(({ seconds, arrived, completed }) => [seconds, arrived - completed]);
  const slope = linearRegression(points).m;
  return { isSaturated: slope > SHARE_MAX * perSecond, perSecond: slope };
}
