/**
 * The claims of `lock(cell)`: it conflicts with every writer, and changes nothing for any reader at
 * any timestamp, whichever process finishes the commit.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cell, type TestClient, openTestDatabase, put } from '../testing/index.ts';
import { transact } from './index.ts';

const touch = async (client: TestClient, ...names: string[]): Promise<void> => {
  await transact(client.context, async (transaction) => {
    for (const name of names) await transaction.lock(cell(name));
  });
  await client.settled();
};

test('a touched cell reads as before, at every timestamp, from every client', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  const written = await a.write({ x: 'value' });
  await touch(a, 'x');
  const after = await b.begin();
  for (const client of [a, b]) {
    for (let at = written; at <= after.startTimestamp; at++) {
      assert.deepEqual(await client.read(['x'], at), { x: 'value' });
    }
    assert.deepEqual(await client.read(['x'], written - 1), { x: undefined });
  }
});

test('a touch of a touch points to the data, not to the touch', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  await a.write({ x: 'value' });
  for (let i = 0; i < 5; i++) await touch(a, 'x');
  assert.deepEqual(await database.client('B').read(['x']), { x: 'value' });
  // The value is the data of 1, which was committed at 2.
  assert.match((await database.stored('x'))['write'] ?? '', /^12: 11 touch 1 2 \|/);
});

test('a touch leaves an absent and a deleted cell as they are, and both can be written afterwards', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  await a.write({ gone: 'value' });
  await a.write({ gone: undefined });
  await touch(a, 'gone', 'never');
  await touch(a, 'gone', 'never');
  assert.deepEqual(await b.read(['gone', 'never']), { gone: undefined, never: undefined });
  await a.write({ gone: 'back', never: 'first' });
  assert.deepEqual(await b.read(['gone', 'never']), { gone: 'back', never: 'first' });
});

test('touched, then deleted, then touched: each snapshot sees its own', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  await a.write({ x: 'one' });
  await touch(a, 'x');
  const before = (await b.begin()).startTimestamp;
  await a.write({ x: undefined });
  await touch(a, 'x');
  const between = (await b.begin()).startTimestamp;
  await a.write({ x: 'two' });
  assert.deepEqual(await b.read(['x'], before), { x: 'one' });
  assert.deepEqual(await b.read(['x'], between), { x: undefined });
  assert.deepEqual(await b.read(['x']), { x: 'two' });
});

test('a resolver that rolls a touch forward writes the record that its owner would have written', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  await a.write({ x: 'value' });
  a.store.crashAfter(a.store.mutationCount + 3);
  const dying = await a.begin();
  put(dying, { p: '1' });
  await dying.lock(cell('x'));
  await assert.rejects(
    dying
      .commit()
      .then(() => a.settled())
      .then(() => a.begin())
      .then((t) => t.get(cell('x'))),
  );
  assert.deepEqual(await database.locks(), ['x:c']);
  database.bury('A');
  assert.deepEqual(await b.read(['x', 'p']), { x: 'value', p: '1' });
  assert.match((await database.stored('x'))['write'] ?? '', /^4: 3 touch 1 2 \|/);
});

test('a touch that is rolled back leaves the value', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  await a.write({ x: 'value' });
  a.store.crashAfter(a.store.mutationCount + 1);
  await assert.rejects(touch(a, 'x'));
  database.bury('A');
  assert.deepEqual(await b.read(['x']), { x: 'value' });
  assert.deepEqual(await database.locks(), []);
});

test('a touch conflicts with a writer, and with another touch, in either order', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  await a.write({ x: 'value' });
  const writer = await b.begin();
  const other = await b.begin();
  put(writer, { x: 'lost' });
  await other.lock(cell('x'));
  await touch(a, 'x');
  await assert.rejects(writer.commit(), { code: 'WRITE_CONFLICT' });
  await assert.rejects(other.commit(), { code: 'WRITE_CONFLICT' });

  const late = await b.begin();
  await late.lock(cell('x'));
  await a.write({ x: 'newer' });
  await assert.rejects(late.commit(), { code: 'WRITE_CONFLICT' });
});

test('a write replaces a touch, and a touch does not replace a write', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  await a.write({ x: 'old', y: 'old' });
  const transaction = await a.begin();
  await transaction.lock(cell('x'));
  assert.equal((await transaction.get(cell('x')))?.toString(), 'old');
  put(transaction, { x: 'new', y: 'new' });
  await transaction.lock(cell('y'));
  await transaction.commit();
  assert.deepEqual(await a.read(['x', 'y']), { x: 'new', y: 'new' });
});

test('a write made while the lock is being looked at is not lost', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  const transaction = await a.begin();
  const locking = transaction.lock(cell('x'));
  put(transaction, { x: 'written meanwhile' });
  await locking;
  await transaction.commit();
  assert.deepEqual(await a.read(['x']), { x: 'written meanwhile' });
});

test('a touch of a cell under a live lock waits for the lock, and keeps the value that its commit brings', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  // Without `transact`, which would try a lost conflict again.
  const touchOnce = async (): Promise<void> => {
    const transaction = await b.begin();
    await transaction.lock(cell('x'));
    await transaction.commit();
  };
  let touching: Promise<void> | undefined;
  a.beforeMutation(2, async () => {
    touching = touchOnce();
    await database.clock.yield();
  });
  await a.write({ x: 'fresh' });
  await database.clock.runUntil(touching as Promise<void>);
  assert.ok(b.context.counters.lockWaits > 0);
  assert.deepEqual(await b.read(['x']), { x: 'fresh' });
});

test('a touch of an observed column sets no notification', async () => {
  const database = await openTestDatabase({ observed: ['c'] });
  const a = database.client('A');
  await a.write({ x: 'value' });
  const notifications = await database.notifications();
  assert.equal(notifications.length, 1);
  await touch(a, 'x');
  assert.deepEqual(await database.notifications(), notifications);
});

test('a scan sees a touched cell’s value, a batch at a time', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  await a.write({ x: '1', y: '2', z: '3' });
  await touch(a, 'y');
  await touch(a, 'y', 'never');
  const later = await a.begin();
  const reader = await a.begin();
  put(later, { y: 'invisible' });
  await later.commit();
  const seen: string[] = [];
  for await (const { row, values } of reader.scan({ table: 't', columns: ['c'], batchRows: 1 })) {
    seen.push(`${row}=${values.get('c')?.toString()}`);
  }
  assert.deepEqual(seen, ['x=1', 'y=2', 'z=3']);
});

test('a touch locks the cell that the call named, whatever becomes of the caller’s object', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  await a.write({ x: '1' });
  await a.write({ y: '2' });
  const transaction = await a.begin();
  const named = { ...cell('x') };
  const locking = ['x', 'y'].map((row) => {
    named.row = row;
    return transaction.lock(named);
  });
  await Promise.all(locking);
  await transaction.commit();
  await a.settled();
  assert.deepEqual(await b.read(['x', 'y']), { x: '1', y: '2' });
  const touched = await Promise.all(['x', 'y'].map((name) => database.stored(name)));
  for (const { write } of touched) assert.match(write ?? '', / touch /);
});
