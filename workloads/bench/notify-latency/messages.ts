/** What the processes of bench:notify-latency tell one another. Times are of the machine's monotonic clock. */
import type { Place } from '../../harness/processes/index.ts';
import type { EngineValues } from '../../harness/engine-settings.ts';

/** The writer and the worker are told the same. */
export interface ProcessOptions {
  readonly place: Place;
  readonly engine: EngineValues;
}

/** To the writer: writes these cells, each at its time, whatever becomes of the others (open loop). */
export interface Write {
  readonly kind: 'write';
  /** The number of the first one; its row is called so. */
  readonly first: number;
  readonly writes: number;
  readonly perSecond: number;
}

/** From the writer, when all are committed. */
export interface Written {
  readonly kind: 'written';
  readonly times: readonly WriteTimes[];
  /** How late the writer began, 99th percentile; counted as latency. */
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
  /** What does it cost the worker to wait for that long? */
  | { readonly kind: 'measure cpu'; readonly seconds: number };

/** When the observer first ran for each cell, since the last report. */
export interface Observed {
  readonly kind: 'observed';
  readonly runs: readonly (readonly [n: number, runUs: number])[];
}

export interface Cpu {
  readonly kind: 'cpu';
  /** Of one core. */
  readonly percent: number;
}
