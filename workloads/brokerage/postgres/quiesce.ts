/**
 * Makes PostgreSQL do at once what it would do on its own later, while another system is measured:
 * vacuum and analyze all tables, and write changed pages to their files.
 */
import pg from 'pg';

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
