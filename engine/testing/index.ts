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
export { temporaryFolder, type TemporaryFolder } from './temporary-folder.ts';
