/**
 * The front door of the protocol. To learn Percolator from the code, read in this order:
 *
 *   transaction.ts         what a caller holds: reads (reads.ts, scan-with-writes.ts), buffered
 *                          writes (writes.ts, row-map.ts), commit
 *   columns.ts             what is stored where (Figure 5), with locks/lock.ts, write-record.ts and
 *                          committed-cell.ts
 *   snapshot-read.ts       Get, and scan.ts for ranges; stale.ts says when a snapshot may not be
 *                          read any more
 *   commit.ts              the two phases: prewrite.ts, commit-primary.ts (the commit point),
 *                          roll-forward.ts, roll-back.ts
 *   locks/resolve-lock.ts  what happens when a process died in between; locks/heartbeat.ts and
 *                          locks/lock-watch.ts tell whether it has died
 *   classify.ts            what it means that the storage found an obstacle, or that its answer was
 *                          lost
 *   bound-tables.ts        which incarnation a table's name means, if the table was dropped and
 *                          created again (catalog.ts)
 *   notifications.ts       how observers learn of a change, cause.ts what caused it, and
 *                          parked-entry.ts what is known of one that keeps failing
 *   prefetch/prefetch.ts   reading ahead what will probably be read next (prefetch-model.ts)
 *   transact.ts            the loop around all of it, with backoff.ts
 *   context.ts             what all of them share: options.ts, which transactions are committing
 *                          (committing.ts), how often the storage was called (counting.ts), and
 *                          whether the database is being closed (closing.ts)
 */
export { backoffMs } from './backoff.ts';
export { checkCellsOfRow } from './writes.ts';
export { isTableNotFound } from './bound-tables.ts';
export { wasClosed } from './closing.ts';
export type { Incarnation, TableCatalog } from './catalog.ts';
export { type Cause, causeAfter, decodeCause } from './cause.ts';
export {
  acknowledgedBy,
  acknowledgmentColumn,
  placeOf,
  type CellAddress,
  cellName,
  CELLS,
  checkUserColumn,
  columnOf,
  DATA,
  describeCell,
  everywhere,
  isAcknowledgment,
  isOf,
  type Kind,
  kindOf,
  LOCK,
  NOTIFY,
  NOTIFY_FAMILIES,
  notifyTable,
  PARKED,
  PARKED_WEAK,
  ROLLBACK,
  TABLE_FAMILIES,
  WEAK,
  WRITE,
} from './columns.ts';
export {
  type CommittedNotification,
  type Context,
  type Counters,
  createContext,
  type Services,
  settled,
} from './context.ts';
export { decodeLock, isPrimary, isTimestamp, type Lock, readLock } from './locks/lock.ts';
export { checkBackoff, OPTION_KINDS, type Options, type OptionsGiven } from './options.ts';
export {
  isOwnerDead,
  isWithoutPrimary,
  type Resolution,
  resolveLock,
} from './locks/resolve-lock.ts';
export { begin, outcomeOf, snapshotAt, transact } from './transact.ts';
export type { Reader, Snapshot, Transaction, TransactionOptions } from './transaction.ts';
export { isMark } from './notifications.ts';
export { decodeParked, encodeParked, type ParkedEntry } from './parked-entry.ts';
export { committedCell, type CommitTimes, commitTimes } from './committed-cell.ts';
export type { ScannedRow, ScanRange } from './scan.ts';
export { decodeWriteRecord, type WriteRecord } from './write-record.ts';
