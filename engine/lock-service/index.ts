/** The front door of the lock service. */
export type { Liveness } from './liveness.ts';
export { type LocalLiveness, localProcesses } from './local-processes.ts';
export { connectLockService, type LockServiceClient, type LockServiceOptions } from './client.ts';
export { type RangeLock, type RangeLocks, RangeLockTable } from './range-locks.ts';
export { serveLocks, type ServeLocksOptions } from './server.ts';
