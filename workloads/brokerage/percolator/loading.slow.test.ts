/**
 * The claims of the loader: it writes exactly the population, with its indexes, as consistent as
 * after a run. The claims of the check of indexes: it finds each planted mistake.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { CellAddress } from '#engine';
import { checkBrokerage } from '../check/check.ts';
import { describe, TABLE_NAMES } from '../model/tables.ts';
import { countDown, encodeKey, encodePrices } from './encoding.ts';
import { cellAt, closesCell, copyAt, pathsOf, sectorCell, underSector } from './layout.ts';
import { checkIndexes } from './check-indexes.ts';
import { RowWriter } from './rows.ts';
import { orderOf, tinyBrokerage } from './tiny-brokerage.fixture.ts';

const tiny = await tinyBrokerage();
after(() => tiny[Symbol.asyncDispose]());

test('every table holds the rows of the population', async () => {
  for (const table of TABLE_NAMES) {
    const found = await tiny.rows(table);
    const expected = [...tiny.population.rows(table)];
    const key = (row: Readonly<Record<string, unknown>>): string =>
      JSON.stringify(describe(table).primaryKey.map((column) => row[column]));
    const byKey = new Map(found.map((row) => [key(row), row]));
    assert.equal(found.length, expected.length, table);
    for (const row of expected) assert.deepEqual(byKey.get(key(row)), row);
  }
});

test('the order of keys is the order of numbers, and the reverse of it if they are counted down', () => {
  const numbers = [0, 9, 10, 35, 36, 1_000, 4_300_000_001, 200_000_000_000_001];
  const keys = numbers.map((number) => encodeKey([number, 'A']));
  assert.deepEqual(keys.toSorted(), keys);
  const reversed = numbers.map((number) => encodeKey([countDown(number), 'A']));
  assert.deepEqual(reversed.toSorted(), reversed.toReversed());
});

test('a loaded population breaks no condition', async () => {
  const { brokerage, population, percolator } = tiny;
  const report = await checkBrokerage(brokerage, {
    population,
    isDrained: true,
    tradeResults: { acknowledged: 0, inFlightMax: 0 },
  });
  assert.deepEqual(report, { findings: [], broken: 0, trades: 1_426 });
  assert.deepEqual(await checkIndexes(percolator), []);
});

test('finds an index entry that is missing, wrong or superfluous', async () => {
  const { percolator } = tiny;
  const [path] = pathsOf('trade', 'small');
  const [customer] = pathsOf('customer', 'small');
  assert.ok(path !== undefined && customer !== undefined);
  await percolator.transact(async (transaction) => {
    const scan = transaction.scan({ table: path.table, columns: ['entry'] });
    for await (const { row } of scan) {
      transaction.delete({ table: path.table, row, column: 'entry' });
      break;
    }
    transaction.set({ table: path.table, row: 'a/b/c', column: 'entry' }, '[]');
    for await (const { row } of transaction.scan({ table: customer.table, columns: ['entry'] })) {
      transaction.set({ table: customer.table, row, column: 'entry' }, 'elsewhere');
      break;
    }
  });
  const findings = await checkIndexes(percolator);
  assert.deepEqual(
    findings.map(({ message }) => message.replace(/^(\S+) entry \S+ (has|is|leads).*$/u, '$1 $2')),
    ['customer.by_tax_id: has', 'trade.by_account: leads', 'trade.by_account: is'],
  );
});

test('finds a security that has a wrong sector, and a request that is stored under a wrong sector', async () => {
  await using own = await tinyBrokerage();
  const { percolator, population } = own;
  const [symbol, other] = [population.roster.symbol(0), population.roster.symbol(1)];
  const request = {
    tr_t_id: own.nextTradeId(),
    tr_tt_id: 'TLB',
    tr_s_symb: other,
    tr_qty: 100,
    tr_bid_price: 2_000,
    tr_b_id: 1,
  };
  await percolator.transact(async (transaction) => {
    transaction.set(sectorCell(symbol), 'XX');
    new RowWriter(transaction).changeGroup('trade_request', [], [underSector(request, 'XX')]);
  });
  const [sector, place, ...others] = (await checkIndexes(percolator)).map(({ message }) => message);
  assert.match(sector ?? '', new RegExp(`^${symbol} has sector XX, not S\\d\\d$`, 'u'));
  assert.match(
    place ?? '',
    new RegExp(`^a request of S\\d\\d/${other} is stored at XX/${other}$`, 'u'),
  );
  assert.deepEqual(others, []);
});

test('finds lots of a trade that are wrong or missing', async () => {
  await using own = await tinyBrokerage();
  const { percolator, population } = own;
  const [first = 0, second = 0] = [...population.rows('trade')].map(({ t_id }) => t_id);
  const lots = await percolator.transact(async (transaction) => {
    const rows = new RowWriter(transaction);
    const records = await rows.trades([first, second]);
    const [one, other] = records;
    assert.ok(one !== undefined && other !== undefined);
    rows.updateTrade(one, { ...one, lots: [] });
    rows.updateTrade(other, { ...other, lots: [1, ...other.lots] });
    return records.map((record) => record.lots);
  });
  assert.deepEqual(
    (await checkIndexes(percolator)).map(({ message }) => message),
    [
      `trade ${first} has changed the lots [], not [${lots[0]?.join(', ')}]`,
      `trade ${second} has changed the lots [${[1, ...(lots[1] ?? [])].join(', ')}], not [${lots[1]?.join(', ')}]`,
    ],
  );
});

test('a missing trade that should exist fails a transaction; a missing one that a customer asks for does not', async () => {
  await using own = await tinyBrokerage();
  const { firstId } = own.population.roster.trades;
  const missing = own.nextTradeId();
  await own.percolator.transact(async (transaction) => {
    const rows = new RowWriter(transaction);
    await assert.rejects(rows.trades([firstId, missing]), /trade has t_id/u);
    await assert.rejects(rows.trade(missing), /trade has t_id/u);
  });
  const found = await own.run('tradeLookup', { frame: 1, tradeIds: [missing, firstId] });
  const ids = 'trades' in found ? found.trades.map(({ tradeId }) => tradeId) : [];
  assert.deepEqual(ids, [firstId]);
});

test('finds a closing price that is wrong, missing or superfluous', async () => {
  await using own = await tinyBrokerage();
  const { percolator, population } = own;
  const [day = 0] = population.roster.marketDays;
  const [first, second, ...others] = (await own.rows('daily_market')).filter(
    ({ dm_date }) => dm_date === day,
  );
  assert.ok(first !== undefined && second !== undefined);
  const on = new Date(day).toISOString().slice(0, 10);
  const planted: Record<string, number> = { [first.dm_s_symb]: 1, AAAAA: 2 };
  for (const { dm_s_symb, dm_close } of others) planted[dm_s_symb] = dm_close;
  await percolator.transact(async (transaction) => {
    transaction.set(closesCell(day), encodePrices(planted));
  });
  assert.deepEqual(
    (await checkIndexes(percolator)).map(({ message }) => message),
    [
      `${first.dm_s_symb} closed at 1 on ${on}, not ${first.dm_close}`,
      `${second.dm_s_symb} closed at undefined on ${on}, not ${second.dm_close}`,
      `AAAAA closed at 2 on ${on}, not undefined`,
    ],
  );
});

test('finds a request that is missing among those of its broker, and copies that are not alike', async () => {
  await using own = await tinyBrokerage({ layout: 'large' });
  const { percolator, population } = own;
  assert.deepEqual(await checkIndexes(percolator, 'large'), []);
  const accountId = population.roster.accountIds(0)[0] ?? 0;
  const limit = { accountId, symbol: population.roster.symbol(0), tradeTypeId: 'TLB' } as const;
  await own.run('tradeOrder', orderOf(own, { ...limit, requestedPrice: 2_000 }));
  const [byBroker] = pathsOf('trade_request', 'large');
  assert.ok(byBroker !== undefined);
  await percolator.transact(async (transaction) => {
    const range = { table: byBroker.table, columns: ['entry'] };
    const entries = await Array.fromAsync(transaction.scan(range));
    assert.equal(entries.length, 1);
    for (const { row } of entries) {
      transaction.delete({ table: byBroker.table, row, column: 'entry' });
    }
    const copy = (id: string): CellAddress => copyAt(cellAt('trade_type', [id]), 3, 8);
    transaction.delete(copy('TLB'));
    transaction.set(copy('TMB'), '["TMB","another",0,1]');
  });
  const messages = (await checkIndexes(percolator, 'large')).map(({ message }) => message);
  assert.match(messages[0] ?? '', /^trade_request\.by_broker: entry \S+ is missing$/u);
  assert.deepEqual(messages.slice(1), [
    'trade_type: TLB has 7 copies of 1 kinds',
    'trade_type: TMB has 8 copies of 2 kinds',
  ]);
});
