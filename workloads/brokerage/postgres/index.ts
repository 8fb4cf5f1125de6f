/**
 * The public interface of the PostgreSQL baseline: a server, its tables filled, and the
 * transactions in two variants.
 */
export { openFrames } from './frames/brokerage.ts';
export type { PostgresBrokerageOptions } from './brokerage.ts';
export { openFunctions } from './functions/brokerage.ts';
export { loadPostgres, type LoadResult as Loaded, type LoadOptions } from './load.ts';
export { withoutPassword, withPassword } from './password.ts';
export { type PostgresOptions, type PostgresServer, providePostgres } from './server.ts';
export { connectionsOfClient } from './tuning.ts';
export { quiesce } from './quiesce.ts';
