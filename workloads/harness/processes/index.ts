/** The front door of processes: how an experiment runs in several of them. */
export { Answers } from './crew.ts';
export { Crew } from './crew.ts';
export {
  newServices,
  type OpenDatabase,
  openDatabase,
  type SharedDatabase,
  SERVICE_PROGRAMS,
  type ServiceOptions,
  startOracle,
} from './database.ts';
export { type End, Member } from './crew.ts';
export { type Engine, startEngine } from './engine.ts';
export { patiently } from './serve.ts';
export { serve, tellParent } from './serve.ts';
export { byTurns, type PlaceOf } from './program.ts';
