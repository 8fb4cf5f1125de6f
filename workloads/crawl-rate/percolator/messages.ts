/** Messages between the generator and the processes of the engine during a point. */
import type { StoreAddress } from '#engine';
import type { EngineValues } from '../../harness/engine-settings.ts';
import type { SharedDatabase } from '../../harness/processes/index.ts';
import type { SyntheticOptions } from '../documents/index.ts';
import type { Schedule } from '../../harness/load/schedule.ts';

/** Time between two progress reports of a worker, in milliseconds. */
export const REPORT_MS = 100;

/** Options of each process, sent at its start. */
export interface ProcessOptions {
  /**
   * The database, with the repository in it: the store alone for a single process, a shared
   * database for several.
   */
  readonly database: { readonly store: StoreAddress } | { readonly shared: SharedDatabase };
  readonly documents: SyntheticOptions;
  readonly schedule: Schedule;
  /** Observer runs in flight in this process; rounded up to a multiple of its scanners. */
  readonly concurrency: number;
  readonly engine: EngineValues;
  /**
   * Whether a worker tells its parent of each commit at once, and the parent takes the time: the
   * clock of another host says nothing here.
   */
  readonly isTold?: boolean | undefined;
}

export type ToLoader =
  /** All documents of the schedule before `end` have arrived. */
  | { readonly kind: 'due'; readonly end: number }
  /** Documents clustered so far, by all workers. */
  | { readonly kind: 'clustered'; readonly documents: number }
  /** Drop the documents that have not begun to load. */
  | { readonly kind: 'finish' };

export type ToWorker =
  /** The schedule begins at `startUs`, in microseconds of the machine's monotonic clock. */
  | { readonly kind: 'begin'; readonly startUs: number }
  /** Report the clustered documents and their latencies. */
  | { readonly kind: 'report' };

export type FromLoader = { readonly kind: 'loaded'; readonly documents: number };

export type FromWorker =
  | { readonly kind: 'progress'; readonly completed: number }
  /** Documents (their numbers in the schedule) that were committed a moment ago, if it `isTold`. */
  | { readonly kind: 'committed'; readonly documents: readonly number[] }
  | WorkerResult;

export interface WorkerResult {
  readonly kind: 'result';
  /**
   * Compressed HdrHistograms of microseconds in base64, for the first and the second half of the
   * measured interval. Empty if the parent takes the times.
   */
  readonly halves: readonly [string, string];
  /** Documents (their numbers in the schedule) with their commit timestamps, in no set order. */
  readonly commits: readonly (readonly [n: number, commitTimestamp: number])[];
}
