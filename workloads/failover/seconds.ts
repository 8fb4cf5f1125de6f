/**
 * The run second by second: how many transactions of the load arrived, were completed or failed,
 * and how long they took; and the dip and the recovery, computed from that.
 *
 * Seconds are numbered from 0, from the beginning of the measurement; those of the warm-up are not
 * listed. A latency counts in the second in which its arrival was due, so the seconds in which the
 * failure delayed arrivals show the delay.
 */
import { sum } from 'simple-statistics';
import { createLatencyHistogram, type Histogram } from '#results';
import { type Arrival, COMMITTED } from './attempts.ts';

export interface Second {
  readonly second: number;
  readonly arrived: number;
  readonly completed: number;
  /**
   * Attempts that ended in this second with an error, by its code; some of those with
   * COMMIT_UNKNOWN were then found committed.
   */
  readonly failed: ReadonlyMap<string, number>;
  /** Microseconds from when an arrival was due until it was completed. */
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

export interface RateRecovery {
  /**
   * The fewest arrivals completed in a second from the kill to the recovery, or to the end if there
   * was none, in percent of the rate.
   */
  readonly lowestPercent: number;
  /** The number of those seconds in which less than `SHARE` of the rate was completed. */
  readonly secondsBelow: number;
  /**
   * The first second, not before `countedFrom`, that completed `SHARE` of the rate, and from which
   * on every `WINDOW_SECONDS` seconds did, too. Undefined: the measurement has none.
   */
  readonly recoveredAt: number | undefined;
}

/** The rate is back when this share of it is completed. */
export const SHARE = 0.95;
/** Single seconds vary by chance, so a second is judged with the next ones, this many in all. */
export const WINDOW_SECONDS = 5;
/**
 * A second counts for at most this much of the rate. Otherwise the backlog, worked off at full
 * speed, would hide seconds in which nothing was completed.
 */
export const COUNTED_MAX = 1.1;

/**
 * All times are in seconds since the measurement began.
 *
 * @param killedAt when the dip may begin
 * @param countedFrom when the rate may be back: the detection of dead region servers, or the kill
 */
export function recoveryOf(
  seconds: readonly Pick<Second, 'completed'>[],
  { perSecond, killedAt, countedFrom }: Record<'perSecond' | 'killedAt' | 'countedFrom', number>,
): RateRecovery {
  const enough = seconds.map((_, i) => {
    const window = seconds.slice(i, i + WINDOW_SECONDS);
    const counted = window.map((one) => Math.min(one.completed, COUNTED_MAX * perSecond));
    const completed = sum(counted);
    return completed >= SHARE * perSecond * window.length;
  });
  // Without the last windows, which are too short: the very last is a single second.
  const whole = enough.slice(0, Math.max(0, seconds.length - WINDOW_SECONDS + 1));
  const first = Math.max(Math.ceil(countedFrom), whole.lastIndexOf(false) + 1);
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
