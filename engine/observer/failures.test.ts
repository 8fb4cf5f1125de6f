/**
 * P45: failures are remembered for as long as the cell may be met again, and no longer; and which
 * errors of a run are failures.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PercolatorError } from '../base/index.ts';
import type { RangeLocks } from '../lock-service/index.ts';
import { type WatchedCall, openTestDatabase, put, VirtualClock } from '../testing/index.ts';
import { Failures } from './failures.ts';
import { type CommittedRun, type Observer, Worker } from './index.ts';
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

test('P45: a cell that is still notified is not forgotten, however long it waits to be run', async () => {
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

test('P45: a scan that was not whole forgets only cells whose rest was over long ago, and no scan forgets one in flight', async () => {
  const clock = new VirtualClock();
  const failures = new Failures(clock, 10);
  failures.add('x');
  await clock.advance(60_000);
  const sweep = (isWhole: boolean, isInFlight = false): void =>
    failures.sweep({ beganMs: clock.monotonicMs(), isWhole }, () => isInFlight);
  sweep(false);
  assert.equal(failures.add('x'), 2, 'it was remembered');
  await clock.advance(60_000);
  sweep(true, true);
  assert.equal(failures.add('x'), 3, 'it was in flight');
  await clock.advance(4_000_000);
  sweep(false);
  assert.equal(failures.size, 0);
});

for (const [what, code] of [
  ['met a conflict', 'WRITE_CONFLICT'],
  ['received no answer', 'COMMIT_UNKNOWN'],
] as const) {
  test(`P45: a failure of one observer counts, although another observer of the cell ${what}`, async () => {
    const database = await openTestDatabase({ observed: ['seen'] });
    const reported = Promise.withResolvers<unknown>();
    const passing = new PercolatorError(code, 'for a while');
    const observers = [passing, new Error('indigestible')].map((error, i): Observer => ({
      name: `o${i}`,
      table: 't',
      column: 'seen',
      run: () => Promise.reject(error),
    }));
    const worker = new Worker(database.client('A').context, observers, {
      onFailure: ({ error }) => reported.resolve(error),
    });
    await database.clock.runUntil(database.client('other').write({ 'x:seen': '1' }));
    assert.equal(String(await database.clock.runUntil(reported.promise)), 'Error: indigestible');
    await worker.stop();
  });
}

for (const [code, lastsMs, most] of [
  ['COMMIT_UNKNOWN', 10_000, Infinity],
  ['STORE_IN_DOUBT', 10_000, Infinity],
  ['STORE_FULL', 60_000, 11],
  ['STORE_DAMAGED', 60_000, 11],
  ['STORE_REFUSED', 60_000, 11], // After rests of 50 ms, 100 ms, ... 25.6 s.
] as const) {
  test(`P45: a run that ends with ${code} is run again, and does not count as a failure`, async () => {
    const database = await openTestDatabase({ observed: ['seen'] });
    let runs = 0;
    const run = (): Promise<never> => {
      runs++;
      return Promise.reject(new PercolatorError(code, 'for a while'));
    };
    const client = database.client('A');
    const worker = new Worker(client.context, [{ name: 'o', table: 't', column: 'seen', run }]);
    await database.clock.runUntil(database.client('other').write({ 'x:seen': '1' }));
    await database.clock.advance(lastsMs);
    assert.ok(runs > 10 && runs <= most, `${runs} runs`);
    assert.equal(worker.counters.failures, 0);
    await worker.stop();
  });
}

test('a run whose commit got no answer is told to onCommitted and counted once, if it has committed', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const client = database.client('A');
  const told: CommittedRun[] = [];
  let [isAway, commits, runs] = [false, 0, 0];
  const error = (kind: WatchedCall['kind']): PercolatorError =>
    new PercolatorError(kind === 'read' ? 'STORE_UNAVAILABLE' : 'STORE_IN_DOUBT', 'away');
  client.store.beforeCall = ({ kind }) => {
    if (isAway) throw error(kind);
  };
  client.store.afterCall = ({ kind, operation }) => {
    if (operation !== 'checkAndMutateRow' || ++commits > 1) return;
    isAway = true;
    throw error(kind);
  };
  const run: Observer['run'] = async (transaction) => {
    runs++;
    put(transaction, { 'a:done': '1' });
  };
  const observers = [{ name: 'o', table: 't', column: 'seen', run }];
  const worker = new Worker(client.context, observers, { onCommitted: (one) => told.push(one) });
  await database.clock.runUntil(database.client('other').write({ 'a:seen': '1' }));
  await database.clock.advance(3_000);
  isAway = false;
  await database.clock.runUntil(worker.idle());
  assert.equal(client.context.counters.unknown, 1);
  assert.deepEqual([runs, worker.counters.runs, worker.counters.clean], [1, 1, 0]);
  assert.equal(told.length, 1);
  const reader = database.client('reader');
  for (const [at, done] of [
    [told[0]?.startTimestamp, undefined],
    [told[0]?.commitTimestamp, '1'],
  ] as const) {
    const { 'a:done': found } = await reader.read(['a:done'], at);
    assert.equal(found, done);
  }
  await worker.stop();
});

test('P45: an observer that asks for a table that does not exist fails, and its cell is parked', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const missing = new PercolatorError('TABLE_NOT_FOUND', 'there is no Percolator table missing');
  const run = (): Promise<never> => Promise.reject(missing);
  const client = database.client('A');
  const observer = { name: 'o', table: 't', column: 'seen', run };
  const worker = new Worker(client.context, [observer], { failuresMax: 2 });
  await database.clock.runUntil(database.client('other').write({ 'x:seen': '1' }));
  await database.clock.advance(10_000);
  assert.deepEqual([worker.counters.failures, worker.counters.parked], [2, 1]);
  assert.equal(worker.failing, 0);
  await worker.stop();
});

test('P45: an observer that throws undefined fails, also next to one that only meets conflicts', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const throwing = (name: string, error: unknown): Observer => {
    const run = (): Promise<never> => Promise.reject(error);
    return { name, table: 't', column: 'seen', run };
  };
  const conflict = new PercolatorError('WRITE_CONFLICT', 'always');
  const observers = [throwing('loses', conflict), throwing('fails', undefined)];
  const worker = new Worker(database.client('A').context, observers, { failuresMax: 2 });
  await database.clock.runUntil(database.client('other').write({ 'x:seen': '1' }));
  await database.clock.advance(60_000);
  assert.deepEqual([worker.counters.failures, worker.counters.parked], [2, 1]);
  await worker.stop();
});

test('P45: a cell is parked even if what its observer throws cannot be written as text', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const run = (): Promise<never> => Promise.reject(Object.create(null));
  const client = database.client('A');
  const observer = { name: 'o', table: 't', column: 'seen', run };
  const worker = new Worker(client.context, [observer], { failuresMax: 2 });
  await database.clock.runUntil(database.client('other').write({ 'x:seen': '1' }));
  await database.clock.advance(10_000);
  assert.deepEqual([worker.counters.failures, worker.counters.parked], [2, 1]);
  await worker.stop();
});

test('P45: failures are remembered while other scanners are in the way', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  let isTaken = false;
  const rangeLocks: RangeLocks = {
    tryLock: async () => (isTaken ? undefined : { release: () => {} }),
  };
  const run = (): Promise<never> => {
    isTaken = true;
    return Promise.reject(new Error('indigestible'));
  };
  const client = database.client('A');
  const observer = { name: 'o', table: 't', column: 'seen', run };
  const worker = new Worker(client.context, [observer], { rangeLocks });
  await database.clock.runUntil(database.client('other').write({ 'x:seen': '1' }));
  await database.clock.advance(60_000);
  assert.deepEqual([worker.counters.failures, worker.failing], [1, 1]);
  await worker.stop();
});

test('a worker is not idle while its only dirty cell is locked by another scanner', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  let isTaken = true;
  const rangeLocks: RangeLocks = {
    tryLock: async () => (isTaken ? undefined : { release: () => {} }),
  };
  const client = database.client('A');
  const observer = { name: 'o', table: 't', column: 'seen', run: async () => {} };
  await database.clock.runUntil(database.client('other').write({ 'x:seen': '1' }));
  const worker = new Worker(client.context, [observer], { rangeLocks });
  let isIdle = false;
  const idling = worker.idle().then(() => (isIdle = true));
  await database.clock.advance(10_000);
  assert.equal(isIdle, false);
  isTaken = false;
  await database.clock.runUntil(idling);
  assert.equal(worker.counters.runs, 1);
  await worker.stop();
});
