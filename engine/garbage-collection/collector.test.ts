/**
 * P56 for the collector: a failed step is reported and tried again; a collector that ends says so.
 * And one cycle in a process that has just been started.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, PercolatorError, systemClock, type Warning } from '../base/index.ts';
import { decorate } from '../bigtable/index.ts';
import { readLeases } from '../leases/lease-table.ts';
import { openPercolator, type Percolator } from '../percolator.ts';
import { createMemoryBigtable, FaultyBigtable, VirtualClock } from '../testing/index.ts';
import { LEASE_MS, MESSAGE_LIFETIME_MS, openScene } from '../testing/collection-scene.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { Collector } from './collector.ts';

function teller(): { readonly reported: string[]; readonly onWarning: (warning: Warning) => void } {
  const reported: string[] = [];
  const codeOf = (error: unknown): string =>
    error instanceof PercolatorError ? error.code : String(error);
  const onWarning = ({ kind, error, isOver }: Warning): void =>
    void reported.push(`${kind} ${codeOf(error)}${isOver ? ' is over' : ''}`);
  return { reported, onWarning };
}

test('P56: a collector that the storage refuses reports it once, tries again, and reports the end of it', async () => {
  const scene = await openScene();
  const { reported, onWarning } = teller();
  let refuses = true;
  scene.collector.store.beforeCall = () => {
    if (refuses) throw new PercolatorError('STORE_REFUSED', 'no permission');
  };
  await using collector = new Collector(scene.services, { onWarning, restMs: 10 });
  const { clock } = scene.database;
  await clock.advance(1_000);
  assert.deepEqual(reported, ['step STORE_REFUSED']);
  assert.equal(collector.warnings.length, 1);
  refuses = false;
  await clock.advance(120_000);
  assert.deepEqual(reported, ['step STORE_REFUSED', 'step STORE_REFUSED is over']);
  assert.ok(collector.counters.cycles > 0);
  assert.deepEqual(collector.warnings, []);
});

test('P56: a collector whose store was closed has ended, and says so at once', async () => {
  const scene = await openScene();
  const { reported, onWarning } = teller();
  const closed = new PercolatorError('STORE_CLOSED', 'closed');
  scene.collector.store.beforeCall = () => Promise.reject(closed);
  const collector = new Collector(scene.services, { onWarning });
  await assert.rejects(scene.database.clock.runUntil(collector.ended), closed);
  assert.deepEqual(reported, ['ended STORE_CLOSED']);
  await assert.rejects(collector.stop(), closed);
});

test('P56: a bug ends a collector, and is reported', async () => {
  const scene = await openScene();
  const { reported, onWarning } = teller();
  const listTables = (): Promise<never> => Promise.reject(new TypeError('a bug'));
  const collector = new Collector({ ...scene.services, listTables }, { onWarning });
  await assert.rejects(scene.database.clock.runUntil(collector.ended), TypeError);
  assert.deepEqual(reported, ['ended TypeError: a bug']);
});

test('a collector that was stopped ends without an error, and reports nothing', async () => {
  const scene = await openScene();
  const { reported, onWarning } = teller();
  const collector = new Collector(scene.services, { onWarning });
  await scene.database.clock.runUntil(collector.stop());
  await collector.ended;
  assert.deepEqual(reported, []);
});

test('a cycle that another process has begun is reported with the horizon of that process', async () => {
  const memory = createMemoryBigtable();
  const clock = new VirtualClock();
  let refuses = false;
  const store = decorate(memory, {
    mutateRows: async (rows) => {
      if (refuses && rows.some(({ table }) => table === 't')) throw new Error('the process dies');
      await memory.mutateRows(rows);
    },
  });
  const first = await openPercolator({ store, clock, random: createRandom(1) });
  await first.createTable('t');
  for (const value of ['old', 'new']) {
    await first.transact(async (transaction) => {
      transaction.set({ table: 't', row: 'r', column: 'c' }, value);
    });
  }
  refuses = true;
  await assert.rejects(clock.runUntil(first.collectGarbage()), /the process dies/);
  const second = await openPercolator({ store: memory, clock, random: createRandom(2) });
  const beganMs = clock.monotonicMs();
  const report = await clock.runUntil(second.collectGarbage());
  assert.equal(report.cellsDeleted, 2);
  assert.ok(report.horizon >= report.deletionHorizon, String(report.horizon));
  assert.ok(clock.monotonicMs() - beganMs < 1_000, 'its horizon is fixed: no lease is watched');
});

/** Two processes of a database, in which the first one has written a cell twice. */
async function openTwo() {
  const store = createMemoryBigtable();
  const clock = new VirtualClock();
  const firstStore = new FaultyBigtable(store);
  const first = await openPercolator({ store: firstStore, clock, random: createRandom(1) });
  await first.createTable('t');
  for (const value of ['old', 'new']) await write(first, value);
  const second = await openPercolator({ store, clock, random: createRandom(2) });
  /** Resolves to the milliseconds for which a cycle of the second process watched the leases. */
  const collect = async () => {
    const beganMs = clock.monotonicMs();
    const report = await clock.runUntil(second.collectGarbage());
    return { ...report, watchedMs: clock.monotonicMs() - beganMs - MESSAGE_LIFETIME_MS };
  };
  return { store, clock, firstStore, first, second, collect };
}

async function write(percolator: Percolator, value: string): Promise<void> {
  await percolator.transact(async (transaction) => {
    transaction.set({ table: 't', row: 'r', column: 'c' }, value);
  });
  await percolator.settled();
}

test('one cycle gets past the lease of a process that died long before', async () => {
  const { store, clock, firstStore, collect } = await openTwo();
  firstStore.crash();
  await clock.advance(3_600_000);
  const [lease] = await readLeases(store);
  const { deletionHorizon, cellsDeleted, heldBackBy, watchedMs } = await collect();
  assert.ok(lease !== undefined && deletionHorizon > lease.bound, `${deletionHorizon}`);
  assert.equal(cellsDeleted, 2, 'the old version');
  assert.equal(heldBackBy, undefined);
  assert.ok(watchedMs >= LEASE_MS && watchedMs < LEASE_MS + 5_000, `${watchedMs} ms`);
});

test('one cycle waits for a live process only until it has renewed its lease', async () => {
  const { clock, first, collect } = await openTwo();
  const { startTimestamp } = await first.snapshot();
  await write(first, 'newest');
  await clock.advance(LEASE_MS / 2);
  const { deletionHorizon, heldBackBy, watchedMs } = await collect();
  assert.equal(deletionHorizon, startTimestamp);
  assert.equal(heldBackBy?.timestamp, startTimestamp);
  assert.ok(watchedMs < LEASE_MS / 3 + 2_000, `${watchedMs} ms`);
});

test('one cycle does not wait for the lease of its own process', async () => {
  const { first, second, collect } = await openTwo();
  await first.close();
  await write(second, 'newest');
  const { cellsDeleted, watchedMs } = await collect();
  assert.equal(cellsDeleted, 4, 'two old versions');
  assert.ok(watchedMs < 1_000, `${watchedMs} ms`);
});

test('P84: a cycle on a folder takes as long as its work, whichever of its processes asks for it', async () => {
  const folder = temporaryFolder();
  const options = { folder, fsync: false, leaseTimeToLiveMs: 300 };
  await using owner = await openPercolator(options);
  await using client = await openPercolator(options);
  await owner.createTable('t');
  for (const collecting of [owner, client]) {
    for (const value of ['old', 'new']) await write(collecting, value);
    const beganMs = systemClock.monotonicMs();
    const { cellsDeleted, heldBackBy } = await collecting.collectGarbage();
    const tookMs = systemClock.monotonicMs() - beganMs;
    assert.ok(tookMs < MESSAGE_LIFETIME_MS / 2, `${tookMs} ms`);
    assert.ok(cellsDeleted >= 2, 'the old version');
    assert.equal(heldBackBy, undefined, 'no snapshot is open');
  }
});
