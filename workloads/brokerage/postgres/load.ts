/**
 * Fills an empty database with a population. For each table: CREATE and COPY in one transaction,
 * then its indexes, then the planner's statistics; and last the transactions that run in the
 * server.
 *
 * COPY into a table that the same transaction has made writes no log (`wal_level` minimal), and
 * FREEZE saves the first readers the work of marking rows as committed.
 */
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { systemClock } from '#engine';
import type { Population } from '../model/population.ts';
import {
  type ColumnType,
  describe,
  TABLE_NAMES,
  type TableDescription,
  type TableName,
} from '../model/tables.ts';

export interface PostgresLoadOptions {
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
  { onTable = () => {}, signal }: PostgresLoadOptions = {},
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

/*
 * The 33 tables on PostgreSQL: columns and primary keys of the model, and an index for each
 * secondary access path.
 *
 * The model's integers are four bytes, except for columns that may be larger. There are no foreign
 * keys: the specification requires them, but Percolator has none to pay for.
 */

const LARGE_INTEGERS: ReadonlySet<string> = new Set([
  'dm_vol',
  'fi_out_basic',
  'fi_out_dilut',
  'lt_vol',
  's_num_out',
]);

/**
 * Percent of a page that loading fills. A row that changes without a change of an index finds room
 * on its own page for the next version; then no index is written.
 */
const FILL_PERCENT: Partial<Record<TableName, number>> = {
  broker: 50,
  customer_account: 80,
  holding_summary: 80,
  last_trade: 50,
};

function createTable(table: TableName): string {
  const columns = Object.entries(describe(table).columns).map(
    ([name, type]) => `${name} ${sqlType(name, type)}`,
  );
  const fill = FILL_PERCENT[table];
  const storage = fill === undefined ? '' : ` WITH (fillfactor = ${fill})`;
  return `CREATE TABLE ${table} (\n  ${columns.join(',\n  ')}\n)${storage}`;
}

/** The primary key, and an index for each path. */
function createIndexes(table: TableName): readonly string[] {
  const { primaryKey, paths }: TableDescription = describe(table);
  return [
    `ALTER TABLE ${table} ADD PRIMARY KEY (${primaryKey.join(', ')})`,
    ...Object.entries(paths).map(
      ([path, columns]) =>
        `CREATE INDEX ${table}_${path} ON ${table} (${columns.map(sqlOrder).join(', ')})`,
    ),
  ];
}

function sqlType(column: string, type: ColumnType): string {
  if (type.endsWith('?')) return plainType(column, type.slice(0, -1));
  return `${plainType(column, type)} NOT NULL`;
}

function plainType(column: string, type: string): string {
  if (type === 'text' || type === 'boolean') return type;
  return type === 'integer' && !LARGE_INTEGERS.has(column) ? 'integer' : 'bigint';
}

function sqlOrder(column: string): string {
  return column.startsWith('-') ? `${column.slice(1)} DESC` : column;
}

/**
 * The transactions that run in the server, each in a file of its own; `trade-selection` contains
 * functions that others call.
 */
const FILES = [
  'trade-status',
  'customer-position',
  'market-watch',
  'broker-volume',
  'security-detail',
  'trade-selection',
  'trade-lookup',
  'trade-update',
  'trade-order',
  'trade-result',
  'market-feed',
  'data-maintenance',
  'trade-cleanup',
] as const;

async function installFunctions(client: pg.Client): Promise<void> {
  for (const file of FILES) {
    await client.query(
      await readFile(new URL(`../transactions/${file}.sql`, import.meta.url), 'utf8'),
    );
  }
}
