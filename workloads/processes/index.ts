/** The front door of processes: how an experiment runs in several of them. */
export { Crew } from './crew.ts';
export { openDatabase, type Place, startServices } from './database.ts';
export { Member } from './member.ts';
export { serve, tellParent } from './serve.ts';
