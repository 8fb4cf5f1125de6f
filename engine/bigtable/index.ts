/**
 * The front door of the storage layer: the contract, and what runs on any store. The stores have
 * doors of their own (embedded/, remote/, hbase/), so that who needs none of them loads none.
 */
export {
  TIMESTAMP_MAX,
  type Bigtable,
  type Cell,
  type CellFilter,
  type ChangeListener,
  type ConditionalRowMutation,
  type Damage,
  type Manifest,
  type Mutation,
  type RangeRead,
  type Row,
  type RowMutation,
  type Silent,
  type RowRange,
  type TableSchema,
  type Timestamp,
} from './bigtable.ts';
export { ownBytes, ownValue } from './validate.ts';
export { durabilityOf } from './bigtable.ts';
export { decorate } from './decorate.ts';
export { batchBigtable } from './batching/batching.ts';
export type { BatchingCounters, LaneCounters } from './batching/scheduler.ts';
export type { BatchingOptions } from './batching/scheduler.ts';
export { keyAfter, rangeBehind, restOf, rowBatches } from './reading.ts';
