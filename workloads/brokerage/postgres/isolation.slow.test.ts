/**
 * The specification's isolation tests (7.4.2.1 to 7.4.2.4), as far as they concern one position, on
 * PostgreSQL. One of two concurrent Trade-Results fails and is run again, and no change is lost or
 * counted twice.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { checkBrokerage } from '../check/check.ts';
import type { Brokerage, Inputs } from '../transactions/index.ts';
import { TINY } from '../model/scale.ts';
import { createPopulation } from '../population/population.ts';
import { loadPostgres } from './load.ts';
import { openOnPostgres } from '../transactions/on-postgres.ts';
import { tryPostgres } from './postgres.fixture.ts';

const population = createPopulation(TINY, 1);
const { roster } = population;
const now = roster.trades.endMs;
let lastTradeId = roster.trades.lastId;
let lastCustomer = 0;

const tried = await tryPostgres();
after(() => tried[Symbol.asyncDispose]());

describe('Trade-Results on one position', { skip: tried.skip }, () => {
  const inline = (): { readonly connection: pg.ClientConfig; readonly brokerUpdate: 'inline' } => ({
    connection: tried.server.connection,
    brokerUpdate: 'inline',
  });
  before(() => loadPostgres(tried.server.connection, population));

  for (const isolation of ['REPEATABLE READ', 'SERIALIZABLE'] as const) {
    for (const position of ['has', 'does not have yet'] as const) {
      test(`one of two that overlap fails: ${isolation}, a position that the account ${position}`, async () => {
        await using brokerage = openOnPostgres({ ...inline(), connectionsMax: 2 });
        const orders = await submit(brokerage, 2, { isNew: position !== 'has' });
        const [first, second] = orders.map(({ tradeId }) => tradeId);
        await using one = await session(tried.server.connection, isolation);
        await using two = await session(tried.server.connection, isolation);
        await one.client.query(CALL, [first, 2_500, now]);
        const waiting = two.client.query(CALL, [second, 2_400, now]);
        const failure = assert.rejects(waiting, { code: '40001' });
        await one.client.query('COMMIT');
        await failure;
        await two.client.query('ROLLBACK');
        // The second order stays submitted; completing it is what a retry would have done.
        await brokerage.execute('tradeResult', { tradeId: second ?? 0, tradePrice: 2_400, now });
      });
    }
  }

  for (const tradeResults of ['repeatable read', 'serializable'] as const) {
    for (const isNew of [false, true]) {
      const name = `${tradeResults}, ${isNew ? 'a new' : 'an old'} position`;
      test(`ten at a time all count once, and conflicts are counted: ${name}`, async () => {
        await using brokerage = openOnPostgres({ ...inline(), connectionsMax: 10, tradeResults });
        const orders = await submit(brokerage, 10, { isNew });
        const accountId = orders[0]?.accountId ?? 0;
        const start = await balanceOf(brokerage, accountId);
        const results = await Promise.all(
          orders.map(({ tradeId }, i) =>
            brokerage.execute('tradeResult', { tradeId, tradePrice: 2_300 + i, now }),
          ),
        );
        const settled = results.reduce(
          (sum, { result }) => sum + result.frame6.settlementAmount,
          0,
        );
        assert.equal(await balanceOf(brokerage, accountId), start + settled);
        assert.ok(
          results.some(({ attempts }) => attempts > 1),
          'they conflicted',
        );
      });
    }
  }

  test('after the tests above every condition holds', async () => {
    await using brokerage = openOnPostgres({ ...inline(), connectionsMax: 1 });
    const { findings } = await checkBrokerage(brokerage, { population, isDrained: true });
    assert.deepEqual(findings, []);
  });

  test('an error that is no conflict reaches the caller, and the next transaction commits', async () => {
    await using brokerage = openOnPostgres({ ...inline(), connectionsMax: 1 });
    const [order] = await submit(brokerage, 1, { isNew: false });
    assert.ok(order !== undefined);
    await assert.rejects(brokerage.execute('tradeOrder', order), { code: '23505' });
    const result = { tradeId: order.tradeId, tradePrice: 2_500, now };
    assert.equal((await brokerage.execute('tradeResult', result)).attempts, 1);
  });
});

const CALL = 'SELECT trade_result($1, $2, $3, true)';

/**
 * Orders of one account that no other test in this file uses; the account holds the security, or
 * has never traded it.
 */
async function submit(
  brokerage: Brokerage,
  count: number,
  { isNew }: { readonly isNew: boolean },
): Promise<readonly Inputs['tradeOrder'][]> {
  let accountId = 0;
  let symbol: string | undefined;
  while (symbol === undefined) {
    assert.ok(lastCustomer < roster.customers, 'no account is left');
    [accountId = 0] = roster.accountIds(lastCustomer++);
    symbol = isNew ? symbolNeverTraded(accountId) : await symbolHeld(brokerage, accountId);
  }
  const security = { symbol };
  const [owner] = roster.permissions(accountId);
  const orders = Array.from({ length: count }, (_, i): Inputs['tradeOrder'] => ({
    tradeId: ++lastTradeId,
    now,
    accountId,
    executor: {
      firstName: owner?.ap_f_name ?? '',
      lastName: owner?.ap_l_name ?? '',
      taxId: owner?.ap_tax_id ?? '',
    },
    security,
    tradeTypeId: i % 3 === 0 ? 'TMS' : 'TMB',
    quantity: 100,
    requestedPrice: 0,
    isLifo: i % 2 === 0,
    isMargin: false,
    rollBack: false,
  }));
  for (const order of orders) await brokerage.execute('tradeOrder', order);
  return orders;
}

async function symbolHeld(brokerage: Brokerage, accountId: number): Promise<string | undefined> {
  for await (const held of brokerage.tables.rows('holding_summary')) {
    if (held.hs_ca_id === accountId) return held.hs_s_symb;
  }
  return undefined; // The account has sold everything.
}

function symbolNeverTraded(accountId: number): string {
  const basket = new Set(roster.basket(accountId));
  const all = Array.from({ length: roster.securities }, (_, i) => i);
  return roster.symbol(all.find((index) => !basket.has(index)) ?? 0);
}

async function balanceOf(brokerage: Brokerage, accountId: number): Promise<number> {
  for await (const account of brokerage.tables.rows('customer_account')) {
    if (account.ca_id === accountId) return account.ca_bal;
  }
  throw new Error(`there is no account ${accountId}`);
}

async function session(
  connection: pg.ClientConfig,
  isolation: string,
): Promise<AsyncDisposable & { readonly client: pg.Client }> {
  const client = new pg.Client(connection);
  await client.connect();
  await client.query(`BEGIN ISOLATION LEVEL ${isolation}`);
  await client.query('SELECT FROM trade_type LIMIT 1'); // The snapshot is the first statement's.
  return { client, [Symbol.asyncDispose]: () => client.end() };
}
