/** P45: failures are remembered for as long as the cell may be met again, and no longer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase, VirtualClock } from '../testing/index.ts';
import { Failures } from './failures.ts';
import { type Observer, Worker } from './index.ts';
import { runObservers } from './run-observer.ts';

test('P45: a worker forgets the cells that fail in it and that other workers finish', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const [failing, healthy] = [database.client('failing'), database.client('healthy')];
  const observer = (run: Observer['run']): Observer => ({
    name: 'o',
    table: 't',
    column: 'seen',
    run,
  });
  const fails = observer(() => Promise.reject(new Error('not here')));
  const works = observer(async () => {});
  const worker = new Worker(failing.context, [fails], { failuresMax: 1_000 });
  let most = 0;
  for (let i = 0; i < 10; i++) {
    const cell = { table: 't', row: `row ${i}`, column: 'seen' };
    const timestamp = await database.clock.runUntil(healthy.write({ [`row ${i}:seen`]: '1' }));
    await database.clock.advance(1_000);
    most = Math.max(most, worker.failing);
    await database.clock.runUntil(
      runObservers(healthy.context, { ...cell, weak: false, timestamp }, [works]),
    );
    await database.clock.advance(10_000);
  }
  assert.ok(most > 0 && most < 5, `${most} at a time`);
  await database.clock.advance(70_000);
  assert.equal(worker.failing, 0);
  await worker.stop();
});

test('P45: a cell that is still marked is not forgotten, however long it takes until it is run', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const failures: number[] = [];
  const run = (): Promise<never> => Promise.reject(new Error('indigestible'));
  const client = database.client('failing');
  const worker = new Worker(client.context, [{ name: 'o', table: 't', column: 'seen', run }], {
    failuresMax: 12,
    onFailure: (failure) => failures.push(failure.failures),
  });
  await database.clock.runUntil(database.client('other').write({ 'x:seen': '1' }));
  await database.clock.advance(600_000);
  assert.deepEqual(failures, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], 'and it is parked');
  assert.equal(worker.failing, 0);
  await worker.stop();
});

test('P45: after a scan that was not whole only what has rested for long is forgotten, and nothing that is underway', async () => {
  const clock = new VirtualClock();
  const failures = new Failures(clock, 10);
  failures.add('x');
  await clock.advance(60_000);
  const sweep = (isWhole: boolean, isUnderway = false): void =>
    failures.sweep({ beganMs: clock.monotonicMs(), isWhole }, () => isUnderway);
  sweep(false);
  assert.equal(failures.add('x'), 2, 'it was remembered');
  await clock.advance(60_000);
  sweep(true, true);
  assert.equal(failures.add('x'), 3, 'it was underway');
  await clock.advance(4_000_000);
  sweep(false);
  assert.equal(failures.size, 0);
});
