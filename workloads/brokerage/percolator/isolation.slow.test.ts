/**
 * The specification's isolation tests (7.4.2.1 to 7.4.2.4), as far as they concern one position or
 * the totals of one broker. Two concurrent Trade-Results that write the same row never both commit:
 * the loser runs again, and no change is lost or counted twice.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { checkBrokerage } from '../check/check.ts';
import type { BrokerUpdate } from '../model/trading-rules.ts';
import { brokerUpdater } from './broker-update.ts';
import { checkIndexes } from './check-indexes.ts';
import { openOnPercolator } from '../transactions/on-percolator.ts';
import { RowReader, RowWriter } from './rows.ts';
import { orderOf, tinyBrokerage } from './tiny-brokerage.fixture.ts';
import { tradeResult } from '../transactions/trade-result.ts';

const tiny = await tinyBrokerage();
after(() => tiny[Symbol.asyncDispose]());

test('of two Trade-Results that overlap on one position, one conflicts', async () => {
  const [first, second] = await submitTwo(0);
  const { percolator, now } = tiny;
  const update = brokerUpdater('omit');
  const one = await percolator.begin();
  const two = await percolator.begin();
  await tradeResult(new RowWriter(one), { tradeId: first, tradePrice: 2_500, now }, update);
  await tradeResult(new RowWriter(two), { tradeId: second, tradePrice: 2_400, now }, update);
  await one.commit();
  await assert.rejects(two.commit(), { code: 'WRITE_CONFLICT' });
  // The second order stays submitted; completing it again is what `execute` would have done.
  await tiny.run('tradeResult', { tradeId: second, tradePrice: 2_400, now });
});

test('a Trade-Result that began before another committed reads its own snapshot, and then conflicts', async () => {
  const [first, second] = await submitTwo(1);
  const { percolator, now } = tiny;
  const late = await percolator.begin();
  const accountId = accountAt(1);
  const before = await stored(accountId);
  await tiny.run('tradeResult', { tradeId: first, tradePrice: 2_500, now });
  assert.notDeepEqual(await stored(accountId), before);
  // The late transaction has not read the account before, so it has no copy of it.
  assert.deepEqual(await new RowWriter(late).get('customer_account', accountId), before);
  await tradeResult(
    new RowWriter(late),
    { tradeId: second, tradePrice: 2_400, now },
    brokerUpdater('omit'),
  );
  await assert.rejects(late.commit(), { code: 'WRITE_CONFLICT' });
  await tiny.run('tradeResult', { tradeId: second, tradePrice: 2_400, now });
});

for (const brokerUpdate of ['omit', 'inline', 'side-table'] satisfies BrokerUpdate[]) {
  test(`ten concurrent Trade-Results on one position each count once: --broker=${brokerUpdate}`, async () => {
    await using brokerage = openOnPercolator(tiny.percolator, { brokerUpdate });
    const { now } = tiny;
    const accountId = accountAt(2);
    const symbol = symbolOf(accountId);
    const balance = async (): Promise<number> =>
      (await tiny.rows('customer_account')).find(({ ca_id }) => ca_id === accountId)?.ca_bal ?? 0;
    const before = await balance();
    const orders = Array.from({ length: 10 }, (_, i) =>
      orderOf(tiny, { accountId, symbol, tradeTypeId: i % 3 === 0 ? 'TMS' : 'TMB' }),
    );
    await Promise.all(orders.map((order) => brokerage.execute('tradeOrder', order)));
    const results = await Promise.all(
      orders.map(({ tradeId }, i) =>
        brokerage.execute('tradeResult', { tradeId, tradePrice: 2_300 + i, now }),
      ),
    );
    await brokerage.settled();
    const settled = results.reduce((sum, { result }) => sum + result.frame6.settlementAmount, 0);
    assert.equal(await balance(), before + settled);
    assert.ok(
      results.some(({ attempts }) => attempts > 1),
      'at least one Trade-Result was run again',
    );
  });
}

test('Trade-Results of two accounts of one broker conflict only if its totals are written inline', async () => {
  const { percolator, now } = tiny;
  for (const [brokerUpdate, conflicts] of [
    ['omit', false],
    ['side-table', false],
    ['inline', true],
  ] as const) {
    const orders = [3, 4].map((customer) => {
      const accountId = accountAt(customer);
      return orderOf(tiny, { accountId, symbol: symbolOf(accountId) });
    });
    for (const order of orders) await tiny.run('tradeOrder', order);
    const both = await Promise.all(
      orders.map(async ({ tradeId }) => {
        const transaction = await percolator.begin();
        const input = { tradeId, tradePrice: 2_500, now };
        await tradeResult(new RowWriter(transaction), input, brokerUpdater(brokerUpdate));
        return transaction;
      }),
    );
    const ends = await Promise.allSettled(both.map((transaction) => transaction.commit()));
    const failed = ends.flatMap((end, i) => (end.status === 'rejected' ? [{ end, i }] : []));
    assert.equal(failed.length, conflicts ? 1 : 0, brokerUpdate);
    for (const { end, i } of failed) {
      assert.equal(end.reason.code, 'WRITE_CONFLICT');
      const { tradeId } = orders[i] as (typeof orders)[number];
      await tiny.run('tradeResult', { tradeId, tradePrice: 2_500, now });
    }
  }
  // The observer of this brokerage sums up the side table; the last test checks the sums.
  await using brokerage = openOnPercolator(percolator, { brokerUpdate: 'side-table' });
  await brokerage.settled();
});

test('after the tests above every condition holds, except the totals whose updates were omitted', async () => {
  const { brokerage, population, percolator } = tiny;
  const options = { population, isDrained: true };
  const omitted = { ...brokerage, brokerUpdate: 'omit' } as const;
  assert.deepEqual((await checkBrokerage(omitted, options)).findings, []);
  assert.deepEqual(await checkIndexes(percolator), []);
  const { findings } = await checkBrokerage(brokerage, options);
  const conditions = findings.map(({ condition }) => condition);
  assert.deepEqual(conditions, ['broker trades', 'broker commission']);
  // Thirteen updates were omitted: ten with `--broker=omit`, one in the first test, and two in the
  // test of two accounts.
  assert.match(findings[0]?.message ?? '', /has (\d+) trades; its accounts completed (\d+)/u);
  const [, totals = 0, completed = 0] =
    /has (\d+) .* completed (\d+)/u.exec(findings[0]?.message ?? '')?.map(Number) ?? [];
  assert.equal(completed - totals, 13);
});

async function submitTwo(customer: number): Promise<[number, number]> {
  const accountId = accountAt(customer);
  const symbol = symbolOf(accountId);
  const orders = [0, 1].map(() => orderOf(tiny, { accountId, symbol }));
  for (const order of orders) await tiny.run('tradeOrder', order);
  return orders.map(({ tradeId }) => tradeId) as [number, number];
}

function accountAt(customer: number): number {
  const [accountId] = tiny.population.roster.accountIds(customer);
  assert.ok(accountId !== undefined);
  return accountId;
}

function symbolOf(accountId: number): string {
  const { basket, symbol } = tiny.population.roster;
  const [security] = basket(accountId);
  assert.ok(security !== undefined);
  return symbol(security);
}

/** The account as it is committed now. */
async function stored(accountId: number): Promise<unknown> {
  await using snapshot = await tiny.percolator.snapshot();
  return new RowReader(snapshot).get('customer_account', accountId);
}
