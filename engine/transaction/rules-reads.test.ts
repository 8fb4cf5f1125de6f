/**
 * The rules of protocol.md about reading and contention, P19 to P23. Each test that names a rule
 * fails without it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PercolatorError } from '../base/index.ts';
import { cell, once, openTestDatabase, put, type TestDatabase } from '../testing/index.ts';
import { backoffMs } from './context.ts';
import { transact } from './index.ts';

test('P19: a reader ignores a lock above its snapshot', async () => {
  // The clock does not move: a reader that waited would hang.
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  await a.write({ x: 'old' });
  const reader = await b.begin();
  a.beforeMutation(2, async () => {
    assert.deepEqual(await database.locks(), ['x:c']);
    assert.equal((await reader.get(cell('x')))?.toString(), 'old');
    assert.equal(b.context.counters.lockWaits, 0);
  });
  await a.write({ x: 'new' });
});

test('P19: a lock at or below the snapshot is waited for', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  let read: Promise<unknown> | undefined;
  a.beforeMutation(2, async () => {
    read = b.read(['x']);
    await database.clock.yield();
    assert.ok(b.context.counters.lockWaits > 0);
  });
  await a.write({ x: 'new' });
  assert.deepEqual(await database.clock.runUntil(read as Promise<unknown>), { x: 'new' });
});

test('P19: a writer conflicts with any lock, also one that is newer than its start', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  const older = await b.begin();
  put(older, { x: 'older' });
  a.beforeMutation(2, () => assert.rejects(older.commit(), { code: 'WRITE_CONFLICT' }));
  await a.write({ x: 'newer' });
  assert.deepEqual(await b.read(['x']), { x: 'newer' });
});

test('P20: lock, write and data come from one read of the row', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  for (let i = 0; i < 5; i++) await a.write({ 'x:one': String(i), 'x:two': String(i) });
  assert.deepEqual(await b.read(['x:one', 'x:two']), { 'x:one': '4', 'x:two': '4' });
  assert.equal(b.store.trace.length, 1);
});

test('P20: data of a transaction that began before the snapshot and committed after it is passed over', async () => {
  // With one version of data asked for, the read would come back without the version it needs.
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  await a.write({ x: 'visible' });
  const later = await a.begin();
  const reader = await b.begin();
  put(later, { x: 'invisible' });
  await later.commit();
  assert.equal((await reader.get(cell('x')))?.toString(), 'visible');
  assert.equal(b.store.trace.length, 1, 'and one read is enough');
});

test('P20: data that was committed after the snapshot is passed over also if what the snapshot sees was touched', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  await a.write({ x: 'visible' });
  for (let i = 0; i < 3; i++) {
    await transact(a.context, (transaction) => transaction.lock(cell('x')));
  }
  const later = await a.begin();
  const reader = await b.begin();
  put(later, { x: 'invisible' });
  await later.commit();
  assert.equal((await reader.get(cell('x')))?.toString(), 'visible');
  assert.equal(b.store.trace.length, 1, 'and one read is enough');
});

test('P20: a row that changes between two reads of one transaction is seen as it was', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  await a.write({ 'x:one': '1', 'x:two': '1' });
  const reader = await b.begin();
  const one = (await reader.get(cell('x:one')))?.toString();
  await a.write({ 'x:one': '2', 'x:two': '2' });
  assert.deepEqual([one, (await reader.get(cell('x:two')))?.toString()], ['1', '1']);
});

for (const point of ['before', 'after'] as const) {
  test(`P21: writers that never read clean up after a client that died ${point} its commit point`, async () => {
    // Without cleanUpAfter they would meet the lock, abort, retry and abort forever.
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B')];
    a.store.crashAfter(point === 'before' ? 2 : 3);
    await assert.rejects(a.write({ p: 'dead', x: 'dead' }));
    const work = transact(b.context, async (transaction) => put(transaction, { x: 'alive' }));
    await database.clock.runUntil(work);
    const expected = { p: point === 'before' ? undefined : 'dead', x: 'alive' };
    assert.deepEqual(await b.read(['p', 'x']), expected);
  });
}

test('P21: a clean-up without an answer does not turn a conflict into another error', async () => {
  // The conflict is certain, so the transaction is certainly not committed, and may be run again.
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  a.store.crashAfter(2);
  await assert.rejects(a.write({ p: 'dead', x: 'dead' }));
  database.bury('A');
  b.store.loseAnswer(once(({ operation }) => operation === 'checkAndMutateRow'));
  await assert.rejects(b.write({ x: 'alive' }), { code: 'WRITE_CONFLICT' });
  const unavailable = database.client('C');
  unavailable.store.beforeCall = (call) => {
    if (call.kind === 'read' && call.rows[0] === 'p') {
      throw new PercolatorError('STORE_UNAVAILABLE', 'no reads of p');
    }
  };
  await assert.rejects(unavailable.write({ x: 'alive' }), { code: 'WRITE_CONFLICT' });
});

test('P21: the lock that the last attempt of a prewrite meets is reported and cleaned up', async () => {
  // If A reported only that it got no answer, the lock would stay, and A's next attempt would meet
  // it again.
  const database = await openTestDatabase();
  const [a, b] = [database.client('A', { inDoubtAttemptsMax: 1 }), database.client('B')];
  a.store.loseRequest(once(({ operation }) => operation === 'checkAndMutateRows'));
  b.store.crashAfter(1);
  a.beforeMutation(2, async () => {
    await assert.rejects(b.write({ x: 'dead' }));
    database.bury('B');
  });
  const written = database.clock.runUntil(a.write({ x: 'alive' }));
  await assert.rejects(written, { code: 'WRITE_CONFLICT' });
  assert.deepEqual(await database.locks(), []);
});

test('a prewrite whose last attempt is refused fails with the refusal', async () => {
  const database = await openTestDatabase();
  const a = database.client('A', { inDoubtAttemptsMax: 1 });
  a.store.loseRequest(once(({ operation }) => operation === 'checkAndMutateRows'));
  a.beforeMutation(2, () => database.store.dropTable('t'));
  const written = database.clock.runUntil(a.write({ x: '1' }));
  await assert.rejects(written, { code: 'TABLE_NOT_FOUND' });
});

test('a read whose clean-up has no answer looks again', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  a.store.crashAfter(3);
  await assert.rejects(a.write({ p: '1', x: '1' }));
  database.bury('A');
  for (const lost of ['loseRequest', 'loseAnswer'] as const) {
    b.store[lost](once(({ operation }) => operation === 'checkAndMutateRow'));
  }
  assert.deepEqual(await database.clock.runUntil(b.read(['x', 'p'])), { x: '1', p: '1' });
});

test('P22: a writer in a conflict fails at once and waits for no other', async () => {
  // The clock does not move: a writer that slept while it holds locks would hang.
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  const loser = await b.begin();
  put(loser, { y: '2', x: '2' });
  a.beforeMutation(2, () => assert.rejects(loser.commit(), { code: 'WRITE_CONFLICT' }));
  await a.write({ x: '1' });
  assert.deepEqual(await b.read(['x', 'y']), { x: '1', y: undefined });
});

/** What a transaction of A may fail of between its prewrite and its commit point. */
const FAILURES: Readonly<Record<string, (database: TestDatabase) => Promise<void>>> = {
  ROLLED_BACK: async (database) => {
    database.bury('A'); // Wrongly.
    assert.deepEqual(await database.client('C').read(['p']), { p: undefined });
  },
  STALE_SNAPSHOT: async ({ oracle }) => {
    oracle.horizon = (oracle.given.at(-1) ?? 0) + 1;
  },
  STORE_UNAVAILABLE: async () => {
    throw new PercolatorError('STORE_UNAVAILABLE', 'no timestamps for now');
  },
};

test('P22: a transaction that has lost a conflict locks its primary first when it runs again', async () => {
  const database = await openTestDatabase();
  const [first, second] = await rowsOfTwoRuns(database, () =>
    database.client('B').write({ p: '2' }),
  );
  assert.deepEqual(first, ['p', 'x', 'y'], 'all at once');
  assert.deepEqual(second, ['p'], 'nothing else was locked in vain');
});

for (const [code, fail] of Object.entries(FAILURES)) {
  test(`P22: a transaction that has failed with ${code} locks its primary first when it runs again`, async () => {
    const database = await openTestDatabase();
    const [first, second] = await rowsOfTwoRuns(database, async () => {
      database.oracle.beforeNext = async () => {
        database.oracle.beforeNext = undefined;
        await fail(database);
      };
    });
    assert.deepEqual(first?.slice(0, 3), ['p', 'x', 'y'], 'all at once');
    assert.deepEqual(second, ['p'], 'nothing else was locked in vain');
  });
}

/**
 * The rows to which A sends conditional mutations, in the two runs of a transaction of three rows:
 * one that fails as `failFirst` arranges, and one that loses a conflict over its primary.
 */
async function rowsOfTwoRuns(
  database: TestDatabase,
  failFirst: () => Promise<unknown>,
): Promise<readonly (readonly string[])[]> {
  const [a, b] = [database.client('A'), database.client('B')];
  const rows: string[][] = [];
  a.store.beforeCall = (call) => {
    if (call.kind === 'mutation' && call.anyOf !== undefined) rows.at(-1)?.push(call.row);
  };
  const work = transact(a.context, async (transaction) => {
    rows.push([]);
    put(transaction, { p: '1', x: '1', y: '1' });
    if (rows.length === 1) await failFirst();
    if (rows.length === 2) await b.write({ p: '2' });
  });
  await database.clock.runUntil(work);
  assert.deepEqual(await b.read(['p', 'x', 'y']), { p: '1', x: '1', y: '1' });
  return rows;
}

test('P23: backoff grows, is capped, and differs between losers', async () => {
  const database = await openTestDatabase();
  const { context } = database.client('A', { backoffMsMin: 2, backoffMsMax: 50 });
  const draw = (attempt: number): number[] =>
    Array.from({ length: 200 }, () => backoffMs(context, attempt));
  assert.ok(Math.max(...draw(1)) <= 4);
  assert.ok(Math.max(...draw(10)) <= 50);
  assert.ok(Math.max(...draw(1_000)) <= 50);
  assert.ok(Math.max(...draw(10)) > 25);
  assert.ok(new Set(draw(10)).size > 100);
});

test('P23: a transaction that always loses gives up after attemptsMax with the last conflict', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A', { attemptsMax: 4 }), database.client('B')];
  let runs = 0;
  const work = transact(a.context, async (transaction) => {
    runs++;
    put(transaction, { x: '1' });
    await b.write({ x: '2' });
  });
  await assert.rejects(database.clock.runUntil(work), { code: 'WRITE_CONFLICT' });
  assert.equal(runs, 4);
});

test('a reader gives up with LOCKED when a live transaction takes too long', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B', { lockWaitMsMax: 300 })];
  const transaction = await a.begin();
  put(transaction, { x: '1' });
  const gate = Promise.withResolvers<void>();
  database.oracle.beforeNext = () =>
    database.oracle.given.length === 1 ? gate.promise : undefined;
  const committing = transaction.commit();
  await database.clock.yield();
  await assert.rejects(database.clock.runUntil(b.read(['x'], 1)), { code: 'LOCKED' });
  gate.resolve();
  await committing;
});

test('a reader does not wait without limit for a commit of its own process', async () => {
  const database = await openTestDatabase();
  const a = database.client('A', { lockWaitMsMax: 300 });
  const held = Promise.withResolvers<void>();
  const transaction = await a.begin();
  put(transaction, { x: '1' });
  database.oracle.beforeNext = () => held.promise;
  const committing = transaction.commit();
  for (let i = 0; i < 50; i++) await Promise.resolve(); // Until the commit asks for its timestamp.
  database.oracle.beforeNext = undefined;
  const read = a.read(['x'], database.oracle.given.at(-1)).catch((error: Error) => error);
  await database.clock.advance(1_000);
  held.resolve();
  await committing;
  assert.equal(((await read) as PercolatorError).code, 'LOCKED');
});
