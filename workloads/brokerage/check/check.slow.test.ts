/**
 * The claims of the checks: a fresh population passes, and each planted mistake breaks exactly the
 * conditions that are listed with it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TableRow, TableName, TableReader } from '../model/tables.ts';
import { TINY } from '../model/scale.ts';
import { createPopulation } from '../population/population.ts';
import { checkBrokerage, type CheckOptions } from './check.ts';
import type { Condition } from './facts.ts';

const population = createPopulation(TINY, 1);
const { lastId } = population.roster.trades;

type WritableRow<T extends TableName> = { -readonly [C in keyof TableRow<T>]: TableRow<T>[C] };
interface TestTables {
  <T extends TableName>(table: T): WritableRow<T>[];
}

/** Copies of the population's rows, for tests to corrupt. */
function copies(): { readonly tables: TestTables; readonly reader: TableReader } {
  const known = new Map<TableName, unknown[]>();
  const tables = <T extends TableName>(table: T): WritableRow<T>[] => {
    const rows = known.get(table) ?? structuredClone([...population.rows(table)]);
    known.set(table, rows);
    return rows as WritableRow<T>[];
  };
  const reader: TableReader = {
    rows: async function* <T extends TableName>(table: T) {
      yield* tables(table) as readonly TableRow<T>[];
    },
  };
  return { tables, reader };
}

async function conditionsAfter(
  spoil: (tables: TestTables) => void,
  options: Partial<CheckOptions> & { readonly brokerUpdate?: 'omit' | 'inline' } = {},
): Promise<readonly Condition[]> {
  const { tables, reader } = copies();
  spoil(tables);
  const { brokerUpdate = 'inline', ...rest } = options;
  const report = await checkBrokerage(
    { tables: reader, brokerUpdate, settled: async () => {} },
    { population, isDrained: true, ...rest },
  );
  assert.equal(report.findings.length > 0, report.broken > 0);
  return [...new Set(report.findings.map(({ condition }) => condition))];
}

test('a loaded population passes', async () => {
  assert.deepEqual(await conditionsAfter(() => {}), []);
});

const MISTAKES: readonly (readonly [string, readonly Condition[], (tables: TestTables) => void])[] =
  [
    [
      'a trade the broker did not count',
      ['broker trades'],
      (t) => first(t('broker')).b_num_trades--,
    ],
    ['a broker that is gone', ['broker trades'], (t) => t('broker').shift()],
    [
      'lots that a missing trade has opened and closed',
      ['trades have moved lots'],
      (t) => {
        const [hh_h_t_id, other] = [lastId + 1, lastId + 2];
        t('holding_history').push(
          { hh_h_t_id, hh_t_id: hh_h_t_id, hh_before_qty: 0, hh_after_qty: 100 },
          { hh_h_t_id, hh_t_id: other, hh_before_qty: 100, hh_after_qty: 0 },
        );
      },
    ],
    [
      'a cent the broker did not get',
      ['broker commission'],
      (t) => first(t('broker')).b_comm_total--,
    ],
    [
      'a position that lost a share',
      ['positions are their lots', 'positions are their trades'],
      (t) => first(t('holding_summary')).hs_qty--,
    ],
    [
      'a position without a row',
      ['positions are their lots', 'positions are their trades'],
      (t) => t('holding_summary').shift(),
    ],
    [
      'a position of 0 shares',
      ['positions are their lots'],
      (t) => t('holding_summary').push({ hs_ca_id: 1, hs_s_symb: 'AAAA', hs_qty: 0 }),
    ],
    [
      'a lot of 0 shares in a position of 0',
      ['positions are their lots'],
      (t) => {
        const { hh_h_t_id: closed } = at(t('holding_history'), closingChange(t));
        t('holding').push({ ...lotOfAAAA(t), h_t_id: closed, h_qty: 0 });
      },
    ],
    [
      'lots that add up to a position of 0',
      ['positions are their lots', 'lots are their history'],
      (t) => {
        t('holding').push({ ...lotOfAAAA(t), h_t_id: 1, h_qty: 100 });
        t('holding').push({ ...lotOfAAAA(t), h_t_id: 2, h_qty: -100 });
      },
    ],
    [
      'a lot that lost a share',
      ['positions are their lots', 'lots are their history'],
      (t) => first(t('holding')).h_qty--,
    ],
    [
      'a lot that should be gone',
      ['positions are their lots', 'lots are their history'],
      (t) => t('holding').push({ ...first(t('holding')), h_t_id: 1 }),
    ],
    [
      'a change of a lot that was not recorded',
      ['lots are their history', 'trades have moved lots'],
      (t) => t('holding_history').splice(closingChange(t), 1),
    ],
    [
      'a change that found shares that were not there',
      ['lots are their history', 'trades have moved lots'],
      (t) => (at(t('holding_history'), closingChange(t)).hh_before_qty += 1),
    ],
    [
      'a lot that passed zero instead of being closed',
      ['positions are their lots', 'lots are their history', 'trades have moved lots'],
      (t) => {
        const change = at(t('holding_history'), closingChange(t));
        change.hh_after_qty = -Math.sign(change.hh_before_qty);
        const lot = { h_t_id: change.hh_h_t_id, h_qty: change.hh_after_qty };
        t('holding').push({ ...first(t('holding')), ...lot });
      },
    ],
    [
      'a trade that moved fewer shares than it has',
      ['positions are their trades', 'trades have moved lots', 'settlements'],
      (t) => (first(t('trade')).t_qty += 100),
    ],
    ['a history without completion', ['trade status'], (t) => t('trade_history').shift()],
    [
      'a history of a trade that does not exist',
      ['trade status'],
      (t) => t('trade_history').push({ th_t_id: 1, th_st_id: 'SBMT', th_dts: 1 }),
    ],
    [
      'a trade that stayed submitted',
      ['trade status'],
      (t) => {
        t('trade').push({ ...first(t('trade')), t_id: lastId + 1, t_st_id: 'SBMT' });
        t('trade_history').push(...historyOf(t, lastId + 1, ['SBMT']));
      },
    ],
    [
      'a canceled trade whose history does not say so',
      ['trade status'],
      (t) => {
        t('trade').push({ ...first(t('trade')), t_id: lastId + 1, t_st_id: 'CNCL' });
        t('trade_history').push(...historyOf(t, lastId + 1, ['SBMT']));
      },
    ],
    [
      'a pending order without a request',
      ['trade status'],
      (t) => {
        t('trade').push({ ...limitOrder(t), t_id: lastId + 1, t_st_id: 'PNDG' });
        t('trade_history').push({ th_t_id: lastId + 1, th_st_id: 'PNDG', th_dts: 1 });
      },
    ],
    [
      'a request for a completed trade',
      ['trade status'],
      (t) => {
        const { t_id, t_s_symb, t_qty } = limitOrder(t);
        const request = { tr_t_id: t_id, tr_tt_id: 'TLB', tr_s_symb: t_s_symb, tr_qty: t_qty };
        t('trade_request').push({ ...request, tr_bid_price: 1, tr_b_id: 1 });
      },
    ],
    ['a trade that was not settled', ['settlements'], (t) => t('settlement').shift()],
    ['a settlement that is a cent off', ['settlements'], (t) => first(t('settlement')).se_amt++],
    ['cash that is a cent off', ['settlements'], (t) => first(t('cash_transaction')).ct_amt++],
    ['cash that did not move', ['settlements'], (t) => t('cash_transaction').shift()],
    ['a cent from nowhere', ['balances'], (t) => first(t('customer_account')).ca_bal++],
    [
      'an account that is gone',
      ['balances'],
      (t) => {
        const traded = new Set(t('trade').map(({ t_ca_id }) => t_ca_id));
        const idle = t('customer_account').findIndex(({ ca_id }) => !traded.has(ca_id));
        assert.ok(idle >= 0);
        t('customer_account').splice(idle, 1);
      },
    ],
  ];

for (const [mistake, conditions, spoil] of MISTAKES) {
  test(`finds ${mistake}`, async () => {
    assert.deepEqual(await conditionsAfter(spoil), conditions);
  });
}

test('trades may be in flight while a run is not drained', async () => {
  const spoil = (t: TestTables): void => {
    t('trade').push({ ...first(t('trade')), t_id: lastId + 1, t_st_id: 'SBMT' });
    t('trade_history').push(...historyOf(t, lastId + 1, ['SBMT']));
  };
  assert.deepEqual(await conditionsAfter(spoil, { isDrained: false }), []);
});

test("the paper's variant may leave brokers unchanged", async () => {
  const spoil = (t: TestTables): void => void first(t('broker')).b_num_trades--;
  assert.deepEqual(await conditionsAfter(spoil, { brokerUpdate: 'omit' }), []);
});

test('finds an acknowledged trade that is missing, and one trade too many', async () => {
  const check = (acknowledged: number): Promise<readonly Condition[]> =>
    conditionsAfter(() => {}, { tradeResults: { acknowledged, inFlightMax: 2 } });
  assert.deepEqual(await check(1), ['acknowledged trades']);
  assert.deepEqual(await check(0), []);
  const extra = (t: TestTables): void => completeThree(t);
  const options = { tradeResults: { acknowledged: 0, inFlightMax: 2 } };
  assert.ok((await conditionsAfter(extra, options)).includes('acknowledged trades'));
});

/** Three new trades, one more than may be in flight, as rows without consequences. */
function completeThree(t: TestTables): void {
  const [settlement] = t('settlement');
  for (let i = 1; i <= 3; i++) {
    t('trade').push({ ...first(t('trade')), t_id: lastId + i });
    if (settlement !== undefined) t('settlement').push({ ...settlement, se_t_id: lastId + i });
  }
}

function first<R>(rows: readonly R[]): R {
  return at(rows, 0);
}

function at<R>(rows: readonly R[], i: number): R {
  const row = rows[i];
  assert.ok(row !== undefined);
  return row;
}

/** A lot of an account that has no position in this security. */
function lotOfAAAA(t: TestTables): WritableRow<'holding'> {
  return { ...first(t('holding')), h_ca_id: 1, h_s_symb: 'AAAA' };
}

/** Returns the index of a change that has closed a lot. */
function closingChange(t: TestTables): number {
  const i = t('holding_history').findIndex(
    ({ hh_after_qty, hh_before_qty }) => hh_before_qty !== 0 && hh_after_qty === 0,
  );
  assert.ok(i >= 0);
  return i;
}

function limitOrder(t: TestTables): WritableRow<'trade'> {
  const order = t('trade').find(({ t_tt_id }) => t_tt_id === 'TLB');
  assert.ok(order !== undefined);
  return order;
}

/** Adds PNDG if the first trade is a limit order: copies of it are limit orders, too. */
function historyOf(
  t: TestTables,
  tradeId: number,
  statuses: string[],
): WritableRow<'trade_history'>[] {
  const isMarket = first(t('trade')).t_tt_id.startsWith('TM');
  const all = isMarket ? statuses : ['PNDG', ...statuses];
  return all.map((th_st_id) => ({ th_t_id: tradeId, th_st_id, th_dts: 1 }));
}
