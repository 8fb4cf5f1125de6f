/**
 * The anomalies of Hermitage by their names (most are Adya's, after github.com/ept/hermitage). All
 * that snapshot isolation prevents are prevented. Those that it permits, which all are of the kind
 * G2, are asserted to occur, and to vanish with `lock(cell)`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cell, openTestDatabase, put, type TestDatabase } from '../testing/index.ts';
import type { Transaction } from './index.ts';

/** Hermitage's table: two rows, 1 → 10 and 2 → 20. */
async function open(): Promise<{ database: TestDatabase; t1: Transaction; t2: Transaction }> {
  const database = await openTestDatabase();
  await database.client('setup').write({ one: '10', two: '20' });
  const t1 = await database.client('T1').begin();
  const t2 = await database.client('T2').begin();
  return { database, t1, t2 };
}

const get = async (transaction: Transaction, name: string): Promise<string | undefined> =>
  (await transaction.get(cell(name)))?.toString();

const final = (database: TestDatabase): Promise<unknown> =>
  database.client('T9').read(['one', 'two']);

const CONFLICT = { code: 'WRITE_CONFLICT' };

test('G0, write cycles: prevented', async () => {
  const { database, t1, t2 } = await open();
  put(t1, { one: '11' });
  put(t2, { one: '12' });
  put(t1, { two: '21' });
  await t1.commit();
  put(t2, { two: '22' });
  await assert.rejects(t2.commit(), CONFLICT);
  assert.deepEqual(await final(database), { one: '11', two: '21' });
});

test('G1a, aborted reads: prevented', async () => {
  const { database, t1, t2 } = await open();
  put(t1, { one: '101' });
  assert.equal(await get(t2, 'one'), '10');
  t1.discard();
  assert.equal(await get(t2, 'one'), '10');
  await t2.commit();
  assert.deepEqual(await final(database), { one: '10', two: '20' });
});

test('G1a, aborted reads, of a transaction that aborts with its locks held: prevented', async () => {
  const { database } = await open();
  const [t1, t2] = [database.client('T1 again'), database.client('T2 again')];
  const loser = await t1.begin();
  put(loser, { one: '101', two: '102' });
  await t2.write({ two: '21' });
  let read: Promise<unknown> | undefined;
  t1.beforeMutation(3, async () => {
    assert.deepEqual(await database.locks(), ['one:c']);
    read = t2.read(['one']); // Its snapshot is above the lock and the data, so it waits.
    await database.clock.yield();
    assert.ok(t2.context.counters.lockWaits > 0);
  });
  await assert.rejects(loser.commit(), CONFLICT);
  assert.deepEqual(await database.clock.runUntil(read as Promise<unknown>), { one: '10' });
  assert.deepEqual(await t2.read(['one', 'two']), { one: '10', two: '21' });
});

test('G1b, intermediate reads: prevented', async () => {
  const { database, t1, t2 } = await open();
  put(t1, { one: '101' });
  assert.equal(await get(t2, 'one'), '10');
  put(t1, { one: '11' });
  await t1.commit();
  assert.equal(await get(t2, 'one'), '10');
  await t2.commit();
  assert.deepEqual(await final(database), { one: '11', two: '20' });
});

test('G1c, circular information flow: prevented', async () => {
  const { t1, t2 } = await open();
  put(t1, { one: '11' });
  put(t2, { two: '22' });
  assert.equal(await get(t1, 'two'), '20');
  assert.equal(await get(t2, 'one'), '10');
  await t1.commit();
  await t2.commit();
});

test('OTV, observed transaction vanishes: prevented', async () => {
  const { database, t1, t2 } = await open();
  put(t1, { one: '11', two: '19' });
  put(t2, { one: '12' });
  await t1.commit();
  const t3 = await database.client('T3').begin();
  assert.equal(await get(t3, 'one'), '11');
  put(t2, { two: '18' });
  assert.equal(await get(t3, 'two'), '19');
  await assert.rejects(t2.commit(), CONFLICT);
  assert.equal(await get(t3, 'two'), '19');
  assert.equal(await get(t3, 'one'), '11');
});

test('PMP, predicate-many-preceders: prevented for reads', async () => {
  const { t1, t2 } = await open();
  assert.deepEqual(await rowsWith(t1, '30'), []);
  put(t2, { three: '30' });
  await t2.commit();
  assert.deepEqual(await rowsWith(t1, '30'), []);
});

test('PMP, predicate-many-preceders: prevented for writes that follow a predicate', async () => {
  const { database, t1, t2 } = await open();
  for await (const { row, values } of t1.scan({ table: 't', columns: ['c'] })) {
    put(t1, { [row]: String(Number(values.get('c')) + 10) });
  }
  for (const row of await rowsWith(t2, '20')) put(t2, { [row]: undefined });
  await t1.commit();
  await assert.rejects(t2.commit(), CONFLICT);
  assert.deepEqual(await final(database), { one: '20', two: '30' });
});

test('P4, lost update: prevented', async () => {
  const { database, t1, t2 } = await open();
  await get(t1, 'one');
  await get(t2, 'one');
  put(t1, { one: '11' });
  put(t2, { one: '11' });
  await t1.commit();
  await assert.rejects(t2.commit(), CONFLICT);
  assert.deepEqual(await final(database), { one: '11', two: '20' });
});

test('G-single, read skew: prevented', async () => {
  const { t1, t2 } = await open();
  assert.equal(await get(t1, 'one'), '10');
  assert.equal(await get(t2, 'one'), '10');
  assert.equal(await get(t2, 'two'), '20');
  put(t2, { one: '12', two: '18' });
  await t2.commit();
  assert.equal(await get(t1, 'two'), '20');
});

test('G-single, read skew with predicates: prevented', async () => {
  const { t1, t2 } = await open();
  assert.deepEqual(await rowsWith(t1, '10'), ['one']);
  put(t2, { one: '12' });
  await t2.commit();
  assert.deepEqual(await rowsWith(t1, '12'), []);
  assert.deepEqual(await rowsWith(t1, '10'), ['one']);
});

test('G-single, read skew through a write that depends on it: prevented', async () => {
  const { t1, t2 } = await open();
  assert.equal(await get(t1, 'one'), '10');
  put(t2, { one: '12', two: '18' });
  await t2.commit();
  put(t1, { two: undefined });
  await assert.rejects(t1.commit(), CONFLICT);
});

test('G2-item, write skew: occurs, because this is snapshot isolation', async () => {
  const { database, t1, t2 } = await open();
  for (const transaction of [t1, t2]) {
    await transaction.getMany([cell('one'), cell('two')]);
  }
  put(t1, { one: '11' });
  put(t2, { two: '21' });
  await t1.commit();
  await t2.commit();
  assert.deepEqual(await final(database), { one: '11', two: '21' });
});

test('G2-item, write skew: gone when each locks what its decision was based on', async () => {
  const { database, t1, t2 } = await open();
  for (const transaction of [t1, t2]) {
    await transaction.getMany([cell('one'), cell('two')]);
    await transaction.lock(cell('one'));
    await transaction.lock(cell('two'));
  }
  put(t1, { one: '11' });
  put(t2, { two: '21' });
  await t1.commit();
  await assert.rejects(t2.commit(), CONFLICT);
  assert.deepEqual(await final(database), { one: '11', two: '20' });
});

test('G2-item, write skew: gone also when each locks only what it read and does not write', async () => {
  for (const order of ['t1 first', 't2 first']) {
    const { t1, t2 } = await open();
    for (const [transaction, other] of [
      [t1, 'two'],
      [t2, 'one'],
    ] as const) {
      await get(transaction, other);
      await transaction.lock(cell(other));
    }
    put(t1, { one: '11' });
    put(t2, { two: '21' });
    const [first, second] = order === 't1 first' ? [t1, t2] : [t2, t1];
    await first.commit();
    await assert.rejects(second.commit(), CONFLICT);
  }
});

test('G2, anti-dependency cycles through a predicate: occurs', async () => {
  const { database, t1, t2 } = await open();
  assert.deepEqual(await rowsWith(t1, '30'), []);
  assert.deepEqual(await rowsWith(t2, '30'), []);
  put(t1, { three: '30' });
  put(t2, { four: '30' });
  await t1.commit();
  await t2.commit();
  assert.deepEqual(await rowsWith(await database.client('T3').begin(), '30'), ['four', 'three']);
});

test('G2, anti-dependency cycles: gone with a lock on a cell that represents the predicate', async () => {
  const { t1, t2 } = await open();
  for (const transaction of [t1, t2]) {
    await transaction.lock(cell('all:of the table'));
    assert.deepEqual(await rowsWith(transaction, '30'), []);
  }
  put(t1, { three: '30' });
  put(t2, { four: '30' });
  await t1.commit();
  await assert.rejects(t2.commit(), CONFLICT);
});

test('G2, two edges (Fekete’s read-only transaction anomaly): occurs, and is gone with a lock', async () => {
  for (const locked of [false, true]) {
    const { database, t1, t2 } = await open();
    if (locked) await t1.lock(cell('two'));
    await t1.getMany([cell('one'), cell('two')]);
    put(t2, { two: '25' });
    await t2.commit();
    const t3 = await database.client('T3').begin();
    assert.deepEqual([await get(t3, 'one'), await get(t3, 'two')], ['10', '25']);
    await t3.commit();
    put(t1, { one: '0' });
    if (locked) await assert.rejects(t1.commit(), CONFLICT);
    else await t1.commit();
  }
});

/** The rows whose value is `value`: a predicate read. */
async function rowsWith(transaction: Transaction, value: string): Promise<readonly string[]> {
  const rows: string[] = [];
  for await (const { row, values } of transaction.scan({ table: 't', columns: ['c'] })) {
    if (values.get('c')?.toString() === value) rows.push(row);
  }
  return rows;
}
