/**
 * The run second by second: what arrived, what was completed, what failed, and how long documents
 * waited; and from it the dip and the recovery.
 *
 * Seconds are whole ones since the measurement began; the warm-up has no second. A latency belongs
 * to the second in which its document was due, so the seconds of a failure show it.
 */
import { createLatencyHistogram, type Histogram } from '#results';
import { type Arrival, COMMITTED } from './attempts.ts';

export interface Second {
  readonly second: number;
  readonly arrived: number;
  readonly completed: number;
  /** Attempts that ended in this second with an error, by its code. */
  readonly failed: ReadonlyMap<string, number>;
  /** Microseconds from when a document was due until it was completed. */
  readonly latencies: Histogram;
}

/** @param fromMs when the measurement began, by the clock of the arrivals */
export function secondsOf(
  arrivals: readonly Arrival[],
  { fromMs, seconds }: { readonly fromMs: number; readonly seconds: number },
): readonly Second[] {
  const table = Array.from({ length: seconds }, (_, second) => ({
    second,
    arrived: 0,
    completed: 0,
    failed: new Map<string, number>(),
    latencies: createLatencyHistogram(),
  }));
  const at = (ms: number): (typeof table)[number] | undefined =>
    ms < fromMs ? undefined : table[Math.floor((ms - fromMs) / 1000)];
  for (const { dueMs, completedMs, attempts } of arrivals) {
    const due = at(dueMs);
    if (due !== undefined) due.arrived++;
    for (const { endedMs, outcome } of attempts) {
      if (outcome === COMMITTED) continue;
      const failed = at(endedMs)?.failed;
      failed?.set(outcome, (failed.get(outcome) ?? 0) + 1);
    }
    if (completedMs === undefined) continue;
    due?.latencies.recordValue(Math.max(0, Math.round((completedMs - dueMs) * 1000)));
    const completed = at(completedMs);
    if (completed !== undefined) completed.completed++;
  }
  return table;
}

export interface Recovery {
  /** The fewest completed in a second between the kill and the recovery, in percent of the rate. */
  readonly lowestPercent: number;
  /** Seconds from the kill to the recovery in which less than `SHARE` of the rate was completed. */
  readonly secondsBelow: number;
  /** The second from which `SHARE` of the rate was completed for good; undefined: never. */
  readonly recoveredAt: number | undefined;
}

/** "95 % of the rate is back." */
export const SHARE = 0.95;
/** Single seconds vary by chance, so the rate is taken over this many. */
export const WINDOW_SECONDS = 5;
/**
 * A second counts for at most this much of the rate. Otherwise the backlog, worked off at full
 * speed, would hide seconds in which nothing was completed.
 */
export const COUNTED_MAX = 1.1;

/**
 * @param killedAt, detectedAt seconds since the measurement began
 */
export function recoveryOf(
  seconds: readonly Pick<Second, 'completed'>[],
  { perSecond, killedAt, detectedAt }: Record<'perSecond' | 'killedAt' | 'detectedAt', number>,
): Recovery {
  const enough = seconds.map((_, i) => {
    const window = seconds.slice(i, i + WINDOW_SECONDS);
    const counted = window.map((one) => Math.min(one.completed, COUNTED_MAX * perSecond));
    const completed = counted.reduce((sum, one) => sum + one, 0);
    return completed >= SHARE * perSecond * window.length;
  });
  // The last windows are short, so the last second alone could say anything.
  const whole = enough.slice(0, Math.max(0, seconds.length - WINDOW_SECONDS + 1));
  const first = Math.max(Math.ceil(detectedAt), whole.lastIndexOf(false) + 1);
  const isBack = (_: unknown, i: number): boolean =>
    i >= first && (seconds[i]?.completed ?? 0) >= SHARE * perSecond;
  const found = whole.findIndex(isBack);
  const recoveredAt = found < 0 ? undefined : found;
  // The second of the kill counts, even if the rate did not fall.
  const from = Math.floor(killedAt);
  const during = seconds.slice(from, Math.max(from + 1, recoveredAt ?? seconds.length));
  const counts = during.map(({ completed }) => completed);
  return {
    lowestPercent: (100 * Math.min(...counts)) / perSecond,
    secondsBelow: counts.filter((completed) => completed < SHARE * perSecond).length,
    recoveredAt,
  };
}
