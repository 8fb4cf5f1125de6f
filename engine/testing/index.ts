/**
 * The front door of the test tools: a simple store, a client with faults, a disk with faults, a
 * controlled clock, a scripted oracle, a whole database, and programs in Java.
 */
export { createMemoryBigtable } from './memory-bigtable.ts';
export {
  CrashedError,
  FaultyBigtable,
  once,
  type WatchedCall,
  type MutationCall,
  type ReadCall,
} from './faulty-bigtable.ts';
export { VirtualClock, wakingEarly } from './virtual-clock.ts';
export { until } from './until.ts';
export { SimulatedDisk, type DiskFailure, type DiskOperation } from './simulated-disk.ts';
export { ScriptedOracle } from './scripted-oracle.ts';
export {
  cell,
  type TestClient,
  type TestClientOptions,
  type DatabaseOptions,
  openTestDatabase,
  put,
  type TestDatabase,
  type CellTexts,
} from './database.ts';
export { temporaryFolder } from './temporary-folder.ts';
export {
  confOf,
  dataNodes,
  freePorts,
  hdfsProperties,
  HOST,
  JavaProcesses,
  startNameNode,
  writeSite,
} from '../bigtable/hbase/index.ts';
