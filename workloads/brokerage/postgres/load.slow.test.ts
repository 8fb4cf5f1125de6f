/**
 * The claims of loading: PostgreSQL has exactly the rows of the generator, to the last character,
 * and exactly the keys and indexes of the model.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import type { Brokerage } from '../transactions/index.ts';
import {
  describe as describeTable,
  type TableRow,
  TABLE_NAMES,
  type TableName,
} from '../model/tables.ts';
import { TINY } from '../model/scale.ts';
import { createPopulation } from '../population/population.ts';
import { type LoadResult, loadPostgres } from './load.ts';
import { openOnPostgres } from '../transactions/on-postgres.ts';
import { tryPostgres } from './postgres.fixture.ts';
import { providePostgres } from './server.ts';

const STRANGE = 'a\\b\tc\nd\re\\N “ü” \u{1F4B8} \'"';
const population = createPopulation(TINY, 1);
const rows = <T extends TableName>(table: T): Iterable<TableRow<T>> => {
  const made = population.rows(table);
  return table === 'news_item' ? Array.from(made, (row) => ({ ...row, ni_item: STRANGE })) : made;
};

const tried = await tryPostgres();
after(() => tried[Symbol.asyncDispose]());

describe('a population on PostgreSQL', { skip: tried.skip }, () => {
  const reported = new Map<TableName, number>();
  let loaded: LoadResult;
  let brokerage: Brokerage;
  let client: pg.Client;
  before(async () => {
    const { connection } = tried.server;
    const onTable = (table: TableName, count: number): void => void reported.set(table, count);
    loaded = await loadPostgres(connection, { rows }, { onTable });
    brokerage = openOnPostgres({ connection, brokerUpdate: 'omit', connectionsMax: 1 });
    client = new pg.Client(connection);
    await client.connect();
  });
  after(async () => {
    await client.end();
    await brokerage[Symbol.asyncDispose]();
  });

  test('has every row as it was made, texts with strange characters and nulls included', async () => {
    let total = 0;
    for (const table of TABLE_NAMES) {
      const expected = sorted(table, [...rows(table)]);
      const found = sorted(table, await Array.fromAsync(brokerage.tables.rows(table)));
      assert.deepEqual(found, expected, table);
      assert.equal(reported.get(table), expected.length);
      total += expected.length;
    }
    assert.equal(loaded.rows, total);
    assert.ok(loaded.seconds > 0);
  });

  test('has a primary key for each table, an index for each path, and no other', async () => {
    const { rows: indexes } = await client.query<{ table: string; columns: string }>(`
      SELECT tablename AS table, substring(indexdef FROM '\\((.*)\\)') AS columns
      FROM pg_indexes WHERE schemaname = 'public'`);
    const expected = TABLE_NAMES.flatMap((table) => {
      const { primaryKey, paths } = describeTable(table);
      return [primaryKey, ...Object.values(paths)].map((columns) => ({
        table,
        columns: columns.map((c) => (c.startsWith('-') ? `${c.slice(1)} DESC` : c)).join(', '),
      }));
    });
    const inOrder = (list: readonly unknown[]): readonly string[] =>
      list.map((index) => JSON.stringify(index)).toSorted();
    assert.deepEqual(inOrder(indexes), inOrder(expected));
  });

  test('is known to the planner, except for empty tables, which are not going to stay empty', async () => {
    const { rows: known } = await client.query<{ relname: string; reltuples: number }>(
      `SELECT relname, reltuples FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`,
    );
    for (const { relname, reltuples } of known) {
      const count = reported.get(relname as TableName) ?? 0;
      assert.equal(reltuples, count === 0 ? -1 : count, relname);
    }
    assert.equal(known.length, 33);
  });
});

describe('a load that is interrupted', { skip: tried.skip }, () => {
  for (const [when, count] of [
    ['between two tables', 1],
    ['within a table', 0],
  ] as const) {
    test(`${when} rejects with the reason, and loads no further table`, async () => {
      const controller = new AbortController();
      const abort = (): void => controller.abort(new Error('interrupted'));
      const loaded: TableName[] = [];
      const onTable = (table: TableName): void => {
        loaded.push(table);
        abort();
      };
      const cut = <T extends TableName>(table: T): Iterable<TableRow<T>> => {
        if (count === 0) abort();
        return rows(table);
      };
      await using server = await providePostgres({ environment: {} });
      const options = { onTable, signal: controller.signal };
      const loading = loadPostgres(server.connection, { rows: cut }, options);
      await assert.rejects(loading, /^Error: interrupted$/);
      assert.equal(loaded.length, count);
      await using client = await connect(server.connection);
      const { rows: made } = await client.query(
        `SELECT FROM pg_tables WHERE schemaname = 'public'`,
      );
      assert.equal(made.length, count);
    });
  }
});

async function connect(connection: pg.ClientConfig): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client(connection);
  await client.connect();
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() });
}

function sorted<T extends TableName>(
  table: T,
  list: readonly TableRow<T>[],
): readonly TableRow<T>[] {
  const { primaryKey } = describeTable(table);
  const keyed = list.map((row) => {
    const values: Readonly<Record<string, unknown>> = row;
    return { key: JSON.stringify(primaryKey.map((column) => values[column])), row };
  });
  return keyed.toSorted((a, b) => (a.key < b.key ? -1 : 1)).map(({ row }) => row);
}
