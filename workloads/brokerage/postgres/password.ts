/**
 * A connection on its way to a client process. Every user of a machine can read the arguments of a
 * process, but only its owner can read its environment: so the arguments lack the password, and the
 * client takes it from the DATABASE_URL that it inherits.
 */
import type pg from 'pg';

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
