/** The front door of the lock service; calls between processes are in client.ts and server.ts. */
export type { Liveness, LocalLiveness } from './local-processes.ts';
export { type RangeLock, type RangeLocks, RangeLockTable } from './range-locks.ts';
