/** What the generator and the engine's process tell one another during a point. */
import type { Counters } from '#engine';
import type { EngineValues } from '../../tuning/engine-settings.ts';
import type { SyntheticOptions } from '../documents/index.ts';
import type { Schedule } from '../schedule.ts';

export type ToEngine =
  | StartMessage
  /** The schedule begins at `startUs`, in microseconds of the machine's monotonic clock. */
  | { readonly kind: 'begin'; readonly startUs: number }
  /** All documents of the schedule before `end` have arrived. */
  | { readonly kind: 'due'; readonly end: number }
  | { readonly kind: 'stop' };

export interface StartMessage {
  readonly kind: 'start';
  /** The embedded store, with the repository in it. */
  readonly folder: string;
  readonly documents: SyntheticOptions;
  readonly schedule: Schedule;
  /** Observer runs in flight. */
  readonly concurrency: number;
  readonly engine: EngineValues;
}

export type FromEngine =
  | { readonly kind: 'ready' }
  | { readonly kind: 'progress'; readonly completed: number }
  | EngineResult;

export interface EngineResult {
  readonly kind: 'result';
  /** Everything loaded was clustered in time. */
  readonly drained: boolean;
  /** HdrHistogram of microseconds, compressed, base64. */
  readonly histogram: string;
  readonly halfMediansMs: readonly [number | null, number | null];
  /** Documents (their number in the schedule) with their commit timestamps, as they were committed. */
  readonly commits: readonly (readonly [n: number, commitTimestamp: number])[];
  readonly cpuSeconds: number;
  readonly counters: Counters;
}
