/**
 * An open loop: a clock starts operations, whether earlier ones have ended or not. Latency counts
 * from the scheduled moment, so that it includes every wait.
 */
import { setTimeout } from 'node:timers/promises';
import { createLatencyHistogram, type Histogram } from '#results';
import { whyNotKeptUp } from '../harness/load/kept-up.ts';

export interface OpenLoop {
  /** Latencies of all operations that were begun, in microseconds. */
  readonly histogram: Histogram;
  readonly scheduled: number;
  /** Judged by what had ended when the last operation was due (harness/load/kept-up.ts). */
  readonly keptUp: boolean;
}

/**
 * With a larger backlog, the system does not keep up; the loop stops rather than fill the memory.
 */
const BACKLOG_MAX = 50_000;

/**
 * Resolves when every operation that was begun has ended.
 * @throws what an operation throws, or the reason of `signal`
 */
export async function openLoop(
  operate: (operation: number) => Promise<void>,
  run: {
    readonly first: number;
    readonly perSecond: number;
    readonly seconds: number;
    readonly signal: AbortSignal;
    /** For tests. */
    readonly backlogMax?: number;
  },
): Promise<OpenLoop> {
  const { backlogMax = BACKLOG_MAX } = run;
  const histogram = createLatencyHistogram();
  const scheduled = Math.max(1, Math.floor(run.perSecond * run.seconds));
  const startedMs = performance.now();
  let begun = 0;
  const progress = { ended: 0 };
  const failure = Promise.withResolvers<never>();
  const begin = (index: number): void => {
    const dueMs = startedMs + (index / run.perSecond) * 1_000;
    operate(run.first + index).then(() => {
      progress.ended++;
      histogram.recordValue(Math.max(0, Math.round((performance.now() - dueMs) * 1_000)));
    }, failure.reject);
  };
  while (begun < scheduled && begun - progress.ended < backlogMax) {
    run.signal.throwIfAborted();
    const elapsedMs = performance.now() - startedMs;
    const due = Math.min(scheduled, Math.floor((elapsedMs / 1_000) * run.perSecond) + 1);
    while (begun < due) begin(begun++);
    await Promise.race([setTimeout(1), failure.promise]);
  }
  const { ended } = progress;
  const reason = whyNotKeptUp({
    offered: scheduled,
    completed: ended,
    unit: 'operations',
    backlog: { growth: scheduled - ended, perSecond: run.perSecond, seconds: run.seconds },
    isGivenUp: begun < scheduled,
  });
  const all = begun;
  while (progress.ended < all) {
    run.signal.throwIfAborted();
    await Promise.race([setTimeout(1), failure.promise]);
  }
  return { histogram, scheduled, keptUp: reason === null };
}
