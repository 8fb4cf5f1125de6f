/** Claims about the audit at rest: it counts each finding once, as an error or as a warning. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bigtable, type Observer, openPercolator, type Percolator } from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import { auditAtRest } from './workload.ts';

const TABLE = 't';
const COLUMN = 'seen';

/** Writes the row, and lets a worker with these observers, if there are any, come to rest. */
async function write(
  percolator: Percolator,
  row: string,
  names: readonly string[],
): Promise<number> {
  const change = { table: TABLE, row, column: COLUMN };
  const transaction = await percolator.begin();
  transaction.set(change, names.join());
  const timestamp = await transaction.commit();
  const observers = names.map((name): Observer => ({
    name,
    table: TABLE,
    column: COLUMN,
    run: async () => {},
  }));
  if (observers.length > 0) {
    const worker = percolator.startWorker(observers);
    await worker.idle();
    await worker.stop();
  }
  return timestamp;
}

/** A change that no observer sees, because its notification is gone: an error. */
async function loseNotification(
  percolator: Percolator,
  store: Bigtable,
  row: string,
): Promise<void> {
  const to = await write(percolator, row, []);
  const erase = { kind: 'erase', family: 'notify', qualifier: COLUMN, from: 0, to } as const;
  await store.mutateRows([{ table: `${TABLE}.notify`, row, mutations: [erase] }]);
}

test('an error is no warning, although a warning has the same code', async () => {
  const store = createMemoryBigtable();
  await using percolator = await openPercolator({ store });
  await percolator.createTable(TABLE, { observedColumns: [COLUMN] });
  // An observer that sees a row once and not again may have been retired: a warning.
  await write(percolator, 'b', ['first', 'second']);
  await write(percolator, 'b', ['first']);
  for (const row of ['a', 'c']) await loseNotification(percolator, store, row);
  await percolator.settled();
  const { wrong, warnings } = await auditAtRest(store);
  assert.equal(wrong.length, 2);
  for (const sentence of wrong) assert.match(sentence, /^fsck: notification-lost: changed at /);
  assert.deepEqual([...warnings], [['notification-lost', 1]]);
});

test('five errors are shown, and the others counted', async () => {
  const store = createMemoryBigtable();
  await using percolator = await openPercolator({ store });
  await percolator.createTable(TABLE, { observedColumns: [COLUMN] });
  for (let row = 0; row < 6; row++) await loseNotification(percolator, store, `${row}`);
  await percolator.settled();
  const { wrong, warnings } = await auditAtRest(store);
  assert.equal(wrong.length, 6);
  assert.equal(wrong.at(-1), 'fsck finds 1 more error');
  assert.deepEqual([...warnings], []);
});
