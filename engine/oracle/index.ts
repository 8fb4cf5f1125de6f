/** The front door of the timestamp oracle. */
export { openAllocator, ORACLE_TABLE, type AllocatorOptions } from './allocator.ts';
export { batchTimestamps } from './batching.ts';
export { watchTimestamps } from './bystander.ts';
export type { Allocation, TimestampOracle, TimestampSource } from './oracle.ts';
