/**
 * The claims of an observed store: the listener hears of cells before they are erased, and nothing
 * is missing.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPercolator } from '../../../engine/percolator.ts';
import type { Bigtable } from '../../../engine/bigtable/index.ts';
import {
  observeCollection,
  readStoredHistory,
  type RecordsAndRollbacks,
} from './stored-history.ts';
import type { HistoricRollback, HistoricRecord } from './history.ts';
import { createMemoryBigtable } from '../../../engine/testing/memory-bigtable.ts';
import { placeOf, everywhere } from '../../../engine/transaction/index.ts';

const TABLE = 't';
const CELL = { table: TABLE, row: 'r', column: 'c' };

test('stored and collected records together are all that the store ever had', async () => {
  const store = createMemoryBigtable();
  const told: RecordsAndRollbacks[] = [];
  const before = await fill(store);
  await using percolator = await openPercolator({
    store: observeCollection(store, (collected) => told.push(collected)),
  });
  const { cellsDeleted } = await percolator.collectGarbage({ messageLifetimeMs: 1 });
  assert.ok(cellsDeleted > 0);
  const after = await readStoredHistory(store, [TABLE]);
  assert.ok(after.records.length < before.records.length);
  assert.ok(after.rollbacks.length < before.rollbacks.length);
  const records = [...after.records, ...told.flatMap((one) => one.records)];
  const rollbacks = [...after.rollbacks, ...told.flatMap((one) => one.rollbacks)];
  assert.deepEqual(records.map(nameOf).toSorted(), before.records.map(nameOf).toSorted());
  assert.deepEqual(rollbacks.map(textOf).toSorted(), before.rollbacks.map(textOf).toSorted());
});

test('the listener hears of a record while it is still there; if it throws, the record stays', async () => {
  const store = createMemoryBigtable();
  const before = await fill(store);
  const observed = observeCollection(store, () => {
    throw new Error('no space left to record it');
  });
  const [record] = before.records;
  assert.ok(record);
  const { commitTimestamp: from } = record;
  const erasure = { kind: 'erase', ...placeOf('write', 'c'), from, to: from } as const;
  const place = placeOf('data', 'x');
  const set = { kind: 'set', ...place, timestamp: 1, value: Buffer.of(1) } as const;
  const rows = [
    { table: TABLE, row: 'other', mutations: [set] },
    { table: TABLE, row: 'r', mutations: [erasure] },
  ];
  await assert.rejects(observed.mutateRows(rows), /no space left/);
  assert.deepEqual((await readStoredHistory(store, [TABLE])).records, before.records);
  const other = await store.readRow(TABLE, 'other', [everywhere('data')]);
  assert.equal(other?.cells.length, 1, 'rows without garbage do not wait for the listener');
});

test('the listener hears of a whole range of versions, and of nothing else', async () => {
  const store = createMemoryBigtable();
  const { records } = await fill(store);
  const told: HistoricRecord[] = [];
  const observed = observeCollection(store, (collected) => told.push(...collected.records));
  const [newest, ...older] = records.toSorted((a, b) => b.commitTimestamp - a.commitTimestamp);
  const to = (newest?.commitTimestamp ?? 0) - 1;
  const erasure = { kind: 'erase', ...placeOf('write', 'c'), from: 0, to } as const;
  await observed.mutateRows([{ table: TABLE, row: 'r', mutations: [erasure] }]);
  assert.deepEqual(told.map(nameOf).toSorted(), older.map(nameOf).toSorted());
});

/** Three versions, the last one a delete, and a rollback record. */
async function fill(store: Bigtable): Promise<RecordsAndRollbacks> {
  await using percolator = await openPercolator({ store });
  await percolator.createTable(TABLE);
  for (const value of ['1', '2']) await percolator.transact(async (t) => t.set(CELL, value));
  const [slow, quick] = [await percolator.begin(), await percolator.begin()];
  slow.set({ ...CELL, row: 'other' }, 'x');
  slow.set(CELL, 'slow');
  quick.delete(CELL);
  await quick.commit();
  await assert.rejects(slow.commit(), { code: 'WRITE_CONFLICT' });
  await percolator.settled();
  const history = await readStoredHistory(store, [TABLE]);
  assert.deepEqual([history.records.length, history.rollbacks.length > 0], [3, true]);
  return history;
}

function nameOf({ cell, startTimestamp, commitTimestamp, operation }: HistoricRecord): string {
  return `${cell} ${startTimestamp} ${commitTimestamp} ${operation}`;
}

function textOf({ cell, startTimestamp }: HistoricRollback): string {
  return `${cell} ${startTimestamp}`;
}
