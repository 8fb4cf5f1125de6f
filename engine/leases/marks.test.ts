/** Marks keep what comes after a timestamp, without a process, until they lapse or are erased. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decorate } from '../bigtable/index.ts';
import { openDatabase, type Percolator } from '../database.ts';
import { fsck } from '../fsck.ts';
import type { CollectionReport } from '../garbage-collection/index.ts';
import { cell, createMemoryBigtable, VirtualClock } from '../testing/index.ts';

const HOUR_MS = 3_600_000;

async function write(percolator: Percolator, value: string): Promise<number> {
  await percolator.transact(async (transaction) => transaction.set(cell('x'), value));
  await using snapshot = await percolator.snapshot();
  return snapshot.startTimestamp;
}

async function valuesSince(percolator: Percolator, from: number): Promise<number> {
  const events = await Array.fromAsync(percolator.changes('t', { from }));
  return events.filter(({ kind }) => kind === 'change').length;
}

test('a mark keeps changes from collections, and none of them waits for it', async () => {
  const clock = new VirtualClock();
  const percolator = await openDatabase({ store: createMemoryBigtable(), clock });
  await percolator.createTable('t');
  const collect = async (): Promise<unknown> => {
    const report = await clock.runUntil(percolator.collectGarbage({ messageLifetimeMs: 1 }));
    return report.heldBackBy;
  };
  const first = await write(percolator, '1');
  for (const value of ['2', '3']) await write(percolator, value);
  await percolator.mark('nightly', first, HOUR_MS);
  const beganMs = clock.monotonicMs();
  assert.deepEqual(await collect(), { process: 'mark/nightly', timestamp: first });
  assert.ok(clock.monotonicMs() - beganMs < HOUR_MS / 2, 'it did not wait for the mark to lapse');
  assert.equal(await valuesSince(percolator, first), 2);
  for await (const { sentence } of await fsck(percolator.store, { clock })) assert.fail(sentence);
  const later = await write(percolator, '4');
  await percolator.mark('nightly', later, HOUR_MS); // Moves on.
  await write(percolator, '5');
  await collect();
  await assert.rejects(valuesSince(percolator, first), { code: 'STALE_SNAPSHOT' });
  assert.equal(await valuesSince(percolator, later), 1);
  await assert.rejects(percolator.mark('late', first, HOUR_MS), { code: 'STALE_SNAPSHOT' });
  await percolator.unmark('nightly');
  await percolator.unmark('unknown');
  await collect();
  await assert.rejects(valuesSince(percolator, later), { code: 'STALE_SNAPSHOT' });
  await percolator.close();
});

test('a mark that comes too late is refused, and keeps nothing', async () => {
  const clock = new VirtualClock();
  const store = createMemoryBigtable();
  const percolator = await openDatabase({ store, clock });
  await percolator.createTable('t');
  const first = await write(percolator, '1');
  await write(percolator, '2');
  const collect = (): Promise<CollectionReport> =>
    clock.runUntil(percolator.collectGarbage({ messageLifetimeMs: 1 }));
  // The horizon passes the timestamp between the two looks at it.
  const mutateRows = store.mutateRows.bind(store);
  store.mutateRows = async (rows) => {
    if (rows.some(({ row }) => row.startsWith('mark/'))) {
      store.mutateRows = mutateRows;
      await collect();
    }
    return mutateRows(rows);
  };
  await assert.rejects(percolator.mark('late', first, HOUR_MS), { code: 'STALE_SNAPSHOT' });
  await write(percolator, '3');
  assert.equal((await collect()).heldBackBy, undefined);
  await percolator.close();
});

test('a mark lapses when a collector has seen it for its time', async () => {
  const clock = new VirtualClock();
  const percolator = await openDatabase({ store: createMemoryBigtable(), clock });
  await percolator.createTable('t');
  const first = await write(percolator, '1');
  for (const value of ['2', '3']) await write(percolator, value);
  await percolator.mark('nightly', first, HOUR_MS);
  const collector = percolator.startCollector({ messageLifetimeMs: 1 });
  await clock.advance(HOUR_MS / 2);
  assert.equal(await valuesSince(percolator, first), 2);
  await clock.advance(HOUR_MS);
  await assert.rejects(valuesSince(percolator, first), { code: 'STALE_SNAPSHOT' });
  await collector.stop();
  await percolator.close();
});

test('a mark lapses also where every collection is by a process of its own', async () => {
  const clock = new VirtualClock();
  const shared = decorate(createMemoryBigtable(), { close: async () => {} });
  const withDatabase = async <T>(use: (percolator: Percolator) => Promise<T>): Promise<T> => {
    const percolator = await openDatabase({ store: shared, clock });
    const used = await clock.runUntil(use(percolator));
    await percolator.close();
    return used;
  };
  const first = await withDatabase(async (percolator) => {
    await percolator.createTable('t');
    const timestamp = await write(percolator, '1');
    await write(percolator, '2');
    await percolator.mark('nightly', timestamp, 30 * HOUR_MS);
    return timestamp;
  });
  const held: (number | undefined)[] = [];
  for (let day = 0; day < 4; day++) {
    const report = await withDatabase((one) => one.collectGarbage({ messageLifetimeMs: 1 }));
    held.push(report.heldBackBy?.timestamp);
    await clock.advance(24 * HOUR_MS);
  }
  assert.deepEqual(held, [first, first, first, undefined]);
});
