/**
 * The front door of the engine: re-exports only.
 * Start reading at percolator.ts and transaction/.
 */
export * from './base/index.ts';
export {
  batchBigtable,
  decorate,
  openEmbedded,
  openHBase,
  openRemote,
  durabilityOf,
  openStore,
  parseStoreName,
  startEmulator,
  fetchHBase,
  startHBase,
  TIMESTAMP_MAX,
  type BatchingCounters,
  type BatchingOptions,
  type Bigtable,
  type CellFilter,
  type ConditionalRowMutation,
  type EmbeddedOptions,
  type Emulator,
  type HBaseAddress,
  type HBaseOptions,
  type LocalHBase,
  type LocalHBaseOptions,
  type Manifest,
  type OpenStoreOptions,
  type RemoteOptions,
  type RowMutation,
  type StoreAddress,
  type StoreName,
  type Timestamp,
  whyNoEmulator,
  whyNoHBase,
  type Artifacts,
  cachedClassPath,
  classPathOf,
  javaOf,
  javaVersion,
} from './bigtable/index.ts';
export type {
  CollectionReport,
  Collector,
  CollectorCounters,
  CollectGarbageOptions,
  CollectorOptions,
  HeldBack,
} from './garbage-collection/index.ts';
export {
  connectLockService,
  localProcesses,
  type LockServiceClient,
  type RangeLocks,
  serveLocks,
} from './lock-service/index.ts';
export type {
  CommittedRun,
  DirtyCell,
  Observer,
  ObserverFailure,
  ParkedCell,
  Worker,
  WorkerCounters,
  WorkerOptions,
} from './observer/index.ts';
export {
  batchTimestamps,
  connectOracle,
  type LeasedAllocator,
  openAllocator,
  openLeasedAllocator,
  type OracleClient,
  serveOracle,
  type TimestampOracle,
} from './oracle/index.ts';
export {
  type Audit,
  type AuditOptions,
  type Finding,
  FINDING_CODES,
  type FindingCode,
} from './audit/index.ts';
export { type BulkCell, type BulkLoader, type BulkRow, openBulkLoader } from './bulk-load.ts';
export { fsck, type FsckOptions } from './fsck.ts';
export { openPercolator, type Percolator, type PercolatorOptions } from './percolator.ts';
export type { TableDefinition } from './tables/index.ts';
export type {
  CellAddress,
  Counters,
  Reader,
  ScannedRow,
  ScanRange,
  Snapshot,
  Transaction,
  TransactionOptions,
} from './transaction/index.ts';
