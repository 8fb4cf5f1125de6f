/**
 * A database on a PostgreSQL to measure: on the server that `DATABASE_URL` names, or on a private
 * one.
 *
 * On a given server it is a database with a unique name, dropped afterwards; nothing else there is
 * touched. A benchmark that ends by `kill -9` leaves the database there; a private server is
 * removed even then.
 */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { UsageError } from '#results';
import { startPrivateCluster } from './private-cluster.ts';
import { settingsFor } from './tuning.ts';

export interface PostgresOptions {
  /** In the form of `process.env`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * Where a private server makes its folder: the disk that is measured. If we are root, every
   * account must be allowed to enter it. Default: the temporary folder.
   */
  readonly folder?: string | undefined;
}

export interface PostgresServer extends AsyncDisposable {
  /** For `new pg.Client` and `new pg.Pool`: the empty database. */
  readonly connection: pg.ClientConfig;
  /**
   * Id of the postmaster, the ancestor of all other processes of the server; null for a server that
   * is not ours.
   */
  readonly pid: number | null;
  readonly version: string;
  /**
   * What the server reports about the settings that a private server is given (tuning.ts): those
   * that durability rests on are among them.
   */
  readonly settings: Readonly<Record<string, string>>;
}

/** A server that accepts a connection may say nothing: another program may listen there. */
const CONNECT_MS_MAX = 5_000;

/** @throws UsageError with one sentence if there is no PostgreSQL available */
export async function providePostgres({
  environment,
  folder,
}: PostgresOptions): Promise<PostgresServer> {
  const url = environment['DATABASE_URL'];
  if (url !== undefined && url !== '') return databaseOn(url);
  const cluster = await startPrivateCluster(folder);
  try {
    const administrator = { host: cluster.socketFolder, port: 5432, user: cluster.user };
    const database = await createDatabase({ ...administrator, database: 'postgres' });
    return {
      ...(await describeServer({ ...administrator, database })),
      pid: cluster.pid,
      [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
    };
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
}

async function databaseOn(url: string): Promise<PostgresServer> {
  if (!/^postgres(?:ql)?:\/\//.test(url) || !URL.canParse(url)) {
    throw new UsageError(
      'DATABASE_URL must be a URL such as postgresql://user:password@host:5432/database.',
    );
  }
  try {
    const database = await createDatabase({ connectionString: url });
    const drop = async (): Promise<void> => {
      await withClient({ connectionString: url }, (client) =>
        client.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`),
      );
    };
    const own = new URL(url);
    own.pathname = `/${database}`;
    try {
      const described = await describeServer({ connectionString: own.href });
      return { ...described, pid: null, [Symbol.asyncDispose]: drop };
    } catch (error) {
      await drop();
      throw error;
    }
  } catch (error) {
    // If a name has several addresses and none answers, only the inner errors have a text.
    const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
    const reason = first instanceof Error ? first.message || String(first) : String(first);
    throw new UsageError(`DATABASE_URL names no PostgreSQL that can be used: ${reason}.`, {
      cause: error,
    });
  }
}

/** Creates a database that sorts by bytes, as Percolator does; resolves with its name. */
async function createDatabase(administrator: pg.ClientConfig): Promise<string> {
  const name = `percolator_bench_${randomBytes(6).toString('hex')}`;
  await withClient(administrator, (client) =>
    client.query(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'`),
  );
  return name;
}

async function describeServer(connection: pg.ClientConfig) {
  return withClient(connection, async (client) => {
    const names = Object.keys(settingsFor());
    const { rows } = await client.query<{ name: string; value: string }>(
      'SELECT name, current_setting(name) AS value FROM pg_settings WHERE name = ANY($1) ORDER BY name',
      [names],
    );
    const version = await client.query<{ version: string }>('SELECT version()');
    return {
      connection,
      version: version.rows[0]?.version ?? '',
      settings: Object.fromEntries(rows.map(({ name, value }) => [name, value])),
    };
  });
}

async function withClient<T>(
  connection: pg.ClientConfig,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionTimeoutMillis: CONNECT_MS_MAX, ...connection });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/*
 * A connection on its way to a client process. Every user of a machine can read the arguments of a
 * process, but only its owner can read its environment: so the arguments lack the password, and the
 * client takes it from the DATABASE_URL that it inherits.
 */

/** Only a connection to the server of DATABASE_URL has a `connectionString`, and a password. */
export function withoutPassword(connection: pg.ClientConfig): pg.ClientConfig {
  if (connection.connectionString === undefined) return connection;
  const url = new URL(connection.connectionString);
  url.password = '';
  url.searchParams.delete('password');
  return { connectionString: url.href };
}

/**
 * The opposite of `withoutPassword`.
 * @param environment in the form of `process.env`
 */
export function withPassword(
  connection: pg.ClientConfig,
  environment: Readonly<Record<string, string | undefined>>,
): pg.ClientConfig {
  const given = environment['DATABASE_URL'] ?? '';
  if (connection.connectionString === undefined || given === '') return connection;
  const url = new URL(given);
  url.pathname = new URL(connection.connectionString).pathname;
  return { connectionString: url.href };
}

/*
 * Makes PostgreSQL do at once what it would do on its own later, while another system is measured:
 * vacuum and analyze all tables, and write changed pages to their files.
 */

/** The SQLSTATE of a statement that the user may not execute. */
const INSUFFICIENT_PRIVILEGE = '42501';

/** If the user is not allowed to request a checkpoint, the server makes the next one unasked. */
export async function quiesce(connection: pg.ClientConfig): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    await client.query('VACUUM (ANALYZE)');
    await client.query('CHECKPOINT');
  } catch (error) {
    const isRefused = error instanceof pg.DatabaseError && error.code === INSUFFICIENT_PRIVILEGE;
    if (!isRefused) throw error;
  } finally {
    await client.end();
  }
}
