/**
 * The comparison rests on this: Percolator with either layout and PostgreSQL do
 * the same work. Given the same transactions one after the other, they return the same to the last
 * cent, and leave the same rows.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openPercolator } from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import type { TransactionRequest } from '../driver/inputs.ts';
import {
  type Brokerage,
  type Inputs,
  type Results,
  TRANSACTIONS,
  type TransactionType,
} from '../transactions/index.ts';
import { describe as describeTable, TABLE_NAMES, type TableName } from '../model/tables.ts';
import { TINY } from '../model/scale.ts';
import type { Layout } from '../percolator/layout.ts';
import { loadPopulation } from '../percolator/load.ts';
import { openOnPercolator } from '../transactions/on-percolator.ts';
import { listsAfterSales } from '../percolator/tiny-brokerage.fixture.ts';
import { createPopulation } from '../population/population.ts';
import { loadPostgres } from './load.ts';
import { openOnPostgres } from '../transactions/on-postgres.ts';
import { OneClient } from './one-client.fixture.ts';
import { tryPostgres } from './postgres.fixture.ts';

const SEED = 1;
const STEPS = 1_200;
const HOUR_MS = 3_600_000;
/** More than the trades of all steps. */
const TRADES_OF_STEPS_MAX = 10_000;
const population = createPopulation(TINY, SEED);

const tried = await tryPostgres();
after(() => tried[Symbol.asyncDispose]());

describe('Percolator and PostgreSQL', { skip: tried.skip }, () => {
  const cleanup = new AsyncDisposableStack();
  let small: Brokerage;
  let others: readonly Brokerage[];
  before(async () => {
    small = await openLayout('small', cleanup);
    others = [await openLayout('large', cleanup), await openPostgres(cleanup)];
  });
  after(() => cleanup.disposeAsync());

  test('return the same from every transaction, and leave the same rows', async () => {
    const client = new OneClient(population, SEED);
    const seen = new Set<string>();
    for (let step = 0; step <= STEPS; step++) {
      const issued = step < STEPS ? client.next() : client.cleanup();
      const { type, input } = issued;
      const where = `seed ${SEED}, step ${step}: ${type} ${JSON.stringify(input)}`;
      const ours = await small.execute(type, input);
      for (const other of others) {
        const theirs = await other.execute(type, input);
        assert.deepStrictEqual(theirs, ours, `${other.name}: ${where}`);
      }
      client.heard(type, input, ours.result);
      for (const kind of kindsOf(issued, ours.result)) seen.add(kind);
    }
    assert.deepEqual(
      KINDS.filter((kind) => !seen.has(kind)),
      [],
      'kinds that never came',
    );
    for (const table of TABLE_NAMES) {
      const ours = await sortedRows(small, table);
      for (const other of others) {
        assert.deepStrictEqual(await sortedRows(other, table), ours, `${other.name}: ${table}`);
      }
    }
  });

  test('return the same lists of an account that has more trades than the lists show', async () => {
    const { endMs, lastId } = population.roster.trades;
    let tradeId = lastId + TRADES_OF_STEPS_MAX;
    const run = async <T extends TransactionType>(type: T, input: Inputs[T]) => {
      const ours = await small.execute(type, input);
      for (const other of others) {
        assert.deepStrictEqual(await other.execute(type, input), ours, `${other.name}: ${type}`);
      }
      return ours.result;
    };
    const now = endMs + HOUR_MS;
    const lists = await listsAfterSales({ population, now, nextTradeId: () => ++tradeId, run });
    assert.ok(lists.tradeIds.length > lists.status.length);
  });
});

/** Percolator with one of its layouts, in memory. */
async function openLayout(layout: Layout, cleanup: AsyncDisposableStack): Promise<Brokerage> {
  const percolator = cleanup.use(await openPercolator({ store: createMemoryBigtable() }));
  await loadPopulation(percolator, population, { layout });
  return cleanup.use(openOnPercolator(percolator, { layout, brokerUpdate: 'inline' }));
}

async function openPostgres(cleanup: AsyncDisposableStack): Promise<Brokerage> {
  const { connection } = tried.server;
  await loadPostgres(connection, population);
  return cleanup.use(openOnPostgres({ connection, brokerUpdate: 'inline', connectionsMax: 2 }));
}

const KINDS: readonly string[] = `
  committed, rolled back, denied, third party, by company, on margin, estimates tax
  closes long, closes short, opens short, pays tax, last in first out, triggers
  lookup 1, lookup 2, lookup 3, lookup 4, update 1, update 2, update 3
  watch list, account, industry, volumes, history, bodies
  maintains account_permission, maintains address, maintains company, maintains customer
  maintains customer_taxrate, maintains daily_market, maintains exchange, maintains financial
  maintains news_item, maintains security, maintains taxrate, maintains watch_item`
  .split(/[\n,]/)
  .map((kind) => kind.trim())
  .filter((kind) => kind !== '')
  .concat(Object.keys(TRANSACTIONS));

function kindsOf(
  { type, input }: TransactionRequest,
  result: Results[TransactionType],
): readonly string[] {
  const details = DETAILS[type] as ((input: unknown, result: unknown) => Details) | undefined;
  const found = Object.entries(details?.(input, result) ?? {}).filter(([, isSo]) => isSo);
  return [type, ...found.map(([kind]) => kind)];
}

type Details = Readonly<Record<string, boolean>>;

const DETAILS: {
  readonly [T in TransactionType]?: (input: Inputs[T], result: Results[T]) => Details;
} = {
  tradeOrder: kindsOfOrder,
  tradeResult: (_, result) => kindsOfResult(result),
  tradeLookup: ({ frame }) => ({ [`lookup ${frame}`]: true }),
  tradeUpdate: ({ frame }, { updated }) => ({ [`update ${frame}`]: updated > 0 }),
  marketWatch: ({ list }, { symbols }) => ({ [list.kind]: symbols > 0 }),
  marketFeed: (_, { triggered }) => ({ triggers: triggered.length > 0 }),
  brokerVolume: (_, { volumes }) => ({ volumes: volumes.length > 0 }),
  customerPosition: (_, { frame2 }) => ({ history: (frame2?.length ?? 0) > 0 }),
  securityDetail: ({ withNewsBodies }) => ({ bodies: withNewsBodies }),
  dataMaintenance: ({ table }, { rows }) => ({ [`maintains ${table}`]: rows > 0 }),
};

function kindsOfOrder(input: Inputs['tradeOrder'], result: Results['tradeOrder']): Details {
  return {
    [result.outcome]: true,
    'third party': result.frame2 !== null,
    'by company': 'companyName' in input.security,
    'on margin': (result.frame3?.accountAssets ?? 0) !== 0,
    'estimates tax': (result.frame3?.taxAmount ?? 0) > 0,
  };
}

function kindsOfResult({ frame1, frame2, frame3 }: Results['tradeResult']): Details {
  const { isSell, positionQuantity } = frame1;
  return {
    'closes long': isSell && frame2.buyValue > 0,
    'closes short': !isSell && frame2.sellValue > 0,
    'opens short': isSell && positionQuantity <= 0,
    'pays tax': frame3.taxAmount > 0,
    'last in first out': frame1.isLifo,
  };
}

async function sortedRows(brokerage: Brokerage, table: TableName): Promise<readonly unknown[]> {
  const { primaryKey } = describeTable(table);
  const keyed: (readonly [string, unknown])[] = [];
  for await (const row of brokerage.tables.rows(table)) {
    const values: Readonly<Record<string, unknown>> = row;
    keyed.push([JSON.stringify(primaryKey.map((column) => values[column])), row]);
  }
  return keyed.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}
