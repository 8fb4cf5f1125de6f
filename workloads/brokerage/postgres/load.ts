/**
 * Fills an empty database with a population. For each table: CREATE and COPY in one transaction,
 * then its indexes, then the planner's statistics; and last the transactions that run in the
 * server.
 *
 * COPY into a table that the same transaction has made writes no log (`wal_level` minimal), and
 * FREEZE saves the first readers the work of marking rows as committed.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { systemClock } from '#engine';
import { describe, type Population, type TableName, TABLE_NAMES } from '../model/index.ts';
import { installFunctions } from './functions/install.ts';
import { createIndexes, createTable } from './schema.ts';

export interface LoadOptions {
  /** Called for each table when it is loaded. */
  readonly onTable?: ((table: TableName, rows: number) => void) | undefined;
  /** Aborted, the load rejects with the reason; the table that it is loading is rolled back. */
  readonly signal?: AbortSignal | undefined;
}

export interface LoadResult {
  readonly rows: number;
  /** From the connection to the last installed function; includes the time of the generator. */
  readonly seconds: number;
}

/** Size of one write, in characters. */
const CHUNK = 65_536;

export async function loadPostgres(
  connection: pg.ClientConfig,
  population: Pick<Population, 'rows'>,
  { onTable = () => {}, signal }: LoadOptions = {},
): Promise<LoadResult> {
  const startMs = systemClock.monotonicMs();
  const client = new pg.Client(connection);
  await client.connect();
  try {
    let rows = 0;
    for (const table of TABLE_NAMES) {
      signal?.throwIfAborted();
      const copied = await copyTable(client, population, table, signal);
      for (const statement of createIndexes(table)) await client.query(statement);
      // Statistics of an empty table would tell the planner that it stays empty.
      if (copied > 0) await client.query(`VACUUM (ANALYZE) ${table}`);
      rows += copied;
      onTable(table, copied);
    }
    await installFunctions(client);
    return { rows, seconds: (systemClock.monotonicMs() - startMs) / 1000 };
  } catch (error) {
    signal?.throwIfAborted(); // The reason, rather than how a stream words it.
    throw error;
  } finally {
    await client.end();
  }
}

async function copyTable(
  client: pg.Client,
  population: Pick<Population, 'rows'>,
  table: TableName,
  signal: AbortSignal | undefined,
): Promise<number> {
  await client.query('BEGIN');
  await client.query(createTable(table));
  const copy = client.query(copyFrom(`COPY ${table} FROM STDIN (FREEZE)`));
  await pipeline(Readable.from(chunks(population, table)), copy, { signal });
  await client.query('COMMIT');
  return copy.rowCount;
}

function* chunks(population: Pick<Population, 'rows'>, table: TableName): Iterable<string> {
  const columns = Object.keys(describe(table).columns);
  let chunk = '';
  for (const row of population.rows(table)) {
    const values = row as unknown as Readonly<Record<string, string | number | boolean | null>>;
    chunk += `${columns.map((column) => copyValue(values[column])).join('\t')}\n`;
    if (chunk.length < CHUNK) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

/** In the text format of COPY. */
function copyValue(value: string | number | boolean | null | undefined): string {
  if (value === null || value === undefined) return String.raw`\N`;
  if (typeof value !== 'string') return String(value);
  return /[\\\n\r\t]/.test(value) ? value.replaceAll(/[\\\n\r\t]/g, escaped) : value;
}

function escaped(character: string): string {
  if (character === '\n') return String.raw`\n`;
  if (character === '\r') return String.raw`\r`;
  if (character === '\t') return String.raw`\t`;
  return String.raw`\\`;
}
