/**
 * A crash before and after every mutation, of the writer of an observed cell and of the worker that
 * runs the observer (P40 to P42, P44): no change is lost, and none is processed twice.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  cell,
  type TestClient,
  openTestDatabase,
  put,
  type TestDatabase,
} from '../testing/index.ts';
import { NOTIFY, notifyTable } from '../transaction/index.ts';
import type { Observer } from './index.ts';
import { runObservers } from './run-observer.ts';

const MOMENTS = ['crashBefore', 'crashAfter'] as const;

/** Counts its committed runs for the row in another row, so that its commit has a second phase. */
const observer: Observer = {
  name: 'counting',
  table: 't',
  column: 'seen',
  run: async (transaction, { row }) => {
    const runs = (await transaction.get(cell(`${row} log:runs`)))?.toString() ?? '0';
    const value = (await transaction.get(cell(`${row}:seen`)))?.toString();
    put(transaction, { [`${row} log:runs`]: String(Number(runs) + 1), [`${row} log:saw`]: value });
  },
};

for (const ordered of [true, false]) {
  test(`P40: a writer that dies at any step leaves a change that is seen once, or nothing (ordered: ${ordered})`, async () => {
    let committedCases = 0;
    for (const moment of MOMENTS) {
      for (let step = 1; ; step++) {
        const database = await openTestDatabase({ observed: ['seen'] });
        const writer = database.client('writer', { ordered });
        writer.store[moment](step);
        const values = { other: '1', 'x:seen': '1', 'y:seen': '1' };
        await writer.write(values).catch(() => {});
        const isDone = writer.store.mutationCount < step;
        database.bury('writer');

        const worker = database.client('worker');
        await runNotified(database, worker);
        const { other } = await worker.read(['other']);
        const expected = other === undefined ? undefined : '1';
        if (expected !== undefined) committedCases++;
        assert.deepEqual(
          await worker.read(['x log:runs', 'x log:saw', 'y log:runs', 'y log:saw']),
          {
            'x log:runs': expected,
            'x log:saw': expected,
            'y log:runs': expected,
            'y log:saw': expected,
          },
          `${moment} ${step}`,
        );
        assert.deepEqual(await database.notifications(), []);
        // Clean-up is lazy: the locks may not have been met yet.
        await worker.read(['x:seen', 'y:seen']);
        assert.deepEqual(await database.locks(), []);
        if (isDone) break;
      }
    }
    assert.ok(committedCases > 4, 'crashes after the commit point were among them');
  });
}

test('P41, P42, P44: a worker that dies at any step of a run leaves it to another, which runs it once', async () => {
  for (const moment of MOMENTS) {
    for (let step = 1; ; step++) {
      const database = await openTestDatabase({ observed: ['seen'] });
      await database.client('writer').write({ 'x:seen': '1' });
      const dying = database.client('dying');
      dying.store[moment](step);
      dying.store.duplicate(() => true);
      await database.clock.runUntil(runNotified(database, dying)).catch(() => {});
      await dying.settled();
      const isDone = dying.store.mutationCount < step;
      database.bury('dying');

      const worker = database.client('worker');
      await database.clock.runUntil(runNotified(database, worker));
      await dying.store.deliverDuplicates();
      const where = `${moment} ${step}`;
      assert.deepEqual(await worker.read(['x log:runs']), { 'x log:runs': '1' }, where);
      assert.deepEqual(await database.notifications(), [], where);

      const second = await database.client('writer again').write({ 'x:seen': '2' });
      await dying.store.deliverDuplicates();
      assert.deepEqual(await database.notifications(), [`notify x:seen@${second}`], where);
      await database.clock.runUntil(runNotified(database, worker));
      const log = await worker.read(['x log:runs', 'x log:saw']);
      assert.deepEqual(log, { 'x log:runs': '2', 'x log:saw': '2' }, where);
      assert.deepEqual(await database.locks(), [], where);
      if (isDone) break;
    }
  }
});

test('two workers work on one change, one paused before any of its first six mutations while the other runs: one run commits', async () => {
  for (let step = 1; step <= 6; step++) {
    const database = await openTestDatabase({ observed: ['seen'] });
    await database.client('writer').write({ 'x:seen': '1' });
    const [slow, fast] = [database.client('slow'), database.client('fast')];
    const gate = Promise.withResolvers<void>();
    slow.beforeMutation(step, () => gate.promise);
    const running = runNotified(database, slow);
    await database.clock.yield();
    // At some of the steps the fast worker waits for the slow one's locks, until it takes it for
    // dead.
    await database.clock.runUntil(runNotified(database, fast));
    gate.resolve();
    await database.clock.runUntil(running);
    const { 'x log:runs': runs } = await fast.read(['x log:runs']);
    assert.equal(runs, '1', `paused before mutation ${step}`);
    assert.deepEqual(await database.notifications(), []);
  }
});

/** What a worker does with what a scan finds, step by step. */
async function runNotified(database: TestDatabase, worker: TestClient): Promise<void> {
  const filters = [{ family: NOTIFY, versions: 1 }];
  const rows = await database.store.readRange(notifyTable('t'), { limit: 100 }, filters);
  for (const { key: row, cells } of rows) {
    for (const { qualifier: column, timestamp } of cells) {
      await runObservers(worker.context, { table: 't', row, column, weak: false, timestamp }, [
        observer,
      ]);
    }
  }
  await worker.settled();
}
