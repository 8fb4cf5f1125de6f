/**
 * The load generator: announces documents at their scheduled moments, and never skips one.
 *
 * It runs in the experiment's own process, so that a busy engine cannot slow it down and so improve
 * the engine's numbers. The run measures and reports the generator's lateness, which counts as
 * latency.
 */
import { setImmediate, setTimeout } from 'node:timers/promises';
import { createLatencyHistogram, percentileMs } from '#results';
import { monotonicUs } from './monotonic-clock.ts';
import { dueBy, dueUs, endUs, scheduledDocuments, type Schedule } from './schedule.ts';

/** System timers fire up to this late; the generator polls the clock for the rest of a wait. */
const TIMER_SLACK_MS = 1.5;
/** Above this many arrivals per second, arrivals are announced together, once a millisecond. */
const PRECISE_PER_SECOND_MAX = 50;

export interface GeneratorResult {
  /** How late documents were announced, 99th percentile. */
  readonly lagP99Ms: number;
}

/**
 * Announces every document of the schedule; resolves at its end.
 * @param announce told that all documents before the given number have arrived
 */
export async function generate(
  schedule: Schedule,
  startUs: number,
  announce: (end: number) => void,
  signal: AbortSignal,
): Promise<GeneratorResult> {
  const lag = createLatencyHistogram();
  const total = scheduledDocuments(schedule);
  let announced = 0;
  while (announced < total) {
    signal.throwIfAborted();
    const elapsedUs = monotonicUs() - startUs;
    const due = Math.min(total, dueBy(schedule, elapsedUs));
    if (due > announced) {
      for (let n = announced; n < due; n++) {
        if (n >= schedule.warmupDocuments) {
          lag.recordValue(Math.max(0, Math.round(elapsedUs - dueUs(schedule, n))));
        }
      }
      announce(due);
      announced = due;
    }
    if (announced < total) await waitFor(startUs + dueUs(schedule, announced), schedule.perSecond);
  }
  await setTimeout(Math.max(0, (startUs + endUs(schedule) - monotonicUs()) / 1000));
  return { lagP99Ms: percentileMs(lag, 99) };
}

async function waitFor(untilUs: number, perSecond: number): Promise<void> {
  const waitMs = (untilUs - monotonicUs()) / 1000;
  if (perSecond > PRECISE_PER_SECOND_MAX) {
    await setTimeout(Math.max(1, waitMs));
    return;
  }
  // At most a second at a time, so that an interrupt is noticed.
  if (waitMs > TIMER_SLACK_MS) await setTimeout(Math.min(1000, waitMs - TIMER_SLACK_MS));
  else await setImmediate();
}
