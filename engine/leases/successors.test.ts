/** Leases of processes with the token, and so the row, of an earlier process (P31, P63). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PercolatorError } from '../base/index.ts';
import { bounds, openLeases, startProcess, TTL_MS } from '../testing/lease-scene.ts';
import { createMemoryBigtable, VirtualClock } from '../testing/index.ts';
import { LeaseWatch } from './index.ts';
import { LEASES_TABLE } from './lease-table.ts';

test('an earlier process with the same token does not hide its successor', async () => {
  const { process, watch, store, clock } = openLeases();
  await process.leases.enter();
  await clock.advance(100_000);
  process.store.crash();
  const successor = startProcess(store, clock);
  successor.fresh = 1_000;
  await successor.leases.enter();
  assert.deepEqual(await bounds(watch), [1_000]);
});

for (const damage of ['{', 'null']) {
  test(`a successor takes a lease although that of an earlier process is damaged: ${damage}`, async () => {
    const { process, watch, store, clock } = openLeases();
    await process.leases.enter();
    process.store.crash();
    const cell = { family: 'lease', qualifier: 'lease', timestamp: 50 };
    const mutations = [{ kind: 'set', ...cell, value: Buffer.from(damage) } as const];
    await store.mutateRows([{ table: LEASES_TABLE, row: 'A', mutations }]);
    const hold = await startProcess(store, clock).leases.enter();
    assert.ok(hold.isCovered());
    assert.deepEqual(await bounds(watch), [10]);
  });
}

test('P31: what an earlier process erased does not hide the lease of its successor', async () => {
  const store = createMemoryBigtable({ tombstones: true });
  const clock = new VirtualClock();
  const watch = new LeaseWatch(store, clock);
  for (let life = 0; life < 3; life++) {
    const { leases } = startProcess(store, clock); // With the same token.
    await leases.enter();
    assert.deepEqual(await bounds(watch), [10], `life ${life}`);
    await clock.advance(10 * TTL_MS);
    await leases.close();
  }
  const closed = startProcess(store, clock).leases;
  await Promise.all([closed.enter(), closed.close()]);
  assert.deepEqual(await bounds(watch), []);
});

for (const [end, [fresh, freshLater]] of Object.entries({
  // Also where the oracle has handed out nothing since.
  dies: [10, 10],
  closes: [10, 1_000],
} as const)) {
  test(`P31: the lease of a process counts, although an earlier process with the same token and pin ${end}`, async () => {
    const { process, watch, store, clock } = openLeases();
    process.fresh = fresh;
    await process.leases.pin(5);
    assert.deepEqual(await bounds(watch), [5]);
    if (end === 'dies') process.store.crash();
    await clock.advance(TTL_MS);
    if (end === 'closes') await process.leases.close();
    else assert.deepEqual(await bounds(watch), []); // The watch erases it.
    const successor = startProcess(store, clock);
    successor.fresh = freshLater;
    await successor.leases.pin(5);
    assert.deepEqual(await bounds(watch), [5]);
  });
}

test('P31: a late renewal of an earlier process with the same token does not replace a pin', async () => {
  const { process, watch, store, clock } = openLeases();
  (await process.leases.enter()).release();
  process.store.duplicate(() => true);
  await clock.advance(TTL_MS);
  await process.leases.close();
  const successor = startProcess(store, clock);
  successor.fresh = 1_000;
  successor.store.beforeCall = () => {
    throw new PercolatorError('STORE_UNAVAILABLE', 'for a moment');
  };
  (await successor.leases.enter()).setTimestamp(999); // In use when the pin registers the lease.
  successor.store.beforeCall = undefined;
  const pin = await successor.leases.pin(5);
  await process.store.deliverDuplicates();
  assert.ok(pin.isCovered());
  assert.deepEqual(await bounds(watch), [5]);
});
