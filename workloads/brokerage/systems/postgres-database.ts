/**
 * PostgreSQL: one database, loaded once, measured in two variants: transactions in the server, and
 * statement by statement.
 */
import { UsageError } from '#results';
import type { BrokerUpdate, Population } from '../model/index.ts';
import {
  loadPostgres,
  type PostgresServer,
  providePostgres,
  quiesce,
  withoutPassword,
} from '../postgres/index.ts';
import type { PostgresAddress } from './address.ts';
import { checkDatabase } from './check-database.ts';
import { type LoadedDatabase, type System, UNKNOWN_SERVERS } from './database.ts';

export interface PostgresDatabaseOptions {
  readonly folder: string;
  readonly variants: readonly PostgresAddress['variant'][];
  readonly brokerUpdate: BrokerUpdate;
  /** At each isolation level, for each client. */
  readonly connectionsMax: number;
  /** Aborted, the load ends early, and the database is dropped. */
  readonly signal: AbortSignal;
}

/** @throws UsageError if there is no PostgreSQL available */
export async function openPostgresDatabase(
  population: Population,
  { folder, variants, brokerUpdate, connectionsMax, signal }: PostgresDatabaseOptions,
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
  const common = {
    kind: 'postgres',
    connection: withoutPassword(connection),
    brokerUpdate: update,
    connectionsMax,
  } as const;
  const durability = `${durabilityOf(settings)}${place}`;
  const servers = { server: pid === null ? UNKNOWN_SERVERS : [pid] };
  const all = cleanup.move();
  return {
    systems: variants.map((variant): System => ({
      name: variant,
      address: { ...common, variant },
      durability,
      servers,
      quiesce: () => quiesce(connection),
    })),
    check: (tradeResults) =>
      checkDatabase({ ...common, variant: 'functions' }, population, tradeResults),
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
