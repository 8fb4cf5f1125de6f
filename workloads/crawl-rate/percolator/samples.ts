/**
 * How many documents had arrived, and how many of them were clustered, over the time of a point.
 *
 * A process that stops also stops reporting, and by its last report it had kept up. So when a
 * report is overdue, a sample is taken without it: documents arrive, and no more are clustered.
 */
import type { TimeSeriesRow } from '#results';
import { dueBy, type Schedule } from '../../harness/load/schedule.ts';
import { REPORT_MS } from './messages.ts';

/** On a busy machine a report is often a little late. */
const OVERDUE_SECONDS = (2 * REPORT_MS) / 1000;

export class Samples {
  readonly #schedule: Schedule;
  readonly #rows: TimeSeriesRow[] = [];

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  /** The samples so far. */
  get rows(): readonly TimeSeriesRow[] {
    return [...this.#rows];
  }

  /** @param completed the number of clustered documents, as just reported */
  add(elapsedUs: number, completed: number): void {
    const arrived = dueBy(this.#schedule, elapsedUs);
    this.#rows.push({ seconds: elapsedUs / 1e6, arrived, completed });
  }

  addIfOverdue(elapsedUs: number): void {
    const last = this.#rows.at(-1);
    if (last !== undefined && elapsedUs / 1e6 - last.seconds < OVERDUE_SECONDS) return;
    this.add(elapsedUs, last?.completed ?? 0);
  }
}
