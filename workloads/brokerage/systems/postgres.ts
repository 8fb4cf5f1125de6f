/** A PostgreSQL database, loaded; its transactions are functions in the server. */
import { UsageError } from '#results';
import type { Population } from '../model/population.ts';
import type { BrokerUpdate } from '../model/trading-rules.ts';
import { loadPostgres } from '../postgres/load.ts';
import {
  type PostgresServer,
  providePostgres,
  quiesce,
  withoutPassword,
} from '../postgres/server.ts';
import {
  checkDatabase,
  type LoadedDatabase,
  type PostgresAddress,
  UNKNOWN_SERVERS,
} from './database.ts';

export interface PostgresDatabaseOptions {
  readonly folder: string;
  readonly brokerUpdate: BrokerUpdate;
  /** At each isolation level, for each client. */
  readonly connectionsMax: number;
  /** Aborted, the load ends early, and the database is dropped. */
  readonly signal: AbortSignal;
}

/** @throws UsageError if there is no PostgreSQL available */
export async function openPostgresDatabase(
  population: Population,
  { folder, brokerUpdate, connectionsMax, signal }: PostgresDatabaseOptions,
): Promise<LoadedDatabase> {
  await using cleanup = new AsyncDisposableStack();
  const { server, place } = await provide(folder);
  cleanup.use(server);
  await loadPostgres(server.connection, population, { signal });
  signal.throwIfAborted();
  await quiesce(server.connection);
  const { connection, pid, settings } = server;
  // PostgreSQL has no observers to aggregate a side table.
  const update = brokerUpdate === 'side-table' ? 'inline' : brokerUpdate;
  const address: PostgresAddress = {
    kind: 'postgres',
    connection: withoutPassword(connection),
    brokerUpdate: update,
    connectionsMax,
  };
  const all = cleanup.move();
  return {
    name: 'postgres',
    address,
    durability: `${durabilityOf(settings)}${place}`,
    servers: { server: pid === null ? UNKNOWN_SERVERS : [pid] },
    quiesce: () => quiesce(connection),
    check: (tradeResults) => checkDatabase(address, population, tradeResults),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/**
 * Uses the disk of the run, if the account that PostgreSQL runs as may enter that folder; else the
 * disk of the temporary folder, and the report says so.
 */
async function provide(
  folder: string,
): Promise<{ readonly server: PostgresServer; readonly place: string }> {
  const environment = process.env;
  try {
    return { server: await providePostgres({ environment, folder }), place: '' };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const server = await providePostgres({ environment });
    return { server, place: '; in the temporary folder, which may be another disk' };
  }
}

function durabilityOf(settings: Readonly<Record<string, string>>): string {
  const { fsync, synchronous_commit: synchronous } = settings;
  return fsync === 'on' && synchronous === 'on'
    ? 'every commit is on disk (fsync, in groups) before it is answered'
    : `fsync is ${fsync}, synchronous_commit is ${synchronous}`;
}
