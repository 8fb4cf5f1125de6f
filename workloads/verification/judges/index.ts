/**
 * The public interface of the judges: what a history is, where one comes from, and what must hold
 * in it.
 */
export { observeCollection } from './collected-history.ts';
export { toEdn } from './edn.ts';
export { type Finding, Findings } from './findings.ts';
export { historicCell } from './history.ts';
export type {
  HistoricCell,
  HistoricMarker,
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
export { insideOf } from './scans.ts';
export { judgeSnapshotIsolation, type TimestampProof } from './snapshot-isolation.ts';
export {
  type RecordsAndMarkers as RecordedCells,
  readStoredHistory,
  type StoredHistory,
} from './stored-history.ts';
