/**
 * The messages between the processes of bench:notify-latency. Times are those of the machine's
 * monotonic clock.
 */
import type { SharedDatabase } from '../../harness/processes/index.ts';
import type { EngineValues } from '../../harness/engine-settings.ts';

/** The options of the writer and of the worker. */
export interface ProcessOptions {
  readonly place: SharedDatabase;
  readonly engine: EngineValues;
}

/** To the writer: write these cells, each at its time, independently of the others (open loop). */
export interface Write {
  readonly kind: 'write';
  /** The number of the first cell, which also names its row. */
  readonly first: number;
  readonly writes: number;
  readonly perSecond: number;
}

/** From the writer, after all commits. */
export interface WritesReport {
  readonly kind: 'written';
  readonly times: readonly WriteTimes[];
  /** Lateness of the writer, 99th percentile; counted as latency. */
  readonly lagP99Ms: number;
}

export interface WriteTimes {
  readonly n: number;
  readonly scheduledUs: number;
  readonly committedUs: number;
}

/** To the worker. */
export type ToWorker =
  | { readonly kind: 'report observed' }
  /** Measure the CPU time of the idle worker for this long. */
  | { readonly kind: 'measure cpu'; readonly seconds: number };

/** When the observer first ran for each cell, since the last report. */
export interface RunsReport {
  readonly kind: 'observed';
  readonly runs: readonly (readonly [n: number, runUs: number])[];
}

export interface CpuReport {
  readonly kind: 'cpu';
  /** Percent of one core. */
  readonly percent: number;
}
