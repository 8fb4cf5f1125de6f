/** The front door of the lock service. */
export type { Liveness } from './liveness.ts';
export { localProcesses } from './local-processes.ts';
export type { Lease } from './lease-table.ts';
export { createLeases, type Hold, type Leases } from './leases.ts';
export { LeaseWatch } from './lease-watch.ts';
export { connectLockService, type LockServiceClient, type LockServiceOptions } from './client.ts';
export { type RangeLock, type RangeLocks, RangeLockTable } from './range-locks.ts';
export { serveLocks, type ServeLocksOptions } from './server.ts';
