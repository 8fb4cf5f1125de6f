/** The front door of the oracle; calls between processes are in client.ts and server.ts. */
export { openAllocator, type AllocatorOptions } from './allocator.ts';
export { batchTimestamps } from './batching.ts';
export {
  type LeasedAllocator,
  type LeasedAllocatorOptions,
  openLeasedAllocator,
} from './leased-allocator.ts';
export {
  identify,
  identityIn,
  type Identity,
  ORACLE_TABLE,
  type OracleRow,
  readOracleRow,
  watchTimestamps,
} from './oracle-row.ts';
export {
  type Allocation,
  type OwnSource,
  type TimestampOracle,
  type TimestampSource,
  withNext,
} from './oracle.ts';
