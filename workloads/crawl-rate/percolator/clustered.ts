/**
 * The documents that a worker has clustered during a point: when each was committed, and its
 * latency since it was due.
 */
import { encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import type { CommittedRun } from '#engine';
import { createLatencyHistogram } from '#results';
import { monotonicUs } from '../../harness/load/monotonic-clock.ts';
import { dueUs, type Schedule } from '../../harness/load/schedule.ts';
import type { WorkerResult } from './messages.ts';

export class Clustered {
  readonly #schedule: Schedule;
  /** Latencies in microseconds, for each half of the measured interval. */
  readonly #halves = [createLatencyHistogram(), createLatencyHistogram()] as const;
  /**
   * Arrival numbers with their commit timestamps, in the order in which the commits were reported.
   */
  readonly #commits: [n: number, commitTimestamp: number][] = [];
  /** When the schedule began, in microseconds of the machine's monotonic clock. */
  #startUs = 0;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
  }

  get documents(): number {
    return this.#commits.length;
  }

  begin(startUs: number): void {
    this.#startUs = startUs;
  }

  add({ cell, commitTimestamp }: CommittedRun): void {
    const nowUs = monotonicUs();
    const { first, warmupDocuments, documents } = this.#schedule;
    const n = Number(cell.row) - first;
    this.#commits.push([n, commitTimestamp]);
    if (n < warmupDocuments) return;
    const latencyUs = Math.max(0, Math.round(nowUs - this.#startUs - dueUs(this.#schedule, n)));
    const half = n - warmupDocuments < documents / 2 ? 0 : 1;
    this.#halves[half].recordValue(latencyUs);
  }

  result(): WorkerResult {
    const [first, second] = this.#halves;
    return {
      kind: 'result',
      halves: [encodeIntoCompressedBase64(first), encodeIntoCompressedBase64(second)],
      commits: this.#commits,
    };
  }
}
