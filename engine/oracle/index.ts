/** The front door of the timestamp oracle. */
export { openAllocator, type AllocatorOptions } from './allocator.ts';
export { batchTimestamps } from './batching.ts';
export { watchTimestamps } from './bystander.ts';
export { connectOracle, type OracleClient, type OracleClientOptions } from './client.ts';
export {
  type LeasedAllocator,
  type LeasedAllocatorOptions,
  openLeasedAllocator,
} from './leased-allocator.ts';
export { identify, identityIn, type Identity } from './identity.ts';
export { ORACLE_TABLE } from './oracle-row.ts';
export type { Allocation, OwnSource, TimestampOracle, TimestampSource } from './oracle.ts';
export { withNext } from './with-next.ts';
export { serveOracle, type ServeOracleOptions } from './server.ts';
