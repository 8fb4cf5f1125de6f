/** Removes the rows that earlier transactions have replaced or deleted, in all tables, at once. */
import pg from 'pg';

/** Resolves when it is done; autovacuum goes on at its own times. */
export async function vacuum(connection: pg.ClientConfig): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    await client.query('VACUUM');
  } finally {
    await client.end();
  }
}
