/**
 * The door to the engine without Node: what a browser can run. It imports no module of Node, and
 * nothing that does (core.test.ts): re-exports only.
 */
export * from './base/index.ts';
export {
  batchBigtable,
  type BatchingCounters,
  type BatchingOptions,
  type Bigtable,
  decorate,
  TIMESTAMP_MAX,
  type Timestamp,
} from './bigtable/index.ts';
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
export { openDatabase, type Percolator, type PercolatorOptions } from './database.ts';
export type { Liveness } from './lock-service/index.ts';
export type { Observer, Worker, WorkerOptions } from './observer/index.ts';
export {
  batchTimestamps,
  openAllocator,
  openLeasedAllocator,
  type TimestampOracle,
} from './oracle/index.ts';
export type { TableDefinition } from './tables/index.ts';
export * from './typed/index.ts';
export { createTelemetry, type Telemetry, type TelemetryOptions } from './telemetry/index.ts';
export type {
  CellAddress,
  LockOptions,
  ScanRange,
  Snapshot,
  Transaction,
} from './transaction/index.ts';
export { createMemoryBigtable } from './testing/memory-bigtable.ts';
