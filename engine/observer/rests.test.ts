/**
 * How long a worker lets cells rest after a failure (P45), which rows it has locked, and which
 * cells the storage has notified.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LockedRange } from '../lock-service/range-locks.ts';
import { cell, openTestDatabase, put, VirtualClock } from '../testing/index.ts';
import { Failures, isNotified } from './failures.ts';
import { runObservers } from './run-observer.ts';
import { ScanLocks } from './peers.ts';

const FIRST_MS = 1_000;

function open(): { readonly clock: VirtualClock; readonly failures: Failures } {
  const clock = new VirtualClock();
  return { clock, failures: new Failures(clock, FIRST_MS) };
}

/** Advances the clock until the cell rests no longer. */
async function restMs({ clock, failures }: ReturnType<typeof open>): Promise<number> {
  const sinceMs = clock.monotonicMs();
  while (failures.isResting('a')) await clock.advance(FIRST_MS / 2);
  return clock.monotonicMs() - sinceMs;
}

test('P45: a cell rests twice as long after each failure, and a minute at most', async () => {
  const scene = open();
  const rests: number[] = [];
  for (let i = 1; i <= 9; i++) {
    assert.equal(scene.failures.add('a'), i);
    rests.push(await restMs(scene));
  }
  assert.deepEqual(
    rests.map((ms) => ms / FIRST_MS),
    [1, 2, 4, 8, 16, 32, 60, 60, 60],
  );
});

test('P45: a cell that the storage refuses rests twice as long each time, and has not failed', async () => {
  const scene = open();
  assert.equal(scene.failures.add('a'), 1);
  const rests: number[] = [];
  for (let i = 1; i <= 8; i++) {
    scene.failures.refuse('a');
    rests.push(await restMs(scene));
  }
  assert.deepEqual(
    rests.map((ms) => ms / FIRST_MS),
    [1, 2, 4, 8, 16, 32, 60, 60],
  );
  assert.deepEqual([scene.failures.isRefused('a'), scene.failures.hasFailed('a')], [true, false]);
  scene.failures.rest('a');
  assert.equal(scene.failures.isRefused('a'), true, 'a conflict does not say that it may run');
  assert.equal(scene.failures.add('a'), 2);
  assert.deepEqual([scene.failures.isRefused('a'), scene.failures.hasFailed('a')], [false, true]);
});

test('P45: a refused cell whose rest is ended early rests for as long again, and a failed cell rests on', async () => {
  const scene = open();
  const { failures } = scene;
  failures.refuse('a');
  for (let i = 0; i < 2; i++) {
    failures.wakeRefused();
    assert.deepEqual([failures.isResting('a'), failures.isRefused('a')], [false, true]);
    failures.refuse('a');
  }
  assert.equal(await restMs(scene), 2 * FIRST_MS);
  failures.wakeRefused();
  failures.refuse('a');
  failures.add('b');
  failures.wakeRefused();
  assert.deepEqual([failures.isResting('a'), failures.isResting('b')], [false, true]);
  failures.refuse('a');
  assert.equal(await restMs(scene), 4 * FIRST_MS);
});

test('a cell that only rests has not failed, and keeps the failures that it has', async () => {
  const scene = open();
  scene.failures.rest('a');
  assert.equal(scene.failures.isResting('a'), true);
  assert.equal(scene.failures.hasFailed('a'), false);
  assert.equal(await restMs(scene), FIRST_MS);
  scene.failures.add('a');
  scene.failures.rest('a');
  assert.equal(scene.failures.hasFailed('a'), true);
  assert.equal(scene.failures.add('a'), 2);
});

test('a cell that was forgotten counts its failures from zero; a rest affects no other cell', async () => {
  const { failures } = open();
  failures.add('a');
  assert.equal(failures.isResting('b'), false);
  assert.equal(failures.hasFailed('b'), false);
  failures.forget('a');
  assert.deepEqual([failures.isResting('a'), failures.hasFailed('a')], [false, false]);
  assert.equal(failures.add('a'), 1);
});

test('a batch locks its rows from the first to the last, until the last of its cells is done', async () => {
  const asked: LockedRange[] = [];
  let released = 0;
  const locks = new ScanLocks(
    {
      tryLock: async (range) => {
        asked.push(range);
        return { release: () => released++ };
      },
    },
    new VirtualClock(),
  );
  const found = ['a', 'b', 'c'].map((row) => ({ name: `${row}:c`, table: 't', row }));
  assert.equal(await locks.tryLock(found), true);
  assert.deepEqual(asked, [{ table: 't', from: 'a', to: 'c' }]);
  locks.done('of no batch');
  for (const { name } of found.slice(1)) locks.done(name);
  locks.done('b:c'); // Calling it twice counts once.
  assert.equal(released, 0);
  locks.done('a:c');
  assert.equal(released, 1);
});

test('a cell is notified, strongly or weakly, until that notification is cleared', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const client = database.client('A');
  const notifying = await client.begin();
  put(notifying, { 'x:seen': '1' });
  notifying.notifyWeakly(cell('y:seen'));
  const timestamp = await notifying.commit();
  const notificationsOf = async (row: string): Promise<readonly boolean[]> => {
    const notified = { table: 't', row, column: 'seen' };
    return [
      await isNotified(database.store, { ...notified, weak: false }),
      await isNotified(database.store, { ...notified, weak: true }),
    ];
  };
  assert.deepEqual(await notificationsOf('x'), [true, false]);
  assert.deepEqual(await notificationsOf('y'), [false, true]);
  const observer = { name: 'o', table: 't', column: 'seen', run: async () => {} };
  await runObservers(client.context, { ...cell('x:seen'), weak: false, timestamp }, [observer]);
  await runObservers(client.context, { ...cell('y:seen'), weak: true, timestamp }, [observer]);
  assert.deepEqual(await notificationsOf('x'), [false, false]);
  assert.deepEqual(await notificationsOf('y'), [false, false]);
});
