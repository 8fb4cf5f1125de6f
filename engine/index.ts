/**
 * The front door of the engine: re-exports only.
 * Start reading at percolator.ts and transaction/.
 */
export * from './base/index.ts';
export {
  batchBigtable,
  decorate,
  durabilityOf,
  TIMESTAMP_MAX,
  type BatchingCounters,
  type BatchingOptions,
  type Bigtable,
  type CellFilter,
  type ConditionalRowMutation,
  type Manifest,
  type RowMutation,
  type Timestamp,
} from './bigtable/index.ts';
export { openEmbedded, type EmbeddedOptions } from './bigtable/embedded/index.ts';
export {
  openHBase,
  fetchHBase,
  startHBase,
  type HBaseOptions,
  type LocalHBase,
  type LocalHBaseOptions,
  whyNoHBase,
  type Artifacts,
  cachedClassPath,
  cacheFolder,
  classPathOf,
  javaOf,
  javaVersion,
} from './bigtable/hbase/index.ts';
export {
  openRemote,
  startEmulator,
  type Emulator,
  type RemoteOptions,
  whyNoEmulator,
} from './bigtable/remote/index.ts';
export {
  openStore,
  parseStoreName,
  type HBaseAddress,
  type OpenStoreOptions,
  type StoreAddress,
  type StoreName,
} from './bigtable/open-store.ts';
export type {
  CollectionReport,
  Collector,
  CollectorCounters,
  CollectGarbageOptions,
  CollectorOptions,
  HeldBack,
} from './garbage-collection/index.ts';
export {
  type CellsOptions,
  type Change,
  type ChangeEvent,
  changeJson,
  type ChangesOptions,
  changesResponse,
  debeziumEnvelope,
  type JsonValue,
  type Resolved,
  sendChanges,
  type TableCell,
  type WatchedValue,
  type WatchOptions,
} from './changes/index.ts';
export { connectLockService, type LockServiceClient } from './lock-service/client.ts';
export { localProcesses } from './lock-service/local-processes.ts';
export type { RangeLocks } from './lock-service/index.ts';
export { serveLocks } from './lock-service/server.ts';
export type {
  CommittedRun,
  ObservedChange,
  DirtyCell,
  KnownValue,
  Observer,
  ObserverFailure,
  Idleness,
  ParkedCell,
  Worker,
  WorkerCounters,
  WorkerOptions,
} from './observer/index.ts';
export {
  batchTimestamps,
  type LeasedAllocator,
  openAllocator,
  openLeasedAllocator,
  type TimestampOracle,
} from './oracle/index.ts';
export { connectOracle, type OracleClient } from './oracle/client.ts';
export { serveOracle } from './oracle/server.ts';
export type { TlsIdentity, TlsSource } from './rpc/tls.ts';
export {
  type Audit,
  type AuditOptions,
  type Finding,
  FINDING_CODES,
  type FindingCode,
} from './audit/index.ts';
export {
  backup,
  type BackupOptions,
  type BackupReport,
  restore,
  type RestoreOptions,
  type RestoreReport,
} from './backup/index.ts';
export { type BulkCell, type BulkLoader, type BulkRow, openBulkLoader } from './bulk-load.ts';
export { fsck, type FsckOptions } from './fsck.ts';
export { openPercolator, type Percolator, type PercolatorOptions } from './percolator.ts';
export type { TableDefinition } from './tables/index.ts';
export * from './typed/index.ts';
export { createTelemetry, type Telemetry, type TelemetryOptions } from './telemetry/index.ts';
export type {
  CellAddress,
  Counters,
  LockOptions,
  Reader,
  RowColumns,
  ScannedRow,
  ScanRange,
  Snapshot,
  Transaction,
  TransactOptions,
  TransactionOptions,
} from './transaction/index.ts';
