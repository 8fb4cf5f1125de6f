/**
 * An open loop: a clock starts operations, whether earlier ones have ended or not. Latency counts
 * from the scheduled moment, so that it includes every wait.
 */
import { setTimeout } from 'node:timers/promises';
import { createLatencyHistogram, type Histogram } from '#results';

export interface OpenLoop {
  /** Latencies of all operations that were begun, in microseconds. */
  readonly histogram: Histogram;
  readonly scheduled: number;
  /**
   * Whether all operations were begun, and `IN_TIME` of them, or all but one, had ended when the
   * last one was due.
   */
  readonly keptUp: boolean;
}

/**
 * With a larger backlog, the system does not keep up; the loop stops rather than fill the memory.
 */
const BACKLOG_MAX = 50_000;
const IN_TIME = 0.95;

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
  // Of a few operations, the last one alone is more than 5 %. A single one always keeps up.
  const lateMax = Math.max(1, (1 - IN_TIME) * scheduled);
  const keptUp = begun === scheduled && scheduled - progress.ended <= lateMax;
  const all = begun;
  while (progress.ended < all) {
    run.signal.throwIfAborted();
    await Promise.race([setTimeout(1), failure.promise]);
  }
  return { histogram, scheduled, keptUp };
}
