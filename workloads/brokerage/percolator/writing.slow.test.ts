/** The transactions that write: the rows that they leave, one by one. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { checkBrokerage } from '../check/check.ts';
import type { DataMaintenanceInput } from '../transactions/data-maintenance.ts';
import type { TableRow, TableName } from '../model/tables.ts';
import { checkIndexes } from './check-indexes.ts';
import { orderOf, tinyBrokerage } from './tiny-brokerage.fixture.ts';

const tiny = await tinyBrokerage();
after(() => tiny[Symbol.asyncDispose]());

async function find<T extends TableName>(
  table: T,
  is: (row: TableRow<T>) => boolean,
): Promise<TableRow<T> | undefined> {
  return (await tiny.rows(table)).find(is);
}

/** The first account of a customer, one for each test, and a symbol that it does not hold. */
function place(customer: number): { accountId: number; symbol: string } {
  const { accountIds, symbol } = tiny.population.roster;
  const accountId = accountIds(customer)[0] ?? 0;
  const basket = tiny.population.roster.basket(accountId);
  const outside = Array.from({ length: 68 }, (_, i) => i).find((i) => !basket.includes(i)) ?? 0;
  return { accountId, symbol: symbol(outside) };
}

test('a market order is submitted, and leaves nothing after a roll-back', async () => {
  const order = orderOf(tiny, { ...place(0), quantity: 300, rollBack: true });
  const { outcome, frame3 } = await tiny.run('tradeOrder', order);
  assert.equal(outcome, 'rolled back');
  assert.equal(await find('trade', ({ t_id }) => t_id === order.tradeId), undefined);
  const again = await tiny.run('tradeOrder', { ...order, rollBack: false });
  assert.equal(again.outcome, 'committed');
  assert.deepEqual(again.frame3, frame3);
  const trade = await find('trade', ({ t_id }) => t_id === order.tradeId);
  const lastTrade = await find('last_trade', ({ lt_s_symb }) => lt_s_symb === place(0).symbol);
  assert.equal(trade?.t_st_id, 'SBMT');
  assert.equal(trade.t_bid_price, lastTrade?.lt_price);
  assert.equal(
    trade.t_comm,
    Math.round(((frame3?.commissionRate ?? 0) * 300 * trade.t_bid_price) / 1e4),
  );
  assert.equal(trade.t_trade_price, null);
  await tiny.run('tradeResult', { tradeId: order.tradeId, tradePrice: 2_000, now: tiny.now });
});

test('a stranger may not trade; a person with permission may, under their own name', async () => {
  const { roster } = tiny.population;
  const customers = Array.from({ length: roster.customers }, (_, i) => i);
  const accounts = customers.flatMap(roster.accountIds);
  const accountId = accounts.find((id) => roster.permissions(id).length === 2) ?? 0;
  const [, friend] = roster.permissions(accountId);
  assert.ok(friend !== undefined);
  const executor = {
    firstName: friend.ap_f_name,
    lastName: friend.ap_l_name,
    taxId: friend.ap_tax_id,
  };
  const order = orderOf(tiny, { accountId, symbol: roster.symbol(0), executor });
  const denied = { ...order, executor: { ...executor, firstName: 'Unknown' } };
  assert.equal((await tiny.run('tradeOrder', denied)).outcome, 'denied');
  const { outcome, frame2 } = await tiny.run('tradeOrder', order);
  assert.deepEqual([outcome, frame2], ['committed', { acl: '0001' }]);
  const trade = await find('trade', ({ t_id }) => t_id === order.tradeId);
  assert.equal(trade?.t_exec_name, `${friend.ap_f_name} ${friend.ap_l_name}`);
  await tiny.run('tradeResult', { tradeId: order.tradeId, tradePrice: 2_000, now: tiny.now });
});

test('a security is found by symbol, or by company and issue', async () => {
  const { roster } = tiny.population;
  const { accountId } = place(1);
  const companyName = roster.companyName(roster.companyOf(60));
  const order = orderOf(tiny, { accountId, symbol: '', rollBack: true });
  const security = { companyName, issue: roster.issue(60) };
  const { frame3 } = await tiny.run('tradeOrder', { ...order, security });
  assert.equal(frame3?.symbol, roster.symbol(60));
});

test('trades close lots first in, first out, or last in, first out; then a sale reverses the position', async () => {
  const at = place(2);
  let now = tiny.now;
  const trade = async (
    tradeTypeId: 'TMB' | 'TMS',
    quantity: number,
    isLifo = false,
  ): Promise<number> => {
    now += 1_000;
    const order = orderOf(tiny, { ...at, tradeTypeId, quantity, isLifo, now });
    await tiny.run('tradeOrder', order);
    const tradePrice = 2_000 + (now - tiny.now) / 100;
    const { frame6 } = await tiny.run('tradeResult', { tradeId: order.tradeId, tradePrice, now });
    const account = await find('customer_account', ({ ca_id }) => ca_id === at.accountId);
    assert.equal(account?.ca_bal, frame6.accountBalance);
    return order.tradeId;
  };
  const lots = async (): Promise<readonly (readonly [number, number])[]> => {
    const held = (await tiny.rows('holding')).filter(
      (row) => row.h_ca_id === at.accountId && row.h_s_symb === at.symbol,
    );
    const position = await find(
      'holding_summary',
      (row) => row.hs_ca_id === at.accountId && row.hs_s_symb === at.symbol,
    );
    const sum = held.reduce((all, row) => all + row.h_qty, 0);
    assert.equal(position?.hs_qty ?? 0, sum);
    return held.map((row) => [row.h_t_id, row.h_qty] as const);
  };
  const one = await trade('TMB', 100);
  const two = await trade('TMB', 200);
  const three = await trade('TMB', 400);
  await trade('TMS', 100, true);
  assert.deepEqual(await lots(), [
    [one, 100],
    [two, 200],
    [three, 300],
  ]);
  await trade('TMS', 200);
  assert.deepEqual(await lots(), [
    [two, 100],
    [three, 300],
  ]);
  const five = await trade('TMS', 800);
  assert.deepEqual(await lots(), [[five, -400]]);
  await trade('TMB', 400);
  assert.deepEqual(await lots(), []);
});

test('the estimate equals the result of a trade at that price', async () => {
  const { roster } = tiny.population;
  const position = (await tiny.rows('holding_summary')).find(({ hs_qty }) => hs_qty >= 200);
  assert.ok(position !== undefined);
  const { hs_ca_id: accountId, hs_s_symb: symbol } = position;
  const index =
    Array.from({ length: 68 }, (_, i) => i).find((i) => roster.symbol(i) === symbol) ?? 0;
  // At the highest price there is a gain, and so a tax, unless the account pays none.
  const high = tiny.population.market.reaches(
    index,
    { direction: 'at least', price: 3_000 },
    tiny.now,
  );
  const entry = { symbol, price: 3_000, quantity: 100 };
  await tiny.run('marketFeed', { entries: [entry], now: high });
  const order = orderOf(tiny, {
    accountId,
    symbol,
    tradeTypeId: 'TMS',
    quantity: 200,
    isMargin: true,
  });
  const { frame1, frame3 } = await tiny.run('tradeOrder', order);
  assert.ok(frame3 !== null && frame3.sellValue > frame3.buyValue);
  const account = await find('customer_account', ({ ca_id }) => ca_id === accountId);
  const prices = new Map(
    (await tiny.rows('last_trade')).map((row) => [row.lt_s_symb, row.lt_price]),
  );
  const held = (await tiny.rows('holding_summary')).filter(
    ({ hs_ca_id }) => hs_ca_id === accountId,
  );
  const assets = held.reduce((sum, row) => sum + row.hs_qty * (prices.get(row.hs_s_symb) ?? 0), 0);
  assert.equal(frame3.accountAssets, assets + (account?.ca_bal ?? 0));
  const result = await tiny.run('tradeResult', {
    tradeId: order.tradeId,
    tradePrice: 3_000,
    now: high,
  });
  const { buyValue, sellValue } = result.frame2;
  assert.deepEqual([buyValue, sellValue], [frame3.buyValue, frame3.sellValue]);
  assert.equal(result.frame3.taxAmount, frame3.taxAmount);
  assert.equal(frame3.taxAmount > 0, frame1.taxStatus !== 0);
  assert.equal(result.frame5.commission, frame3.commission);
  // On margin no cash moves.
  assert.equal(result.frame6.accountBalance, account?.ca_bal);
});

test('a limit order waits for its price, is triggered by it, and is completed', async () => {
  const at = place(4);
  const limit = { ...at, tradeTypeId: 'TLB', requestedPrice: 2_200 } as const;
  const low = orderOf(tiny, limit);
  const lower = orderOf(tiny, { ...limit, requestedPrice: 2_100 });
  const stop = orderOf(tiny, { ...at, tradeTypeId: 'TSL', requestedPrice: 2_150 });
  const sell = orderOf(tiny, { ...at, tradeTypeId: 'TLS', requestedPrice: 2_300 });
  for (const order of [low, lower, stop, sell]) {
    const { frame3 } = await tiny.run('tradeOrder', order);
    assert.equal(frame3?.statusId, 'PNDG');
  }
  const now = tiny.now + 500;
  const feed = (price: number): Promise<unknown> =>
    tiny.run('marketFeed', { entries: [{ symbol: at.symbol, price, quantity: 375 }], now });
  const idsOf = (result: unknown): readonly number[] =>
    (result as { triggered: readonly { tradeId: number }[] }).triggered.map(
      ({ tradeId }) => tradeId,
    );
  const volume = async (): Promise<number> =>
    (await find('last_trade', ({ lt_s_symb }) => lt_s_symb === at.symbol))?.lt_vol ?? 0;
  const before = await volume();
  assert.deepEqual(idsOf(await feed(2_250)), []);
  assert.deepEqual(idsOf(await feed(2_200)), [low.tradeId]);
  assert.deepEqual(idsOf(await feed(2_200)), [], 'only once');
  assert.deepEqual(idsOf(await feed(2_150)), [stop.tradeId]);
  assert.deepEqual(idsOf(await feed(2_300)), [sell.tradeId]);
  assert.equal(await volume(), before + 5 * 375);
  const trade = await find('trade', ({ t_id }) => t_id === low.tradeId);
  assert.deepEqual([trade?.t_st_id, trade?.t_dts], ['SBMT', now]);
  const waiting = (await tiny.rows('trade_request')).map(({ tr_t_id }) => tr_t_id);
  assert.deepEqual(waiting, [lower.tradeId]);
  for (const { tradeId } of [low, stop, sell]) {
    await tiny.run('tradeResult', { tradeId, tradePrice: 2_200, now: now + 1 });
  }
});

test('entries of one symbol take effect in order: the second does not trigger the same order again', async () => {
  const at = place(5);
  const order = orderOf(tiny, { ...at, tradeTypeId: 'TLB', requestedPrice: 2_400 });
  await tiny.run('tradeOrder', order);
  const entries = [2_390, 2_380].map((price) => ({ symbol: at.symbol, price, quantity: 100 }));
  const { triggered } = await tiny.run('marketFeed', { entries, now: tiny.now });
  assert.deepEqual(
    triggered.map(({ tradeId, price }) => [tradeId, price]),
    [[order.tradeId, 2_400]],
  );
  const lastTrade = await find('last_trade', ({ lt_s_symb }) => lt_s_symb === at.symbol);
  assert.equal(lastTrade?.lt_price, 2_380);
  await tiny.run('tradeResult', { tradeId: order.tradeId, tradePrice: 2_390, now: tiny.now });
});

test('Trade-Update edits at most `updatesMax` of the trades that it selects, and undoes the edit the second time', async () => {
  const { firstId } = tiny.population.roster.trades;
  const tradeIds = [firstId, firstId + 1, firstId + 2];
  const input = { frame: 1, tradeIds, updatesMax: 2 } as const;
  const names = async (): Promise<readonly string[]> => {
    const { trades } = await tiny.run('tradeUpdate', { ...input, updatesMax: 0 });
    return trades.map(({ executorName }) => executorName);
  };
  const original = await names();
  const { updated, trades } = await tiny.run('tradeUpdate', input);
  assert.equal(updated, 2);
  const changed = original.map((name, i) => (i < 2 ? name.replace(' ', ' X ') : name));
  assert.deepEqual(
    trades.map(({ executorName }) => executorName),
    changed,
  );
  assert.deepEqual(await names(), changed);
  await tiny.run('tradeUpdate', input);
  assert.deepEqual(await names(), original);
});

test('Trade-Update changes the cash type of settlements and the name of cash transactions', async () => {
  const [trade] = await tiny.rows('trade');
  assert.ok(trade !== undefined);
  const window = { first: 0, last: tiny.now, tradesMax: 20, updatesMax: 20 };
  const byAccount = { frame: 2, accountId: trade.t_ca_id, ...window } as const;
  const settled = await tiny.run('tradeUpdate', byAccount);
  assert.ok(settled.trades.length > 0);
  assert.equal(settled.updated, settled.trades.length);
  for (const { isCash, settlement } of settled.trades) {
    assert.equal(settlement?.cashType, isCash ? 'Cash' : 'Margin Account');
  }
  const bySymbol = { frame: 3, symbol: trade.t_s_symb, ...window } as const;
  const paid = await tiny.run('tradeUpdate', bySymbol);
  const paidInCash = paid.trades.filter(({ isCash }) => isCash);
  assert.ok(paidInCash.length > 0);
  assert.equal(paid.updated, paidInCash.length);
  for (const { cashTransaction } of paidInCash) {
    assert.match(cashTransaction?.name ?? '', / Shares of /u);
  }
});

test('Data-Maintenance changes as many rows of its table as it reports', async () => {
  const { roster } = tiny.population;
  const customerId = roster.customerId(8);
  const companyId = roster.companyId(3);
  const [accountId = 0] = roster.accountIds(8);
  const symbol = roster.symbol(2);
  const [day = 0] = roster.marketDays;
  const edits: readonly (readonly [DataMaintenanceInput, rows: number])[] = [
    [{ table: 'account_permission', accountId }, 1],
    [{ table: 'address', customerId }, 1],
    [{ table: 'company', companyId }, 1],
    [{ table: 'customer', customerId }, 1],
    [{ table: 'customer_taxrate', customerId }, 1],
    [{ table: 'daily_market', symbol, day, volume: 7 }, 1],
    [{ table: 'exchange', now: tiny.now }, 4],
    [{ table: 'financial', companyId }, 20],
    [{ table: 'news_item', companyId }, 2],
    [{ table: 'security', symbol }, 1],
    [{ table: 'taxrate', taxRateId: 'US1' }, 1],
    [{ table: 'watch_item', customerId }, 1],
  ];
  for (const [input, rows] of edits) {
    const { table } = input;
    const before = new Set((await tiny.rows(table)).map((row) => JSON.stringify(row)));
    assert.deepEqual(await tiny.run('dataMaintenance', input), { rows }, table);
    const afterwards = (await tiny.rows(table)).map((row) => JSON.stringify(row));
    assert.equal(afterwards.length, before.size, table);
    assert.equal(afterwards.filter((row) => !before.has(row)).length, rows, table);
  }
});

test('Trade-Cleanup cancels all waiting orders, and every condition holds after the tests above', async () => {
  const { brokerage, population, percolator, now } = tiny;
  const at = place(6);
  const submitted = orderOf(tiny, at);
  const pending = orderOf(tiny, { ...at, tradeTypeId: 'TLB', requestedPrice: 2_000 });
  for (const order of [submitted, pending]) await tiny.run('tradeOrder', order);
  const firstTradeId = population.roster.trades.lastId + 1;
  const waiting = await tiny.rows('trade_request');
  assert.ok(waiting.length >= 1);
  assert.deepEqual(await tiny.run('tradeCleanup', { firstTradeId, now }), {
    requests: waiting.length,
    submitted: 1,
  });
  const trades = await tiny.rows('trade');
  const canceled = trades.filter(({ t_st_id }) => t_st_id === 'CNCL').map(({ t_id }) => t_id);
  const expected = [...waiting.map(({ tr_t_id }) => tr_t_id), submitted.tradeId];
  assert.deepEqual(
    canceled,
    expected.toSorted((a, b) => a - b),
  );
  const history = (await tiny.rows('trade_history')).filter(
    ({ th_t_id }) => th_t_id === pending.tradeId,
  );
  assert.deepEqual(history.map(({ th_st_id }) => th_st_id).toSorted(), ['CNCL', 'PNDG', 'SBMT']);
  const report = await checkBrokerage(brokerage, { population, isDrained: true });
  assert.deepEqual(report.findings, []);
  assert.deepEqual(await checkIndexes(percolator), []);
});
