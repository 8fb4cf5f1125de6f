/**
 * Arrival times of documents, fixed before the run begins and independent of the system (open
 * loop), and the load generator, which announces each document at its moment.
 *
 *     warm-up:   a burst at its own rate; compiled code and warm caches, not measured
 *     measured:  uniform spacing at the crawl rate, as in the paper
 *
 * A document is named by its arrival number, so every process that has the schedule knows when each
 * was due. A latency measured from that moment includes every wait, and the generator's own
 * lateness.
 */
import { setImmediate, setTimeout } from 'node:timers/promises';
import { createLatencyHistogram, percentileMs } from '#results';
import { monotonicUs } from './monotonic-clock.ts';

export interface Schedule {
  /** Arrival number of the first document: the size of the repository. */
  readonly first: number;
  readonly warmupDocuments: number;
  readonly warmupPerSecond: number;
  readonly documents: number;
  readonly perSecond: number;
  /** The longest that the measured interval may take. Default: the time for all its documents. */
  readonly secondsMax?: number;
}

export interface ScheduleOptions {
  readonly repository: number;
  /** New documents per hour, in percent of the repository. */
  readonly ratePercentPerHour: number;
  readonly seconds: number;
  readonly warmupSeconds: number;
}

/**
 * Arrivals per second during the warm-up of slow rates; fast ones are warmed up at their own rate.
 */
const WARMUP_PER_SECOND_MIN = 200;

export function createSchedule(options: ScheduleOptions): Schedule {
  const perSecond = documentsPerSecond(options.repository, options.ratePercentPerHour);
  const warmupPerSecond = Math.max(perSecond, WARMUP_PER_SECOND_MIN);
  return {
    first: options.repository,
    warmupDocuments: Math.round(warmupPerSecond * options.warmupSeconds),
    warmupPerSecond,
    documents: Math.max(1, Math.floor(perSecond * options.seconds)),
    perSecond,
    // One document of a slow rate would take the whole time until the next one.
    secondsMax: options.seconds,
  };
}

export function documentsPerSecond(repository: number, ratePercentPerHour: number): number {
  return (repository * ratePercentPerHour) / 100 / 3600;
}

export function scheduledDocuments(schedule: Schedule): number {
  return schedule.warmupDocuments + schedule.documents;
}

/** Microseconds after the beginning at which the `n`-th document (from 0) is due. */
export function dueUs(schedule: Schedule, n: number): number {
  const { warmupDocuments, warmupPerSecond, perSecond } = schedule;
  if (n < warmupDocuments) return (n * 1e6) / warmupPerSecond;
  return measuredFromUs(schedule) + ((n - warmupDocuments) * 1e6) / perSecond;
}

/** When the warm-up is over. */
export function measuredFromUs({ warmupDocuments, warmupPerSecond }: Schedule): number {
  return (warmupDocuments * 1e6) / warmupPerSecond;
}

/** When the measured interval ends. */
export function endUs(schedule: Schedule): number {
  const { documents, perSecond, secondsMax = Infinity } = schedule;
  return measuredFromUs(schedule) + Math.min(documents / perSecond, secondsMax) * 1e6;
}

/** How many documents are due `elapsedUs` after the beginning. */
export function dueBy(schedule: Schedule, elapsedUs: number): number {
  const { warmupDocuments, warmupPerSecond, perSecond, documents } = schedule;
  const warm = Math.floor((elapsedUs * warmupPerSecond) / 1e6) + 1;
  if (warm <= warmupDocuments) return Math.max(0, warm);
  const measuredUs = elapsedUs - measuredFromUs(schedule);
  if (measuredUs < 0) return warmupDocuments;
  return warmupDocuments + Math.min(documents, Math.floor((measuredUs * perSecond) / 1e6) + 1);
}

/** System timers fire up to this late; the generator polls the clock for the rest of a wait. */
const TIMER_SLACK_MS = 1.5;
/** Above this many arrivals per second, arrivals are announced together, once a millisecond. */
const PRECISE_PER_SECOND_MAX = 50;

export interface GeneratorResult {
  /** How late documents were announced, 99th percentile. */
  readonly lagP99Ms: number;
}

/**
 * Announces every document of the schedule, and skips none; resolves at its end. It runs in the
 * experiment's own process, so that a busy engine cannot slow it down and so improve the engine's
 * numbers.
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
