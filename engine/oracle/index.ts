/** The front door of the timestamp oracle. */
export { openAllocator, type AllocatorOptions } from './allocator.ts';
export { batchTimestamps } from './batching.ts';
export type { TimestampOracle, TimestampSource } from './oracle.ts';
