/** The table of bench:notify-latency in a store that other runs use, too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPercolator, openStore } from '#engine';
import { emulatorOrReason } from '../../harness/testing/emulator.ts';
import { measureNotifications } from './measure.ts';
import { cellOf, COLUMN, TABLE } from './table.ts';

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
