/**
 * The cycle itself: what a step does, when it ends,
 * and how it treats tables and stores that fail.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PercolatorError } from '../base/index.ts';
import {
  MESSAGE_LIFETIME_MS,
  openScene,
  type CollectionScene,
} from '../testing/collection-scene.ts';
import { cell, createMemoryBigtable, wakingEarly } from '../testing/index.ts';
import { lockOf, plant, plantLease, recordOf } from '../testing/planting.ts';
import { notifyTable } from '../transaction/index.ts';
import { Collector } from './collector.ts';
import { GarbageCollector } from './cycle.ts';
import { settingsOf } from './options.ts';

const { manifest } = createMemoryBigtable();
const ROWS = ['a', 'b', 'c', 'd', 'e'];

/** Five rows of two versions each, and a collector that visits two of them in a step. */
async function openRows(): Promise<{
  readonly scene: CollectionScene;
  readonly collector: GarbageCollector;
}> {
  const scene = await openScene();
  const writer = scene.client('A');
  for (const value of ['1', '2']) {
    await writer.write(Object.fromEntries(ROWS.map((row) => [row, value])));
  }
  await scene.renewals();
  return { scene, collector: scene.newCollector({ rowsPerStep: 2 }) };
}

describe('a cycle', () => {
  test('visits each row once, however few rows a step takes', async () => {
    const { scene, collector } = await openRows();
    await scene.endCycle(collector);
    assert.equal(collector.counters.rowsVisited, ROWS.length);
    assert.equal(collector.counters.cellsDeleted, 2 * ROWS.length, 'a record and its data of each');
  });

  test('says what lease holds it back, also once a lock that blocked it is gone', async () => {
    const scene = await openScene();
    const { clock } = scene.database;
    const crashing = scene.client('A');
    crashing.store.crashAfter(1);
    await assert.rejects(crashing.write({ x: '1' }));
    await scene.lapse(crashing);
    const reader = await scene.client('B').begin();
    await scene.renewals();
    const collector = scene.newCollector();
    while ((await clock.runUntil(collector.step())) === 'more');
    assert.ok(collector.heldBackBy?.lock !== undefined, 'the owner of the lock may be alive');
    await clock.advance(10_000);
    await scene.endCycle(collector);
    assert.equal(collector.counters.locksResolved, 1);
    assert.equal(collector.heldBackBy?.timestamp, reader.startTimestamp);
  });

  test('waits once for a process that died unnoticed with many locks', async () => {
    const scene = await openScene();
    const { clock } = scene.database;
    const writer = scene.client('A');
    for (const value of ['1', '2', '3']) await writer.write({ x: value });
    const rows = [1, 2, 3, 4]; // Below the horizon: the writes took six timestamps.
    for (const row of rows) {
      await plant(scene.database, `lock ${row}`, row, lockOf(`${row}`, 'died unnoticed'));
    }
    await writer.context.leases.close(); // So that the cycle does not wait for its renewal.
    const beganMs = clock.monotonicMs();
    const { completed, locksResolved } = await scene.collect();
    assert.ok(completed);
    assert.equal(locksResolved, rows.length);
    const waitedMs = clock.monotonicMs() - beganMs - MESSAGE_LIFETIME_MS;
    const timeToLiveMs = 5_000; // As the planted locks say.
    assert.ok(waitedMs >= timeToLiveMs && waitedMs < 2 * timeToLiveMs, `${waitedMs} ms`);
  });

  test('lists the tables with locks once, however often a live lock blocks it', async () => {
    const scene = await openScene();
    const { clock } = scene.database;
    const crashing = scene.client('A');
    crashing.store.crashAfter(1);
    await assert.rejects(crashing.write({ x: '1' }));
    await scene.lapse(crashing);
    await scene.client('B').begin();
    await scene.renewals();
    let listed = 0;
    const listTables = async (needs?: 'locks'): Promise<readonly string[]> => {
      if (needs === 'locks') listed++;
      return scene.services.listTables();
    };
    const services = { ...scene.services, listTables };
    const collector = new GarbageCollector(services, settingsOf({}, manifest));
    while ((await clock.runUntil(collector.step())) === 'more');
    for (let i = 0; i < 3; i++) assert.equal(await clock.runUntil(collector.step()), 'blocked');
    assert.equal(listed, 1);
  });

  test('waits until no earlier message is in flight, even if its timers wake early', async () => {
    const scene = await openScene();
    const { clock } = scene.database;
    await scene.client('A').write({ x: '1' });
    await scene.renewals();
    const { context } = scene.client('hasty', { clock: wakingEarly(clock) });
    const collector = new GarbageCollector(
      { ...scene.services, context },
      settingsOf({}, manifest),
    );
    await clock.runUntil(collector.step());
    const beganMs = clock.monotonicMs();
    await clock.runUntil(collector.step());
    assert.equal(clock.monotonicMs() - beganMs, MESSAGE_LIFETIME_MS);
  });

  for (const damaged of ['{', '{}']) {
    test(`fails at a lease that says ${damaged}: it may keep what a process still reads`, async () => {
      const { scene } = await openRows();
      await plantLease(scene.database.store, 'reader#1', damaged);
      await assert.rejects(scene.collect(), { code: 'TABLE_MISMATCH', message: /reader#1/ });
    });
  }

  test('that may delete no more than the last one ends at once', async () => {
    const { scene, collector } = await openRows();
    const reader = scene.client('B');
    await reader.begin(); // Keeps the horizon where it is.
    await scene.renewals();
    await scene.endCycle(collector);
    assert.equal(await scene.database.clock.runUntil(collector.step()), 'cycle ended');
    assert.equal(collector.counters.cycles, 2);
  });

  test('that may delete no more than the last one reports what that one collected', async () => {
    const { scene } = await openRows();
    await scene.client('B').begin(); // Keeps the horizon where it is.
    await scene.renewals();
    const { deletionHorizon, completed } = await scene.collect();
    assert.ok(deletionHorizon > 0 && completed);
    assert.equal((await scene.collect()).deletionHorizon, deletionHorizon);
  });

  test('leaves locks that no transaction writes, and collects all rows', async () => {
    const { scene, collector } = await openRows();
    const { database } = scene;
    await plant(database, 'lock bb', 1, '{');
    await plant(database, 'lock cc', 1, '{"primary":[]}');
    await plant(database, 'lock dd', 1, '{"primary":["t","bb","c"]}'); // Names no owner.
    await scene.endCycle(collector);
    assert.equal(collector.counters.cellsDeleted, 2 * ROWS.length);
    assert.equal(collector.counters.locksResolved, 0);
    assert.deepEqual(await database.locks(), ['bb:c', 'cc:c', 'dd:c']);
  });

  test('leaves a row with a record that no transaction writes, and collects all others', async () => {
    const { scene, collector } = await openRows();
    await plant(scene.database, 'write b', 1, 'oops');
    const before = await scene.database.stored('b');
    await scene.endCycle(collector);
    assert.equal(collector.counters.cellsDeleted, 2 * (ROWS.length - 1));
    assert.deepEqual(await scene.database.stored('b'), before);
  });

  test('is held back by a lock whose primary has a record that no transaction writes', async () => {
    const { scene } = await openRows();
    await plant(scene.database, 'lock aa', 1, lockOf('bb', 'died unnoticed'));
    await plant(scene.database, 'lock bb', 1, lockOf('bb', 'died unnoticed'));
    await plant(scene.database, 'write bb', 2, 'oops');
    const { completed, locksResolved } = await scene.collect();
    assert.equal(completed, false);
    assert.equal(locksResolved, 0);
  });

  test('resolves a lock whose primary has a lock that cannot be decoded', async () => {
    const { scene, collector } = await openRows();
    const { database } = scene;
    database.bury('dead');
    await plant(database, 'lock aa', 1, '{');
    await plant(database, 'lock bb', 1, lockOf('aa', 'dead'));
    await scene.endCycle(collector);
    assert.equal(collector.counters.locksResolved, 1);
    assert.deepEqual(await database.locks(), []);
  });

  test('asks the last primary if the lock at a named primary names another one', async () => {
    for (const value of [undefined, '1']) {
      const { scene, collector } = await openRows();
      const { database } = scene;
      database.bury('dead');
      const put = { operation: 'put' };
      await plant(database, 'lock aa', 1, lockOf('bb', 'dead', put));
      await plant(database, 'lock bb', 1, lockOf('cc', 'dead', put));
      for (const row of ['aa', 'bb', 'cc']) await plant(database, `data ${row}`, 1, '1');
      if (value !== undefined) await plant(database, 'write cc', 2, recordOf(1, 'put'));
      await scene.endCycle(collector);
      assert.deepEqual(await database.locks(), []);
      const [aa, bb] = [value, value];
      assert.deepEqual(await scene.client('B').read(['aa', 'bb']), { aa, bb });
    }
  });

  test('decides nothing at a secondary that the damaged lock of the primary names', async () => {
    const { scene, collector } = await openRows();
    const { database } = scene;
    const calls: string[] = [];
    database.bury('dead');
    await plant(database, 'lock p', 1, lockOf('q', 'dead')); // Damaged: `p` itself is the primary.
    for (const row of ['aa', 'q']) await plant(database, `lock ${row}`, 1, lockOf('p', 'dead'));
    scene.collector.store.beforeCall = (call) => {
      if (call.kind === 'mutation' && call.table === 't') calls.push(call.row);
    };
    await scene.endCycle(collector);
    assert.deepEqual(calls.slice(0, 2), ['p', 'aa'], 'the transaction is decided at the primary');
    assert.deepEqual(await database.locks(), []);
  });

  test('resolves two locks of which each names the other one as primary', async () => {
    const { scene, collector } = await openRows();
    scene.database.bury('dead');
    await plant(scene.database, 'lock aa', 1, lockOf('bb', 'dead'));
    await plant(scene.database, 'lock bb', 1, lockOf('aa', 'dead'));
    await scene.endCycle(collector);
    assert.deepEqual(await scene.database.locks(), []);
  });

  for (const [what, primary] of [
    ['has an address that is not allowed', 't/'],
    ['is in a table of another form', 'foreign/x'],
  ] as const) {
    test(`is held back by a lock whose primary ${what}`, async () => {
      const { scene, collector } = await openRows();
      const { database } = scene;
      database.bury('dead');
      await database.store.createTable('foreign', { families: ['foreign'] });
      await plant(database, 'lock bb', 1, lockOf(primary, 'dead'));
      while ((await database.clock.runUntil(collector.step())) === 'more');
      assert.deepEqual(collector.heldBackBy?.lock, cell('bb'));
    });
  }

  test('treats a table that is gone, although it was listed, as one without rows', async () => {
    const { scene } = await openRows();
    const services = { ...scene.services, listTables: async () => ['gone', 't', 'u', 'v-gone'] };
    const collector = new GarbageCollector(services, settingsOf({}, manifest));
    await scene.endCycle(collector);
    assert.equal(collector.counters.rowsVisited, ROWS.length);
  });

  test('fails at a table that is there without its companion, and does not say that it was collected', async () => {
    const scene = await openScene();
    await scene.client('A').write({ x: '1' });
    await scene.client('A').write({ x: undefined });
    await scene.renewals();
    await scene.database.store.dropTable(notifyTable('t'));
    await assert.rejects(scene.collect(), { code: 'TABLE_NOT_FOUND', message: /t\.notify/ });
  });

  test('skips no row if the storage refuses a read: the step fails, and is tried again', async () => {
    const { scene, collector } = await openRows();
    let refused = 0;
    scene.collector.store.beforeCall = (call) => {
      if (call.kind !== 'read' || call.operation !== 'readRange' || call.table !== 't') return;
      if (refused++ % 2 === 0) throw new PercolatorError('STORE_UNAVAILABLE', 'moving');
    };
    let failed = 0;
    for (let result = ''; result !== 'cycle ended';) {
      const step = scene.database.clock.runUntil(collector.step());
      result = await step.catch((error: PercolatorError) => error.code);
      if (result === 'STORE_UNAVAILABLE') failed++;
    }
    assert.equal(failed, 6, 'each of three reads, while resolving and while collecting');
    assert.equal(collector.counters.rowsVisited, ROWS.length);
    assert.equal(collector.counters.cellsDeleted, 2 * ROWS.length);
  });

  for (const order of [
    ['A', 'B'],
    ['B', 'A'],
  ] as const) {
    test(`names the process with the oldest snapshot: the first of ${order.join(' and ')}`, async () => {
      const scene = await openScene();
      const [first, second] = order;
      const oldest = await scene.client(first).begin();
      await scene.client('C').write({ x: '1' });
      await scene.client(second).begin();
      await scene.renewals();
      const collector = await scene.beginCycle();
      assert.equal(collector.heldBackBy?.process.includes(first), true);
      assert.equal(collector.heldBackBy?.timestamp, oldest.startTimestamp);
      assert.equal(collector.deletionHorizon, oldest.startTimestamp);
    });
  }
});

describe('a collector', () => {
  test('pauses between steps, and rests between cycles', async () => {
    const { scene } = await openRows();
    const { clock } = scene.database;
    const options = { pauseMs: 10, restMs: 5_000, messageLifetimeMs: 1 };
    await using collector = new Collector(scene.services, options);
    await clock.advance(40);
    assert.equal(collector.counters.rowsVisited, 0, 'five steps come before the first row');
    await clock.advance(1_000);
    assert.equal(collector.counters.cycles, 1);
    assert.equal(collector.counters.rowsVisited, ROWS.length);
    await clock.advance(5_000);
    assert.equal(collector.counters.cycles, 2);
  });

  test('refuses an option that is not above 0, and names it', () => {
    for (const name of ['messageLifetimeMs', 'rowsPerStep', 'pauseMs', 'restMs']) {
      for (const value of [0, -1, Infinity, NaN]) {
        assert.throws(() => settingsOf({ [name]: value }, manifest), {
          code: 'INVALID_ARGUMENT',
          message: new RegExp(`^${name} must be a (whole|finite) number above 0, not ${value}$`),
        });
      }
    }
  });
});
