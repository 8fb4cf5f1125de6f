/**
 * Did the cluster keep up with a crawl, by the rule of all experiments (harness/load/kept-up.ts)?
 * The backlog is that of documents between arrival and cluster.
 *
 * Nothing disturbs virtual time, so short intervals suffice: only the second half of the samples
 * counts, when queues have had the time to fill.
 */
import { linearRegression } from 'simple-statistics';
import type { TimeSeriesRow } from '#results';
import { whyNotKeptUp } from '../../harness/load/kept-up.ts';

export interface Growth {
  readonly isSaturated: boolean;
  /** Documents a second by which the backlog grows. */
  readonly perSecond: number;
}

/**
 * @param series samples of the measured interval, at even distances
 * @param perSecond documents that arrive in a second
 */
export function growthOf(series: readonly TimeSeriesRow[], perSecond: number): Growth {
  const half = series.slice(Math.floor(series.length / 2));
  const points = half.map(({ seconds, arrived, completed }) => [seconds, arrived - completed]);
  const slope = linearRegression(points).m;
  const passed = (of: 'seconds' | 'arrived' | 'completed'): number =>
    (half.at(-1)?.[of] ?? 0) - (half[0]?.[of] ?? 0);
  const seconds = passed('seconds');
  const reason = whyNotKeptUp({
    offered: passed('arrived'),
    completed: passed('completed'),
    unit: 'documents',
    backlog: { growth: slope * seconds, perSecond, seconds },
  });
  return { isSaturated: reason !== null, perSecond: slope };
}
