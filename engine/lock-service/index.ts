/** The front door of the lock service. */
export type { Liveness } from './liveness.ts';
export { localProcesses } from './local-processes.ts';
