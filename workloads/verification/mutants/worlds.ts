/** All worlds that a mutant can be put into. */
export * from '../simulation/index.ts';
export { runHBase } from '../sockets/hbase.ts';
export type { SocketKnobs } from '../sockets/run.ts';
export { runSharedStore } from '../sockets/shared-store.ts';
