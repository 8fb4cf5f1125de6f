/** The transactions that read, compared with the same queries on plain arrays. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TableRow, TableName } from '../model/tables.ts';
import { RowWriter } from './rows.ts';
import { listsAfterSales, orderOf, tinyBrokerage } from './tiny-brokerage.fixture.ts';

const tiny = await tinyBrokerage();
after(() => tiny[Symbol.asyncDispose]());

function loaded<T extends TableName>(table: T): readonly TableRow<T>[] {
  return [...tiny.population.rows(table)];
}

/** Returns the account with the most trades. */
function busiest(): number {
  const byAccount = Map.groupBy(loaded('trade'), ({ t_ca_id }) => t_ca_id);
  const [account] = [...byAccount].toSorted(([, a], [, b]) => b.length - a.length)[0] ?? [];
  assert.ok(account !== undefined);
  return account;
}

function tradesOf(accountId: number): TableRow<'trade'>[] {
  const own = loaded('trade').filter(({ t_ca_id }) => t_ca_id === accountId);
  return own.toSorted((a, b) => a.t_dts - b.t_dts || a.t_id - b.t_id);
}

function historyOf(tradeId: number): { time: number; statusId: string }[] {
  const own = loaded('trade_history').filter(({ th_t_id }) => th_t_id === tradeId);
  const sorted = own.toSorted((a, b) => a.th_dts - b.th_dts || (a.th_st_id < b.th_st_id ? -1 : 1));
  return sorted.map(({ th_dts, th_st_id }) => ({ time: th_dts, statusId: th_st_id }));
}

test('Trade-Status returns the trades of an account, newest first', async () => {
  const accountId = busiest();
  const { trades, ...names } = await tiny.run('tradeStatus', { accountId });
  const expected = tradesOf(accountId).toReversed();
  assert.deepEqual(
    trades.map(({ tradeId }) => tradeId),
    expected.map(({ t_id }) => t_id),
  );
  const account = loaded('customer_account').find(({ ca_id }) => ca_id === accountId);
  const customer = loaded('customer').find(({ c_id }) => c_id === account?.ca_c_id);
  assert.deepEqual(names, {
    customerFirstName: customer?.c_f_name,
    customerLastName: customer?.c_l_name,
    brokerName: tiny.population.roster.brokerName(0),
  });
  const security = loaded('security').find(({ s_symb }) => s_symb === expected[0]?.t_s_symb);
  const exchange = loaded('exchange').find(({ ex_id }) => ex_id === security?.s_ex_id);
  assert.deepEqual(
    [trades[0]?.statusName, trades[0]?.securityName, trades[0]?.exchangeName],
    ['Completed', security?.s_name, exchange?.ex_name],
  );
});

test('Customer-Position adds up each account, and returns the history of one', async () => {
  const busy = loaded('customer_account').find(({ ca_id }) => ca_id === busiest());
  const customer = loaded('customer').find(({ c_id }) => c_id === busy?.ca_c_id);
  assert.ok(busy !== undefined && customer !== undefined);
  const byId = await tiny.run('customerPosition', {
    customer: { id: customer.c_id },
    historyOf: null,
  });
  const prices = new Map(loaded('last_trade').map((row) => [row.lt_s_symb, row.lt_price]));
  const accounts = loaded('customer_account')
    .filter(({ ca_c_id }) => ca_c_id === customer.c_id)
    .map(({ ca_id, ca_bal }) => {
      const positions = loaded('holding_summary').filter(({ hs_ca_id }) => hs_ca_id === ca_id);
      const assets = positions.reduce(
        (sum, { hs_s_symb, hs_qty }) => sum + hs_qty * (prices.get(hs_s_symb) ?? 0),
        0,
      );
      return { accountId: ca_id, balance: ca_bal, assets };
    })
    .toSorted((a, b) => a.assets - b.assets || a.accountId - b.accountId);
  assert.deepEqual(byId.frame1.accounts, accounts);
  assert.equal(byId.frame2, null);

  const index = accounts.findIndex(({ accountId }) => accountId === busy.ca_id);
  const byTaxId = await tiny.run('customerPosition', {
    customer: { taxId: customer.c_tax_id },
    historyOf: accounts.length + index, // The index counts modulo the number of accounts.
  });
  assert.deepEqual(byTaxId.frame1, byId.frame1);
  const lines = tradesOf(busy.ca_id)
    .toReversed()
    .slice(0, 10)
    .flatMap((trade) =>
      historyOf(trade.t_id)
        .toReversed()
        .map((line) => ({ trade, line })),
    );
  assert.ok(lines.length > 10);
  assert.deepEqual(
    byTaxId.frame2?.map(({ tradeId, time }) => [tradeId, time]),
    lines.slice(0, 30).map(({ trade, line }) => [trade.t_id, line.time]),
  );
});

test('Market-Watch compares the value of a list with a past day', async () => {
  const { roster } = tiny.population;
  const day = roster.marketDays[3] ?? 0;
  const worth = (symbols: readonly string[]): unknown => {
    const securities = loaded('security').filter(({ s_symb }) => symbols.includes(s_symb));
    const now = new Map(loaded('last_trade').map((row) => [row.lt_s_symb, row.lt_price]));
    const onDay = loaded('daily_market').filter(({ dm_date }) => dm_date === day);
    const then = new Map(onDay.map((row) => [row.dm_s_symb, row.dm_close]));
    const sum = (prices: ReadonlyMap<string, number>): number =>
      securities.reduce((all, one) => all + one.s_num_out * (prices.get(one.s_symb) ?? 0), 0);
    return {
      symbols: securities.length,
      capitalizationNow: sum(now),
      capitalizationThen: sum(then),
    };
  };
  const customerId = roster.customerId(5);
  const list = loaded('watch_list').find(({ wl_c_id }) => wl_c_id === customerId);
  const watched = loaded('watch_item').filter(({ wi_wl_id }) => wi_wl_id === list?.wl_id);
  assert.deepEqual(
    await tiny.run('marketWatch', { list: { kind: 'watch list', customerId }, day }),
    worth(watched.map(({ wi_s_symb }) => wi_s_symb)),
  );
  const accountId = busiest();
  const held = loaded('holding_summary').filter(({ hs_ca_id }) => hs_ca_id === accountId);
  assert.deepEqual(
    await tiny.run('marketWatch', { list: { kind: 'account', accountId }, day }),
    worth(held.map(({ hs_s_symb }) => hs_s_symb)),
  );
  const [industry] = loaded('industry');
  const range = { firstCompanyId: roster.companyId(0), lastCompanyId: roster.companyId(40) };
  const companies = loaded('company').filter(
    ({ co_in_id, co_id }) => co_in_id === industry?.in_id && co_id <= range.lastCompanyId,
  );
  const ids = new Set(companies.map(({ co_id }) => co_id));
  const issued = loaded('security').filter(({ s_co_id }) => ids.has(s_co_id));
  const industryName = industry?.in_name ?? '';
  assert.ok(issued.length > 0);
  assert.deepEqual(
    await tiny.run('marketWatch', { list: { kind: 'industry', industryName, ...range }, day }),
    worth(issued.map(({ s_symb }) => s_symb)),
  );
});

test('Security-Detail finds company, competitors, quarters, days and news', async () => {
  const { roster } = tiny.population;
  const symbol = roster.symbol(7);
  const firstDay = roster.marketDays[2] ?? 0;
  const input = { symbol, firstDay, dayCount: 5, withNewsBodies: true };
  const detail = await tiny.run('securityDetail', input);
  const companyId = roster.companyId(roster.companyOf(7));
  const company = loaded('company').find(({ co_id }) => co_id === companyId);
  const address = loaded('address').find(({ ad_id }) => ad_id === company?.co_ad_id);
  const zipCode = loaded('zip_code').find(({ zc_code }) => zc_code === address?.ad_zc_code);
  assert.equal(detail.company.name, company?.co_name);
  assert.deepEqual(detail.company.address, {
    line1: address?.ad_line1,
    line2: address?.ad_line2,
    town: zipCode?.zc_town,
    division: zipCode?.zc_div,
    zipCode: zipCode?.zc_code,
    country: address?.ad_ctry,
  });
  const competitors = loaded('company_competitor').filter(({ cp_co_id }) => cp_co_id === companyId);
  const nameOf = (id: number): string => roster.companyName(id - roster.companyId(0));
  assert.deepEqual(
    detail.competitors.map(({ name }) => name),
    competitors.map(({ cp_comp_co_id }) => nameOf(cp_comp_co_id)),
  );
  assert.equal(detail.financials.length, 20);
  assert.deepEqual(
    detail.days.map(({ day }) => day),
    roster.marketDays.slice(2, 7),
  );
  const references = loaded('news_xref').filter(({ nx_co_id }) => nx_co_id === companyId);
  const items = loaded('news_item').filter(({ ni_id }) =>
    references.some(({ nx_ni_id }) => nx_ni_id === ni_id),
  );
  assert.deepEqual(
    detail.news.map(({ body }) => body),
    items.map(({ ni_item }) => ni_item),
  );
  const short = await tiny.run('securityDetail', { ...input, withNewsBodies: false });
  assert.deepEqual(
    short.news.map(({ body, headline }) => [body, headline]),
    items.map(({ ni_headline }) => ['', ni_headline]),
  );
});

test('Security-Detail returns no more than 20 quarters, 3 competitors and 2 news items', async () => {
  await using own = await tinyBrokerage();
  const { roster } = own.population;
  const companyId = roster.companyId(roster.companyOf(7));
  const [firstDay = 0] = roster.marketDays;
  const input = { symbol: roster.symbol(7), firstDay, dayCount: 5, withNewsBodies: true };
  const detail = await own.run('securityDetail', input);
  await own.percolator.transact(async (transaction) => {
    const rows = new RowWriter(transaction);
    for (const table of ['financial', 'company_competitor', 'news_xref'] as const) {
      const found = await rows.scan(table, [companyId]);
      rows.replaceGroup(table, [companyId], [...found, ...found]);
    }
  });
  const { financials, competitors, news } = detail;
  assert.deepEqual([financials.length, competitors.length, news.length], [20, 3, 2]);
  assert.deepEqual(await own.run('securityDetail', input), detail);
});

test('an account shows its 50 newest trades, the history of 10, and 20 changes of lots', async () => {
  await using own = await tinyBrokerage();
  const { tradeIds, status, history, lookedUp } = await listsAfterSales(own);
  const newest = tradeIds.toReversed();
  assert.ok(newest.length > 50);
  const idsOf = (list: readonly { readonly tradeId: number }[]): readonly number[] =>
    list.map(({ tradeId }) => tradeId);
  assert.deepEqual(idsOf(status), newest.slice(0, 50));
  // Each was submitted, and then completed.
  const lines = newest.slice(0, 10).flatMap((tradeId) => [tradeId, tradeId]);
  assert.deepEqual(idsOf(history ?? []), lines);
  assert.ok('changes' in lookedUp);
  assert.deepEqual(idsOf(lookedUp.changes), tradeIds.slice(0, 20));
});

test('Trade-Lookup selects by ids, by account, and by symbol', async () => {
  const { firstId } = tiny.population.roster.trades;
  // The second id belongs to an aborted trade.
  const ids = [firstId + 9, firstId + 100, firstId + 3];
  const byIds = await tiny.run('tradeLookup', { frame: 1, tradeIds: ids });
  assert.ok('trades' in byIds);
  assert.deepEqual(
    byIds.trades.map(({ tradeId }) => tradeId),
    [firstId + 9, firstId + 3],
  );
  const [one] = byIds.trades;
  const settlement = loaded('settlement').find(({ se_t_id }) => se_t_id === firstId + 9);
  assert.deepEqual(one?.history, historyOf(firstId + 9));
  assert.deepEqual(one.settlement?.amount, settlement?.se_amt);

  const accountId = busiest();
  const own = tradesOf(accountId);
  const window = { first: own[1]?.t_dts ?? 0, last: own.at(-2)?.t_dts ?? 0 };
  const inside = own.filter(({ t_dts }) => t_dts >= window.first && t_dts <= window.last);
  assert.ok(inside.length > 3);
  for (const tradesMax of [3, 1_000]) {
    const input = { frame: 2, accountId, tradesMax, ...window } as const;
    const byAccount = await tiny.run('tradeLookup', input);
    assert.ok('trades' in byAccount);
    assert.deepEqual(
      byAccount.trades.map(({ tradeId }) => tradeId),
      inside.slice(0, tradesMax).map(({ t_id }) => t_id),
    );
  }

  const symbol = own[0]?.t_s_symb ?? '';
  const ofSymbol = loaded('trade')
    .filter(({ t_s_symb, t_dts }) => t_s_symb === symbol && t_dts >= window.first)
    .toSorted((a, b) => a.t_dts - b.t_dts || a.t_id - b.t_id);
  const last = ofSymbol[4]?.t_dts ?? 0;
  const bySymbol = await tiny.run('tradeLookup', {
    frame: 3,
    symbol,
    first: window.first,
    last,
    tradesMax: 20,
  });
  assert.ok('trades' in bySymbol);
  assert.deepEqual(
    bySymbol.trades.map(({ tradeId }) => tradeId),
    ofSymbol.slice(0, 5).map(({ t_id }) => t_id),
  );
});

test('Trade-Lookup follows a trade to all changes of the lots that it touched', async () => {
  const byTrade = Map.groupBy(loaded('holding_history'), ({ hh_t_id }) => hh_t_id);
  const [tradeId, touched] = [...byTrade].toSorted(([, a], [, b]) => b.length - a.length)[0] ?? [];
  const trade = loaded('trade').find(({ t_id }) => t_id === tradeId);
  assert.ok(trade !== undefined && touched !== undefined && touched.length > 1);
  const found = await tiny.run('tradeLookup', {
    frame: 4,
    accountId: trade.t_ca_id,
    first: trade.t_dts,
  });
  const lots = new Set(touched.map(({ hh_h_t_id }) => hh_h_t_id));
  const expected = loaded('holding_history').filter(({ hh_h_t_id }) => lots.has(hh_h_t_id));
  assert.ok('changes' in found);
  assert.equal(found.tradeId, tradeId);
  assert.deepEqual(
    found.changes.map((change) => [change.lotId, change.tradeId, change.after]),
    expected.slice(0, 20).map((row) => [row.hh_h_t_id, row.hh_t_id, row.hh_after_qty]),
  );
  const nothing = { frame: 4, accountId: trade.t_ca_id, first: tiny.now } as const;
  assert.deepEqual(await tiny.run('tradeLookup', nothing), { tradeId: null, changes: [] });
});

for (const layout of ['small', 'large'] as const) {
  test(`Broker-Volume adds up the limit orders of a sector, in the ${layout} layout`, async () => {
    await using own = await tinyBrokerage({ layout });
    const { roster } = own.population;
    const sectorName = 'Energy';
    const sector = loaded('sector').find(({ sc_name }) => sc_name === sectorName)?.sc_id;
    const industries = loaded('industry').filter(({ in_sc_id }) => in_sc_id === sector);
    const isInSector = (security: number): boolean => {
      const company = loaded('company')[roster.companyOf(security)];
      return industries.some(({ in_id }) => in_id === company?.co_in_id);
    };
    let volume = 0;
    for (let i = 0; i < roster.securities; i++) {
      const order = orderOf(own, {
        accountId: roster.accountIds(i)[0] ?? 0,
        symbol: roster.symbol(i),
        tradeTypeId: 'TLB',
        requestedPrice: 2_001 + i,
        quantity: 200,
      });
      await own.run('tradeOrder', order);
      if (isInSector(i)) volume += 200 * (2_001 + i);
    }
    const brokerName = roster.brokerName(0);
    const brokerNames = ['Unknown', brokerName];
    assert.ok(volume > 0);
    assert.deepEqual(await own.run('brokerVolume', { brokerNames, sectorName }), {
      volumes: [{ brokerName, volume }],
    });
    assert.deepEqual(await own.run('brokerVolume', { brokerNames: ['Unknown'], sectorName }), {
      volumes: [],
    });
  });
}

test('Broker-Volume reads no more rows after many orders that came and went', async () => {
  await using own = await tinyBrokerage();
  const { roster } = own.population;
  const limit = { accountId: roster.accountIds(0)[0] ?? 0, symbol: roster.symbol(0) };
  const comeAndGo = async (): Promise<void> => {
    const order = orderOf(own, { ...limit, tradeTypeId: 'TLB', requestedPrice: 2_400 });
    await own.run('tradeOrder', order);
    const entries = [{ symbol: limit.symbol, price: 2_390, quantity: 100 }];
    const { triggered } = await own.run('marketFeed', { entries, now: own.now });
    assert.equal(triggered.length, 1);
  };
  const rowsRead = async (): Promise<number> => {
    const before = own.percolator.counters.readRows;
    for (const { sc_name: sectorName } of loaded('sector')) {
      await own.run('brokerVolume', { brokerNames: [roster.brokerName(0)], sectorName });
    }
    return own.percolator.counters.readRows - before;
  };
  await comeAndGo();
  const afterOne = await rowsRead();
  for (let i = 0; i < 20; i++) await comeAndGo();
  assert.equal(await rowsRead(), afterOne);
});
