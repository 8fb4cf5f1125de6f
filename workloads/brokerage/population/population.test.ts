/**
 * The claims of the population: counts by the rules, randomness by the seed, and consistent trades.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describe, TABLE_NAMES, type TableName } from '../model/tables.ts';
import { TINY } from '../model/scale.ts';
import { createMarket } from './market-rows.ts';
import { createPopulation } from './population.ts';

const population = createPopulation(TINY, 1);
const { roster } = population;

test('every row has the columns of its table, of their types, in the order of the key', () => {
  for (const table of TABLE_NAMES) {
    const { columns, primaryKey } = describe(table);
    let previous: Record<string, unknown> | undefined;
    for (const row of population.rows(table)) {
      const values: Record<string, unknown> = row;
      assert.deepEqual(Object.keys(values).toSorted(), Object.keys(columns).toSorted());
      for (const [column, type] of Object.entries(columns)) {
        assert.ok(isOfType(values[column], type), `${table}.${column}: ${String(values[column])}`);
      }
      if (previous !== undefined) assert.ok(isBefore(previous, values, primaryKey), table);
      previous = values;
    }
  }
});

test('the same seed returns the same rows, another seed others', () => {
  const again = createPopulation(TINY, 1);
  const other = createPopulation(TINY, 2);
  for (const table of ['trade', 'holding', 'customer', 'daily_market'] as const) {
    const rows = [...population.rows(table)];
    assert.deepEqual([...again.rows(table)], rows);
    assert.notDeepEqual([...other.rows(table)], rows);
  }
});

test('the revenue of a quarter does not follow from the shares of a company', () => {
  const rows = [...population.rows('financial')];
  const quarters = rows.filter(({ fi_co_id }) => fi_co_id === rows[0]?.fi_co_id);
  const companies = rows.filter((_, i) => i % quarters.length === 0);
  // Both are drawn by seed and index, so in one lane their fractions at one index would be equal.
  quarters.forEach(({ fi_revenue }, i) => {
    const shares = companies[i]?.fi_out_basic ?? 0;
    const apart = Math.abs((fi_revenue - 1_000_000) / 1e11 - (shares - 1_000_000) / 1e9);
    assert.ok(apart > 1e-8, `${i}: ${fi_revenue} and ${shares}`);
  });
});

test('counts follow from the customers', () => {
  const count = (table: TableName): number => [...population.rows(table)].length;
  assert.equal(count('customer'), 100);
  assert.equal(count('broker'), 1);
  assert.equal(count('company'), 50);
  assert.equal(count('security'), 68);
  assert.equal(count('financial'), 1_000);
  assert.equal(count('daily_market'), 680);
  assert.equal(count('taxrate'), 320);
  assert.equal(count('industry'), 102);
  assert.equal(count('commission_rate'), 240);
  const accounts = createPopulation({ ...TINY, customers: 2_000 }, 1).rows('customer_account');
  assert.equal([...accounts].length, 10_000);
});

test('of the initial trades exactly the aborted ones are missing, one of 101', () => {
  const { firstId, lastId, isAborted } = roster.trades;
  const ids = new Set([...population.rows('trade')].map(({ t_id }) => t_id));
  for (let id = firstId; id <= lastId; id++) assert.equal(ids.has(id), !isAborted(id));
  assert.equal(ids.size, 1_440 - 14);
});

test('trades are completed before the run begins, and their costs are settled', () => {
  const trades = [...population.rows('trade')];
  const settlements = new Map([...population.rows('settlement')].map((row) => [row.se_t_id, row]));
  for (const trade of trades) {
    assert.ok(trade.t_dts <= roster.trades.endMs);
    const price = trade.t_trade_price ?? 0;
    const sign = trade.t_tt_id === 'TMB' || trade.t_tt_id === 'TLB' ? -1 : 1;
    const gross = trade.t_qty * price - sign * (trade.t_chrg + trade.t_comm);
    const amount = settlements.get(trade.t_id)?.se_amt ?? 0;
    assert.ok([0, trade.t_tax].includes(gross * sign - amount), JSON.stringify(trade));
  }
  assert.ok(trades.some(({ t_tax }) => t_tax > 0));
});

test('a part of a day ends at a whole millisecond', () => {
  const { roster: third } = createPopulation({ ...TINY, initialTradeDays: 0.333_333_3 }, 1);
  assert.ok(Number.isSafeInteger(third.trades.endMs), `${third.trades.endMs}`);
});

test('positions are the result of the trades', () => {
  const expected = new Map<string, number>();
  const add = (key: string, quantity: number): void => {
    const sum = (expected.get(key) ?? 0) + quantity;
    if (sum === 0) expected.delete(key);
    else expected.set(key, sum);
  };
  for (const trade of population.rows('trade')) {
    const sign = trade.t_tt_id === 'TMB' || trade.t_tt_id === 'TLB' ? 1 : -1;
    add(`${trade.t_ca_id} ${trade.t_s_symb}`, sign * trade.t_qty);
  }
  const positions = [...population.rows('holding_summary')];
  const found = positions.map((row) => [`${row.hs_ca_id} ${row.hs_s_symb}`, row.hs_qty] as const);
  assert.deepEqual(new Map(found), expected);
});

test('the executor of each trade has a permission', () => {
  for (const trade of population.rows('trade')) {
    const names = roster.permissions(trade.t_ca_id).map((p) => `${p.ap_f_name} ${p.ap_l_name}`);
    assert.ok(names.includes(trade.t_exec_name));
  }
});

test('another person than the owner places a tenth of the trades', () => {
  const trades = [...createPopulation({ ...TINY, customers: 2_000 }, 1).rows('trade')];
  const ownerOf = (trade: (typeof trades)[number]): string => {
    const [owner] = roster.permissions(trade.t_ca_id);
    return `${owner?.ap_f_name} ${owner?.ap_l_name}`;
  };
  const others = trades.filter((trade) => trade.t_exec_name !== ownerOf(trade));
  const share = others.length / trades.length;
  assert.ok(share > 0.09 && share < 0.11, `${share} of ${trades.length} trades`);
});

test('a stop-loss is traded at the price of its moment, as by the exchange', () => {
  const market = createMarket(TINY.pricePeriodMs);
  const indexes = Array.from({ length: roster.securities }, (_, i) => i);
  const indexOf = new Map(indexes.map((index) => [roster.symbol(index), index]));
  const trades = [...population.rows('trade')].filter(({ t_tt_id }) => t_tt_id === 'TSL');
  for (const { t_s_symb, t_trade_price, t_dts } of trades) {
    assert.equal(t_trade_price, market.price(indexOf.get(t_s_symb) ?? 0, t_dts));
  }
  assert.ok(trades.length > 100, `${trades.length} trades`);
});

test('tax ids, symbols and names of companies and brokers are unique', () => {
  const large = createPopulation({ ...TINY, customers: 20_000 }, 1).roster;
  const differ = (count: number, name: (i: number) => string): void => {
    assert.equal(new Set(Array.from({ length: count }, (_, i) => name(i))).size, count);
  };
  differ(large.customers, (i) => large.customer(i).c_tax_id);
  differ(large.securities, large.symbol);
  differ(large.companies, large.companyName);
  differ(large.brokers, large.brokerName);
  const largest = createPopulation({ ...TINY, customers: 1_000_000 }, 1).roster;
  differ(largest.securities, largest.symbol);
});

test('a price is reached at the first moment, and not before', () => {
  const market = createMarket(7_778);
  let later = 0;
  for (let i = 0; i < 2_000; i++) {
    const fromMs = 1_000_000 + i * 137;
    const security = i % 50;
    const price = 2_000 + ((i * 37) % 1_001);
    const direction = i % 2 === 0 ? 'at most' : 'at least';
    const reached = (timeMs: number): boolean => {
      const now = market.price(security, timeMs);
      return direction === 'at most' ? now <= price : now >= price;
    };
    const moment = market.reaches(security, { direction, price }, fromMs);
    assert.ok(reached(moment));
    assert.ok(moment - fromMs <= market.pricePeriodMs);
    if (moment === fromMs) continue;
    assert.ok(!reached(moment - 1));
    later++;
  }
  assert.ok(later > 500, `${later} prices were reached later`);
});

test('an impossible scale is refused in one sentence', () => {
  for (const wrong of [{ customers: 150 }, { customers: 0 }, { pricePeriodMs: 7_777 }]) {
    assert.throws(() => createPopulation({ ...TINY, ...wrong }, 1), {
      code: 'INVALID_ARGUMENT',
      message: /^(?:customers|the period of prices) must be [^.\n]+, not \d+$/,
    });
  }
});

function isOfType(value: unknown, type: string): boolean {
  if (value === null) return type.endsWith('?');
  if (type.startsWith('text')) return typeof value === 'string';
  if (type.startsWith('boolean')) return typeof value === 'boolean';
  return Number.isSafeInteger(value);
}

function isBefore(
  a: Readonly<Record<string, unknown>>,
  b: Readonly<Record<string, unknown>>,
  key: readonly string[],
): boolean {
  const column = key.find((name) => a[name] !== b[name]);
  if (column === undefined) return false;
  return (a[column] as string | number) < (b[column] as string | number);
}
