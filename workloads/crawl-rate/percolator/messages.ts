/** What the generator and the processes of the engine tell one another during a point. */
import type { EngineValues } from '../../harness/engine-settings.ts';
import type { Place } from '../../harness/processes/index.ts';
import type { SyntheticOptions } from '../documents/index.ts';
import type { Schedule } from '../../harness/load/schedule.ts';

/** What each process is told at its start. */
export interface ProcessOptions {
  /**
   * The database, with the repository in it: a folder for one process alone, else a place for
   * several.
   */
  readonly database: { readonly folder: string } | { readonly place: Place };
  readonly documents: SyntheticOptions;
  readonly schedule: Schedule;
  /** Observer runs in flight in this process. */
  readonly concurrency: number;
  readonly engine: EngineValues;
}

export type ToLoader =
  /** All documents of the schedule before `end` have arrived. */
  | { readonly kind: 'due'; readonly end: number }
  /** So many are clustered, by whomever. */
  | { readonly kind: 'clustered'; readonly documents: number }
  /** Gives up what has not begun to load. */
  | { readonly kind: 'finish' };

export type ToWorker =
  /** The schedule begins at `startUs`, in microseconds of the machine's monotonic clock. */
  | { readonly kind: 'begin'; readonly startUs: number }
  /** What did you cluster, and how fast? */
  | { readonly kind: 'report' };

export type FromLoader = { readonly kind: 'loaded'; readonly documents: number };

export type FromWorker = { readonly kind: 'progress'; readonly completed: number } | WorkerResult;

export interface WorkerResult {
  readonly kind: 'result';
  /**
   * HdrHistograms of microseconds, compressed, base64: the first half of the measured interval, and
   * the second.
   */
  readonly halves: readonly [string, string];
  /**
   * Documents (their number in the schedule) with their commit timestamps, as they were committed.
   */
  readonly commits: readonly (readonly [n: number, commitTimestamp: number])[];
}
