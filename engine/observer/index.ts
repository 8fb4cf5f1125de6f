/** The front door of observers. */
export type { DirtyCell, Observer } from './observer.ts';
export { listParked, type ParkedCell, replayParked } from './parking.ts';
export type { CommittedRun } from './run-observer.ts';
export { Worker, type WorkerCounters } from './worker.ts';
export type { ObserverFailure, WorkerOptions } from './worker-options.ts';
