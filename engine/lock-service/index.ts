/** The front door of the lock service. */
export type { Liveness } from './liveness.ts';
export { localProcesses } from './local-processes.ts';
export type { Lease } from './lease-table.ts';
export { createLeases, type Hold, type Leases } from './leases.ts';
export { LeaseWatch } from './lease-watch.ts';
