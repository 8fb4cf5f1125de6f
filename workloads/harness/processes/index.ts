/** The front door of processes: how an experiment runs in several of them. */
export { Answers } from './answers.ts';
export { Crew } from './crew.ts';
export {
  newServices,
  type OpenDatabase,
  openDatabase,
  type SharedDatabase,
  SERVICE_PROGRAMS,
  type ServiceOptions,
  startServices,
} from './database.ts';
export { type End, Member } from './member.ts';
export { patiently } from './patiently.ts';
export { serve, tellParent } from './serve.ts';
export { stopFor } from './stop-for.ts';
