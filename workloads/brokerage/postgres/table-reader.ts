/** Reads whole tables for the checks, some thousand rows at a time. */
import pg from 'pg';
import type { Row, TableName, TableReader } from '../model/index.ts';
import { safeIntegers } from './connections.ts';

const ROWS = 5_000;

export function readTables(connection: pg.ClientConfig): TableReader {
  return { rows: (table) => readTable(connection, table) };
}

async function* readTable<T extends TableName>(
  connection: pg.ClientConfig,
  table: T,
): AsyncIterable<Row<T>> {
  const client = new pg.Client({ ...connection, types: safeIntegers });
  await client.connect();
  try {
    await client.query(`BEGIN; DECLARE reading CURSOR FOR SELECT * FROM ${table}`);
    for (;;) {
      const { rows } = await client.query<Row<T> & pg.QueryResultRow>(`FETCH ${ROWS} FROM reading`);
      yield* rows;
      if (rows.length < ROWS) return;
    }
  } finally {
    await client.end();
  }
}
