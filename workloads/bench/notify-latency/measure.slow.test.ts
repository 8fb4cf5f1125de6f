/**
 * bench:notify-latency in a store that other runs use, too; its findings state no number that rests
 * on too few writes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPercolator, openStore } from '#engine';
import { createLatencyHistogram, type Histogram } from '#results';
import { emulatorOrReason } from '../../harness/testing/emulator.ts';
import {
  cellOf,
  COLUMN,
  findingsOf,
  measureNotifications,
  type RateResult,
  TABLE,
} from './measure.ts';

const ENGINE = {
  batching: 'off',
  batchDelay: 1,
  batchRows: 256,
  batchInFlight: 8,
  prefetch: 'off',
  scanners: 1,
} as const;

test('a run is not disturbed by what a killed run left, and leaves no table itself', async (t) => {
  const emulator = await emulatorOrReason();
  if (typeof emulator === 'string') return t.skip(emulator);
  await using _ = emulator;
  const at = { kind: 'emulator', address: emulator.address } as const;
  await using store = await openStore(at);
  {
    await using percolator = await openPercolator({ store });
    await percolator.createTable(TABLE, { observedColumns: [COLUMN] });
    await percolator.transact(async (transaction) => transaction.set(cellOf(0), 'left'));
  }
  const plan = { store: at, rates: [100], seconds: 0.2, idleSeconds: 0.1, engine: ENGINE };
  const { signal } = new AbortController();
  const { rates } = await measureNotifications(plan, signal, () => {});
  assert.deepEqual(
    rates.map(({ fromDue }) => fromDue.totalCount),
    [20],
  );
  const tables = await store.listTables();
  assert.deepEqual(
    tables.filter((table) => table.startsWith(TABLE)),
    [],
  );
});

function rateWith(writes: number): RateResult {
  const [fromDue, fromCommit, commit] = [0, 1, 2].map(() => {
    const histogram = createLatencyHistogram();
    for (let i = 1; i <= writes; i++) histogram.recordValue(1_000 * i);
    return histogram;
  }) as [Histogram, Histogram, Histogram];
  return { perSecond: writes / 10, fromDue, fromCommit, commit, lagP99Ms: 1 };
}

test('a percentile other than the median needs a hundred writes, and a headline thirty', () => {
  const rates = [rateWith(29), rateWith(30), rateWith(100)];
  const { headline, tables, charts } = findingsOf(
    { rates, idlePercent: 0.5, idleSeconds: 15 },
    'embedded',
  );
  assert.match(
    headline,
    /median: 15\.\d ms at 3 per second \(30 writes\), 50\.\d ms at 10 .*100 writes/,
  );
  assert.ok(!headline.includes('29 writes'));

  const { columns = [], rows = [] } = tables[0] ?? {};
  const column = (name: string): readonly unknown[] =>
    rows.map((row) => row[columns.indexOf(name)]);
  assert.deepEqual(column('writes'), [29, 30, 100]);
  for (const name of ['p90', 'p99', 'lag p99']) {
    assert.deepEqual(
      column(name).map((value) => value === null),
      [true, true, false],
      name,
    );
  }
  const [median, p99] = charts[0]?.series ?? [];
  assert.deepEqual(
    median?.points.map(({ samples }) => samples),
    [29, 30, 100],
  );
  assert.deepEqual(
    p99?.points.map(({ samples }) => samples),
    [100],
  );
});

test('without enough writes the headline has no number, and the chart no 99th percentile', () => {
  const { headline, charts } = findingsOf(
    { rates: [rateWith(8)], idlePercent: 0.5, idleSeconds: 15 },
    'embedded',
  );
  assert.match(headline, /median: none, because no rate had 30 writes/);
  assert.deepEqual(
    charts[0]?.series.map(({ name }) => name),
    ['median'],
  );
});

test('a target rests on the writes of the rate that has the fewest, and on half seconds of idleness', () => {
  const measured = { rates: [rateWith(100), rateWith(1)], idlePercent: 0.5, idleSeconds: 0.5 };
  const samplesOf = (idleSeconds: number): readonly unknown[] =>
    findingsOf({ ...measured, idleSeconds }, 'embedded').targets.map(({ samples }) => samples);
  assert.deepEqual(samplesOf(0.5), [1, 1]);
  assert.deepEqual(samplesOf(15), [1, 30]);
});
