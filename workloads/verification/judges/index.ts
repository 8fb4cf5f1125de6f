/**
 * The public interface of the judges: what a history is, where one comes from, and what must hold
 * in it.
 */
export { type FollowedChange, type FollowedSection, judgeChanges } from './changes.ts';
export { observeCollection } from './stored-history.ts';
export { toEdn } from './list-history.ts';
export { type JudgeFinding, JudgeFindings } from './history.ts';
export { historicCell } from './history.ts';
export type {
  HistoricCell,
  HistoricRollback,
  HistoricRecord,
  HistoricScan,
  HistoricTransaction,
  HistoricValue,
  History,
  ObserverRun,
  Violation,
} from './history.ts';
export { judgeListAppend, type ListOpinion } from './list-append.ts';
export {
  type Element,
  type ListCells,
  type ListEdge,
  type ListOperation,
  type ListProof,
  type ListTransaction,
  listTransactions,
} from './list-history.ts';
export {
  judgeNotifications,
  type NotificationRules,
  type ObservedColumn,
} from './notifications.ts';
export { insideOf } from './versions.ts';
export { judgeSnapshotIsolation, type TimestampProof } from './snapshot-isolation.ts';
export {
  type RecordsAndRollbacks,
  readStoredHistory,
  type StoredHistory,
} from './stored-history.ts';
