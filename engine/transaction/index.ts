/**
 * The front door of the protocol. To learn Percolator from the code, read first ../figure-6.ts and
 * paper.test.ts, then:
 *
 *   transaction.ts     what a caller holds: reads, buffered writes (writes.ts), commit
 *   columns.ts         what is stored where (Figure 5)
 *   snapshot-read.ts   Get, and when a snapshot may not be read any more; scan.ts for ranges;
 *                      reads.ts for what one transaction has read, and reads ahead, with
 *                      prefetch-model.ts
 *   commit.ts          the two phases: prewrite.ts, the commit point, the secondaries
 *   locks.ts           what a lock says, and how its owner shows that it lives
 *   resolve-lock.ts    what happens when a process died in between; roll forward, roll back
 *   notifications.ts   how observers learn of a change
 *   transact.ts        the loop around all of it
 *   bound-tables.ts    which incarnation a table's name means, if it was dropped and created again
 *   context.ts         what all of them share, with the options; closing.ts for its end
 */
export { ownValue } from '../bigtable/index.ts'; // What a transaction may write.
export { type Incarnation, isTableNotFound, type TableCatalog } from './bound-tables.ts';
export {
  acknowledgedBy,
  acknowledgmentColumn,
  CELL,
  type CellAddress,
  type CellKind,
  cellName,
  CELLS,
  checkSharedColumn,
  checkUserColumn,
  checkWrittenCell,
  checkWrittenColumn,
  columnOf,
  committedCell,
  commitTimes,
  type CommitTimes,
  DATA,
  decodeWriteRecord,
  describeCell,
  everywhere,
  isAcknowledgment,
  isNotifyTable,
  isOf,
  isOfEngine,
  isSharedLock,
  isTimestamp,
  kindOf,
  LOCK,
  NOTIFY,
  NOTIFY_FAMILIES,
  notifyTable,
  PARKED,
  PARKED_WEAK,
  placeOf,
  protectedBy,
  ROLLBACK,
  sharedLockColumn,
  TABLE_FAMILIES,
  WEAK,
  WRITE,
  type WriteRecord,
} from './columns.ts';
export {
  backoffMs,
  checkBackoff,
  type CommittedNotification,
  type NotificationListener,
  type Context,
  type Counters,
  createContext,
  OPTION_RULES,
  type Options,
  type OptionsGiven,
  type EngineServices,
  settled,
} from './context.ts';
export { Closing, storeUntilClosed, wasClosed } from './closing.ts';
export { decodeLock, isPrimary, type Lock, lockIn, readLock } from './locks.ts';
export {
  type Cause,
  causeAfter,
  decodeCause,
  decodeParked,
  encodeParked,
  isNotification,
  type ParkedEntry,
} from './notifications.ts';
export { isOwnerDead, isWithoutPrimary, type Resolution, resolveLock } from './resolve-lock.ts';
export type { ScannedRow } from './scan.ts';
export { getRow, type Reader, type RowColumns, type Snapshot } from './reader.ts';
export { ROWS_RULES, type ScanRange } from './scan-range.ts';
export { refuseBelowHorizon, snapshotRead } from './snapshot-read.ts';
export { begin, outcomeOf, snapshotAt, transact, type TransactOptions } from './transact.ts';
export type { LockOptions, Transaction, TransactionOptions } from './transaction.ts';
export { checkCellsOfRow } from './writes.ts';
