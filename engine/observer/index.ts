/** The front door of observers. */
export type { ObservedChange, DirtyCell, KnownValue, Observer } from './observer.ts';
export { listParked, type ParkedCell, replayParked } from './failures.ts';
export type { CommittedRun } from './run-observer.ts';
export type { WorkerCounters } from './runs.ts';
export { type Idleness, Worker } from './worker.ts';
export { checkObservers, type ObserverFailure, type WorkerOptions } from './worker-options.ts';
