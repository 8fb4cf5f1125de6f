/**
 * What a transaction releases when it does not reach its end, and single claims about its parts:
 * reserved columns, counters, the report to workers, dead locks, notifications, touched columns.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PercolatorError } from '../base/index.ts';
import { cell, type TestClient, openTestDatabase, put, VirtualClock } from '../testing/index.ts';
import { begin, type Context, snapshotAt, transact } from './index.ts';
import { createLockWatch, type Lock } from './locks.ts';
import { isNotification } from './notifications.ts';

/** The client's context, and how many of its holds have not been released. */
function counted({ context }: TestClient): {
  readonly context: Context;
  readonly held: () => number;
} {
  const held = new Set<object>();
  const count = async (given: Promise<Awaited<ReturnType<Context['leases']['enter']>>>) => {
    const hold = await given;
    held.add(hold);
    const release = (): void => {
      held.delete(hold);
      hold.release();
    };
    return { ...hold, release };
  };
  const leases = {
    ...context.leases,
    enter: () => count(context.leases.enter()),
    pin: (timestamp: number) => count(context.leases.pin(timestamp)),
  };
  return { context: { ...context, leases }, held: () => held.size };
}

describe('nothing is held any more', () => {
  test('when a transaction could not begin', async () => {
    const database = await openTestDatabase();
    const { context, held } = counted(database.client('A'));
    database.oracle.beforeNext = () => {
      throw new PercolatorError('STORE_UNAVAILABLE', 'no oracle');
    };
    await assert.rejects(begin(context), { code: 'STORE_UNAVAILABLE' });
    assert.equal(held(), 0);
  });

  test('when the function of a transaction throws, and the transaction is closed', async () => {
    const database = await openTestDatabase();
    const { context, held } = counted(database.client('A'));
    let left: { get(address: ReturnType<typeof cell>): Promise<unknown> } | undefined;
    const failing = transact(context, async (transaction) => {
      left = transaction;
      assert.equal(held(), 1);
      throw new Error('not today');
    });
    await assert.rejects(failing, /not today/);
    assert.equal(held(), 0);
    await assert.rejects(left?.get(cell('x')) ?? Promise.resolve(), { code: 'TRANSACTION_CLOSED' });
  });

  test('when a snapshot of the past comes too late', async () => {
    const database = await openTestDatabase();
    const a = database.client('A');
    const first = await a.write({ x: '1' });
    await database.oracle.raiseHorizon(first + 5);
    const { context, held } = counted(a);
    await assert.rejects(snapshotAt(context, first), { code: 'STALE_SNAPSHOT' });
    assert.equal(held(), 0);
  });
});

test('columns of acknowledgments are refused wherever a column is named', async () => {
  const database = await openTestDatabase();
  const transaction = await database.client('A').begin();
  const reserved = { table: 't', row: 'x', column: 'ack_o:c' };
  const refusal = { code: 'INVALID_ARGUMENT', message: /are for acknowledgments/ };
  await assert.rejects(transaction.get(reserved), refusal);
  await assert.rejects(transaction.getMany([cell('x'), reserved]), refusal);
  await assert.rejects(transaction.lock(reserved), refusal);
  await assert.rejects(
    async () => Array.fromAsync(transaction.scan({ table: 't', columns: ['c', 'ack_o:c'] })),
    refusal,
  );
  assert.throws(() => transaction.set(reserved, '1'), refusal);
  assert.throws(() => transaction.delete(reserved), refusal);
  assert.throws(() => transaction.notifyWeakly(reserved), refusal);
});

test('counters begin at zero', async () => {
  const database = await openTestDatabase();
  const { counters } = database.client('A').context;
  assert.deepEqual([...new Set(Object.values(counters))], [0]);
});

test('a commit that leaves one notification tells the workers of its process at once', async () => {
  const database = await openTestDatabase({ observed: ['c'] });
  const a = database.client('A');
  const reported: number[] = [];
  a.context.workers.add({
    observes: () => true,
    tell: ({ strong, commitTimestamp }) => reported.push(strong.length, commitTimestamp),
  });
  const asserted = Promise.withResolvers<void>();
  // The second phase, after two prewrites, the notification and the commit of the primary.
  a.beforeMutation(5, () => asserted.promise);
  const observed = await a.begin();
  put(observed, { x: '1', 'y:other': '1' });
  const committed = await observed.commit();
  assert.deepEqual(reported, [1, committed], 'the second phase has not ended');
  asserted.resolve();
  await a.settled();
  const transaction = await a.begin();
  put(transaction, { 'x:other': '1' });
  await transaction.commit();
  assert.equal(reported.length, 2, 'that column is not observed');
});

test('P24: a lock is dead when it has not changed for its time to live, and not a moment earlier', async () => {
  const clock = new VirtualClock();
  const watch = createLockWatch(clock);
  const primary = cell('p');
  const lock: Lock = {
    startTimestamp: 1,
    primary,
    operation: 'put',
    owner: 'A',
    wallMs: 0,
    timeToLiveMs: 1_000,
    heartbeat: 0,
  };
  assert.equal(watch.isExpired(lock, clock.monotonicMs()), false);
  await clock.advance(999);
  const askedMs = clock.monotonicMs();
  assert.equal(watch.isExpired(lock, askedMs), false);
  await clock.advance(1);
  assert.equal(watch.isExpired(lock, askedMs), false, 'a slow answer shows the lock as it was');
  assert.equal(watch.isExpired(lock, clock.monotonicMs()), true);
  const beating = { ...lock, heartbeat: 1 };
  assert.equal(watch.isExpired(beating, clock.monotonicMs()), false, 'its heartbeat has changed');
  await clock.advance(1_000);
  assert.equal(watch.isExpired(beating, clock.monotonicMs()), true);
});

test('a notification is a mutation that sets a notify cell, strong or weak, and not one that clears it', () => {
  const at = { qualifier: 'c', timestamp: 1, value: new Uint8Array() };
  const mutation = (family: string, kind: 'set' | 'erase') => ({
    table: 'u',
    row: 'x',
    mutations: [
      kind === 'set'
        ? ({ kind, family, ...at } as const)
        : ({ kind, family, qualifier: 'c', from: 0, to: 1 } as const),
    ],
  });
  assert.deepEqual(
    ['notify', 'weak', 'data'].map((family) => isNotification(mutation(family, 'set'))),
    [true, true, false],
  );
  assert.deepEqual(
    ['notify', 'weak'].map((family) => isNotification(mutation(family, 'erase'))),
    [false, false],
  );
});

test('a touched column, one that was written since, and one without a value are one read', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  await a.write({ 'x:touched': '1', 'x:written': '1' });
  for (let i = 0; i < 3; i++) {
    const transaction = await a.begin();
    await transaction.lock(cell('x:touched'));
    await transaction.commit();
  }
  await a.write({ 'x:written': '2' });
  const callsBefore = a.store.trace.length;
  assert.deepEqual(await a.read(['x:touched', 'x:written', 'x:none']), {
    'x:touched': '1',
    'x:written': '2',
    'x:none': undefined,
  });
  assert.equal(a.store.trace.length, callsBefore + 1);
});
