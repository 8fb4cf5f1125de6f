/** The front door of the storage layer. */
export {
  TIMESTAMP_MAX,
  type Bigtable,
  type Cell,
  type CellFilter,
  type ConditionalRowMutation,
  type Damage,
  type Manifest,
  type Mutation,
  type Row,
  type RowMutation,
  type RowRange,
  type TableSchema,
  type Timestamp,
} from './bigtable.ts';
export { ownBytes, ownValue } from './values.ts';
export { durabilityOf } from './durability.ts';
export { openEmbedded, type EmbeddedOptions } from './embedded/index.ts';
export { decorate } from './decorate.ts';
export { batchBigtable } from './batching.ts';
export type { BatchingCounters, LaneCounters } from './batching/counters.ts';
export type { BatchingOptions } from './batching/options.ts';
export {
  type CloudAddress,
  type HBaseAddress,
  openStore,
  type OpenStoreOptions,
  parseStoreName,
  type StoreAddress,
  type StoreName,
} from './open-store.ts';
export { type HBaseOptions, openHBase } from './hbase/index.ts';
export {
  type LocalHBase,
  type LocalHBaseOptions,
  fetchHBase,
  startHBase,
  whyNoHBase,
  type Artifacts,
  cachedClassPath,
  classPathOf,
  javaOf,
  javaVersion,
  confOf,
  dataNodes,
  freePorts,
  hdfsProperties,
  HOST,
  JavaProcesses,
  startNameNode,
  writeSite,
} from './hbase/local/index.ts';
export { keyAfter, nextStart, rowBatches } from './range-scan.ts';
export {
  type Emulator,
  type EmulatorOptions,
  openRemote,
  type RemoteOptions,
  startEmulator,
  whyNoEmulator,
} from './remote/index.ts';
