/**
 * Shared locks: they conflict with writers alone, in either order, whichever process finishes the
 * commit (P90, shared lock overlooked; P91, writer overlooked).
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  cell,
  once,
  openTestDatabase,
  put,
  type TestClient,
  type TestDatabase,
} from '../testing/index.ts';
import type { Transaction } from './index.ts';

const CONFLICT = { code: 'WRITE_CONFLICT' };
const SHARED = { shared: true } as const;
/** The mutation that commits a transaction of two rows; those before have locked them. */
const COMMIT_POINT = 3;

function open(): Promise<TestDatabase> {
  return openTestDatabase({ shared: ['c'] });
}

/** A transaction that shares a lock of `locked`, and writes `written`. */
async function locking(client: TestClient, locked: string, written: string): Promise<Transaction> {
  const transaction = await client.begin();
  await transaction.lock(cell(locked), SHARED);
  put(transaction, { [written]: client.context.liveness.self });
  return transaction;
}

async function writing(client: TestClient, ...names: string[]): Promise<Transaction> {
  const transaction = await client.begin();
  put(transaction, Object.fromEntries(names.map((name) => [name, client.context.liveness.self])));
  return transaction;
}

test('transactions that share a lock of one cell all commit, and leave its value', async () => {
  const database = await open();
  const clients = ['A', 'B', 'C'].map((name) => database.client(name));
  await database.client('setup').write({ x: 'value' });
  const all = await Promise.all(clients.map((one, i) => locking(one, 'x', `y${i}`)));
  await Promise.all(all.map((one) => one.commit()));
  await Promise.all(clients.map((one) => one.settled()));
  const read = await database.client('reader').read(['x', 'y0', 'y1', 'y2']);
  assert.deepEqual(read, { x: 'value', y0: 'A', y1: 'B', y2: 'C' });
  assert.deepEqual(await database.locks(), []);
});

describe('conflicts with a writer that overlaps:', () => {
  test('the writer commits first', async () => {
    const database = await open();
    const sharing = await locking(database.client('A'), 'x', 'y');
    await (await writing(database.client('B'), 'x')).commit();
    await assert.rejects(sharing.commit(), {
      ...CONFLICT,
      message: /t\/x\/c was written by a transaction that committed first/,
    });
  });

  test('the lock commits first', async () => {
    const database = await open();
    const a = database.client('A');
    const sharing = await locking(a, 'x', 'y');
    const writer = await writing(database.client('B'), 'x');
    await sharing.commit();
    await a.settled();
    await assert.rejects(writer.commit(), {
      ...CONFLICT,
      message: /t\/x\/c was locked with others by a transaction that committed first/,
    });
  });

  for (const [what, lock] of [
    ['written', async (one: Transaction): Promise<void> => put(one, { x: 'B' })],
    ['deleted', async (one: Transaction): Promise<void> => one.delete(cell('x'))],
    ['locked alone', (one: Transaction): Promise<void> => one.lock(cell('x'))],
  ] as const) {
    test(`while the lock is there, the cell is ${what}`, async () => {
      const database = await open();
      const [a, b] = [database.client('A'), database.client('B')];
      const sharing = await locking(a, 'x', 'y');
      const writer = await b.begin();
      await lock(writer);
      a.beforeMutation(COMMIT_POINT, async () => {
        await assert.rejects(writer.commit(), { ...CONFLICT, message: /t\/x\/c is locked by/ });
      });
      await sharing.commit();
    });
  }

  test('while the writer’s lock is there, the cell is locked', async () => {
    const database = await open();
    const [a, b] = [database.client('A'), database.client('B')];
    const writer = await writing(a, 'x');
    const sharing = await locking(b, 'x', 'y');
    a.beforeMutation(2, async () => {
      await assert.rejects(sharing.commit(), CONFLICT);
    });
    await writer.commit();
  });
});

test('a writer that began after the lock’s commit, and a lock after the writer’s, meet nothing', async () => {
  const database = await open();
  const [a, b] = [database.client('A'), database.client('B')];
  for (let i = 0; i < 3; i++) {
    await (await locking(a, 'x', 'y')).commit();
    await a.settled();
    await (await writing(b, 'x')).commit();
  }
  assert.deepEqual(await b.read(['x', 'y']), { x: 'B', y: 'A' });
});

test('write skew closes where one of the two shares a lock, also if it commits first', async () => {
  const database = await open();
  await database.client('setup').write({ one: '10', two: '20' });
  const [t1, t2] = [database.client('T1'), database.client('T2')];
  const first = await locking(t1, 'two', 'one');
  const second = await writing(t2, 'two');
  await first.commit();
  await t1.settled();
  await assert.rejects(second.commit(), CONFLICT);
});

test('the locks of dead owners are resolved by the writer that meets them, all at once', async () => {
  const database = await open();
  await database.client('setup').write({ x: 'value' });
  for (const [name, after] of [
    ['undone', COMMIT_POINT - 1],
    ['done', COMMIT_POINT],
  ] as const) {
    const client = database.client(name);
    client.store.crashAfter(client.store.mutationCount + after);
    const sharing = await locking(client, 'x', name);
    await sharing.commit().catch(() => {});
    await client.settled().catch(() => {});
    database.bury(name);
  }
  assert.deepEqual(await database.locks(), ['undone:c', 'x:ack_%read:c', 'x:ack_%read:c']);
  const b = database.client('B');
  await assert.rejects((await writing(b, 'x')).commit(), CONFLICT);
  assert.deepEqual(await database.locks(), []);
  await (await writing(b, 'x')).commit();
  assert.deepEqual(await b.read(['x', 'done', 'undone']), {
    x: 'B',
    done: 'done',
    undone: undefined,
  });
});

test('P14: a copy of a prewrite of a shared lock that arrives after the commit locks nothing', async () => {
  const database = await open();
  const a = database.client('A');
  a.store.duplicate(({ operation, row }) => operation === 'checkAndMutateRows' && row === 'x');
  await (await locking(a, 'x', 'y')).commit();
  await a.settled();
  await a.store.deliverDuplicates();
  assert.deepEqual(await database.locks(), []);
  await (await locking(database.client('B'), 'x', 'y')).commit(); // It shares the cell as before.
});

test('P12: a prewrite of a shared lock whose answer is lost is no conflict', async () => {
  const database = await open();
  const [a, b] = [database.client('A'), database.client('B')];
  const other = await locking(b, 'x', 'z');
  a.store.loseAnswer(once(({ row }) => row === 'x'));
  const sharing = await locking(a, 'x', 'y');
  b.beforeMutation(COMMIT_POINT, () => database.runUntil(sharing.commit()));
  await other.commit();
  await Promise.all([a.settled(), b.settled()]);
  assert.deepEqual(await b.read(['y', 'z']), { y: 'A', z: 'B' });
});

test('a write of the cell takes the place of its shared lock, before and after', async () => {
  const database = await open();
  const [a, b] = [database.client('A'), database.client('B')];
  const transaction = await a.begin();
  await transaction.lock(cell('x'), SHARED);
  await transaction.lock(cell('y'), SHARED);
  await transaction.lock(cell('y'));
  put(transaction, { x: 'new', z: 'new' });
  await transaction.lock(cell('z'), SHARED);
  await transaction.commit();
  assert.deepEqual(await b.read(['x', 'y', 'z']), { x: 'new', y: undefined, z: 'new' });
  const cells = await Promise.all(
    ['x', 'y', 'z'].map((name) => database.stored(`${name}:ack_%read:c`)),
  );
  assert.deepEqual(cells, [{}, {}, {}]);
  assert.match((await database.stored('y'))['write'] ?? '', / touch /);
});

test('no shared lock is a primary, wherever it was asked for first', async () => {
  const database = await open();
  const a = database.client('A');
  const transaction = await a.begin();
  await transaction.lock(cell('x'), SHARED);
  put(transaction, { y: '1', x: undefined });
  await transaction.lock(cell('w'), SHARED);
  a.beforeMutation(4, async () => {
    const { lock } = await database.stored('w:ack_%read:c');
    assert.match(lock ?? '', /: lock of t\/y:c at /);
  });
  await transaction.commit();
});

test('a transaction that only shares locks sends nothing, and is never refused', async () => {
  const database = await open();
  const a = database.client('A');
  const transaction = await a.begin();
  await transaction.lock(cell('x'), SHARED);
  await database.client('B').write({ x: 'newer' });
  const before = a.store.mutationCount;
  assert.equal(await transaction.commit(), transaction.startTimestamp);
  assert.equal(a.store.mutationCount, before);
});

test('a shared lock of a column that takes none is refused in a sentence, before anything is sent', async () => {
  const database = await openTestDatabase();
  const transaction = await database.client('A').begin();
  await assert.rejects(transaction.lock(cell('x'), SHARED), {
    code: 'INVALID_ARGUMENT',
    message: 't/x/c takes no shared locks: create table t with column c among its sharedColumns',
  });
  await assert.rejects(transaction.lock(cell('x'), { shared: 'yes' } as never), {
    code: 'INVALID_ARGUMENT',
    message: /shared/,
  });
});

test('it is refused also where the cell is written already: the order makes no difference', async () => {
  const transaction = await (await openTestDatabase()).client('A').begin();
  put(transaction, { x: '1' });
  await assert.rejects(transaction.lock(cell('x'), SHARED), {
    code: 'INVALID_ARGUMENT',
    message: /^t\/x\/c takes no shared locks/,
  });
});

test('a scan of all columns neither waits for shared locks nor shows them', async () => {
  const database = await open();
  const [a, b] = [database.client('A'), database.client('B')];
  await b.write({ x: 'value' });
  const sharing = await locking(a, 'x', 'y');
  const seen: (string | undefined)[] = [];
  a.beforeMutation(COMMIT_POINT, async () => {
    const reader = await b.begin();
    for await (const { row, values } of reader.scan({ table: 't', end: 'y' })) {
      seen.push(row, ...values.keys());
    }
  });
  await sharing.commit();
  assert.deepEqual(seen, ['x', 'c']);
  assert.equal(b.context.counters.lockWaits, 0);
});
