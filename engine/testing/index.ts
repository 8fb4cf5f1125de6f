/** The front door of what tests are made of: a simple store, a client with faults, a clock that obeys. */
export { createMemoryBigtable } from './memory-bigtable.ts';
export {
  CrashedError,
  FaultyBigtable,
  once,
  type Call,
  type MutationCall,
  type ReadCall,
} from './faulty-bigtable.ts';
export { VirtualClock } from './virtual-clock.ts';
export { ScriptedOracle } from './scripted-oracle.ts';
export {
  cell,
  type Client,
  type ClientOptions,
  type DatabaseOptions,
  openTestDatabase,
  put,
  type TestDatabase,
  type Values,
} from './database.ts';
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
export {
  exhaust,
  type ExhaustOptions,
  type Failure,
  type Report,
  retell,
  type Scenario,
  SCENARIOS,
  type Suspicion,
} from './exhaustive/index.ts';
export { toEdn } from './judges/edn.ts';
export { type Finding, Findings } from './judges/findings.ts';
export { judgeListAppend, type ListOpinion } from './judges/list-append.ts';
export {
  type Element,
  type ListCells,
  type ListEdge,
  type ListOperation,
  type ListProof,
  type ListTransaction,
  listTransactions,
} from './judges/list-history.ts';
export {
  judgeNotifications,
  type NotificationRules,
  type ObservedColumn,
} from './judges/notifications.ts';
export { insideOf } from './judges/scans.ts';
export { judgeSnapshotIsolation, type TimestampProof } from './judges/snapshot-isolation.ts';
export { temporaryFolder, type TemporaryFolder } from './temporary-folder.ts';
export { observeCollection } from './collected-history.ts';
export { type RecordedCells, readStoredHistory, type StoredHistory } from './stored-history.ts';
export {
  type FailedRun,
  notCovered,
  type Plan,
  planOf,
  type Seeds,
  shrink,
  simulate,
  simulateSeeds,
  type Tally,
  tellStory,
  type WatchedEvent,
  type WatchedLease,
} from './simulation/index.ts';
export {
  huntAll,
  type Hunted,
  type Mutant,
  MUTANTS,
  QUICKEST,
  WITHOUT_MUTANT,
} from './mutants/index.ts';
