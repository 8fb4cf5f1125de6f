/** All worlds that a mutant can be put into. */
export * from '../simulation/index.ts';
export { runServices } from '../sockets/services.ts';
export { runHBase, runSharedStore, type SocketKnobs } from '../sockets/run.ts';
