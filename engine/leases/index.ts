/**
 * The front door of the leases, which keep garbage collectors from what transactions still read
 * (P31).
 */
export { type Lease, leaseToken, processOf } from './lease-table.ts';
export { LeaseWatch } from './lease-table.ts';
export { noteAt, noteTimes, timestampOf } from './times.ts';
export { eraseMark, isMark, setMark } from './marks.ts';
export { createLeases, type Hold, type Leases } from './leases.ts';
