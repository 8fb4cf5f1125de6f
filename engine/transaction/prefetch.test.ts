/**
 * Prefetching. Together with a cache of what was read, it "reduces the number of Bigtable reads the
 * system would otherwise do by a factor of 10" (section 2.5). Our own claims: it is otherwise
 * invisible, and a wrong guess costs bytes and nothing else.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { get, openScene } from '../testing/collection-scene.ts';
import {
  cell,
  type TestClient,
  type TestClientOptions,
  openTestDatabase,
  put,
} from '../testing/index.ts';
import { plant } from '../testing/planting.ts';
import { begin, snapshotAt, transact, type Transaction } from './index.ts';
import { PrefetchModel } from './prefetch-model.ts';

const LEARNING: TestClientOptions = { prefetch: 'learn' };
const TEN = Array.from({ length: 10 }, (_, i) => `x:${i}`);

/** Reads the cells one after the other, in a transaction of this kind. */
async function readInTurn(
  client: TestClient,
  names: readonly string[],
  kind = 'reader',
): Promise<readonly (string | undefined)[]> {
  const read = async (transaction: Transaction): Promise<(string | undefined)[]> => {
    const values = [];
    for (const name of names) values.push(await get(transaction, name));
    return values;
  };
  return transact(client.context, read, { kind });
}

/** How many reads of the storage `action` makes. */
async function readsOf(client: TestClient, action: () => Promise<unknown>): Promise<number> {
  const before = client.context.counters.reads;
  await action();
  return client.context.counters.reads - before;
}

test('a damaged column that was guessed fails no read of another one', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B', LEARNING)];
  const written = await a.write({ 'x:1': 'one', 'x:2': 'two' });
  await readInTurn(b, ['x:1', 'x:2']);
  await plant(database, 'write x:2', written + 1, 'oops');
  await a.write({ y: '1' }); // So that the next snapshot sees the damage.
  assert.deepEqual(await readInTurn(b, ['x:1']), ['one']);
  await assert.rejects(readInTurn(b, ['x:1', 'x:2']), { code: 'TABLE_MISMATCH' });
});

describe('a transaction that reads ten columns of a row, one after the other', () => {
  test('reads ten times the first time, and once from then on', async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B', LEARNING)];
    await a.write(Object.fromEntries(TEN.map((name) => [name, `value of ${name}`])));
    const reads = [];
    for (let i = 0; i < 3; i++) {
      reads.push(
        await readsOf(b, async () => {
          const values = await readInTurn(b, TEN);
          assert.deepEqual(
            values,
            TEN.map((name) => `value of ${name}`),
          );
        }),
      );
    }
    assert.deepEqual(reads, [10, 1, 1]);
    const { readsSaved, prefetched, prefetchedUsed } = b.context.counters;
    assert.deepEqual([readsSaved, prefetched, prefetchedUsed], [18, 18, 18]);
  });

  test('reads ten times every time unless it is asked to learn', async () => {
    const database = await openTestDatabase();
    const b = database.client('B');
    for (let i = 0; i < 3; i++) assert.equal(await readsOf(b, () => readInTurn(b, TEN)), 10);
    assert.equal(b.context.counters.readsSaved, 0);
  });
});

describe('what is guessed', () => {
  test('was learned from transactions of the same kind', async () => {
    const database = await openTestDatabase();
    const b = database.client('B', LEARNING);
    await readInTurn(b, TEN, 'one kind');
    assert.equal(await readsOf(b, () => readInTurn(b, TEN, 'another kind')), 10);
    assert.equal(await readsOf(b, () => readInTurn(b, TEN, 'one kind')), 1);
  });

  test('was learned from transactions that have ended: many that begin together make the model forget nothing', async () => {
    const database = await openTestDatabase();
    const b = database.client('B', LEARNING);
    await readInTurn(b, ['x:1', 'x:2']);
    const readers = await Promise.all(Array.from({ length: 500 }, () => begunAs(b, 'reader')));
    for (const reader of readers) await get(reader, 'x:1');
    assert.equal(b.context.counters.prefetched, 500);
  });

  test('goes with the table, not with the row', async () => {
    const database = await openTestDatabase();
    const b = database.client('B', LEARNING);
    await readInTurn(b, ['x:1', 'x:2']);
    assert.equal(await readsOf(b, () => readInTurn(b, ['y:1', 'y:2'])), 1);
    assert.equal(await readsOf(b, () => readInTurn(b, ['u/x:1', 'u/x:2'])), 2);
  });

  test('is not what is read at the same time: that is no later read to save', async () => {
    const database = await openTestDatabase();
    const b = database.client('B', LEARNING);
    for (let i = 0; i < 3; i++) {
      const reader = await b.begin();
      await Promise.all([get(reader, 'x:1'), get(reader, 'x:2'), get(reader, 'x:3')]);
      reader.discard();
    }
    assert.equal(b.context.counters.prefetched, 0);
  });

  test('was learned once from a column that was asked for twice at the same time', async () => {
    const database = await openTestDatabase();
    const b = database.client('B', LEARNING);
    const reader = await begunAs(b, 'reader');
    await get(reader, 'x:1');
    await Promise.all([get(reader, 'x:2'), get(reader, 'x:2')]);
    reader.discard();
    for (let i = 0; i < 5; i++) await readInTurn(b, ['x:1']);
    const before = b.context.counters.prefetched;
    await readInTurn(b, ['x:1']); // x:2 has followed in one of six rows, which is too few.
    assert.equal(b.context.counters.prefetched, before);
  });

  test('is forgotten when it is not read any more', async () => {
    const database = await openTestDatabase();
    const b = database.client('B', LEARNING);
    for (let i = 0; i < 100; i++) await readInTurn(b, ['x:1', 'x:2']);
    const before = b.context.counters.prefetched;
    for (let i = 0; i < 1_000; i++) await readInTurn(b, ['x:1']);
    const { prefetched, prefetchedUsed } = b.context.counters;
    assert.equal(prefetchedUsed, 99);
    assert.ok(prefetched - before < 200, `${prefetched - before} columns read along for nothing`);
  });

  test('stays small, whatever names columns have', () => {
    const model = new PrefetchModel();
    const place = { kind: 'k', table: 't' };
    const read = (column: string, ...earlier: string[]) => ({ column, earlier });
    for (let i = 0; i < 20_000; i++) {
      model.learn(place, [read('first'), read(`then ${i}`, 'first')]);
    }
    assert.deepEqual(model.guess(place, ['first']), []);
    // 10,000 columns fill the model, so it does not learn `second`.
    const all = Array.from({ length: 100 }, (_, i) => read(`all ${i}`, 'second'));
    model.learn(place, [read('second'), ...all]);
    assert.deepEqual(model.guess(place, ['second']), []);
    const another = new PrefetchModel();
    another.learn(place, [read('second'), ...all]);
    assert.equal(another.guess(place, ['second']).length, 32, 'no more are guessed for one read');
    for (let i = 0; i < 3; i++) another.learn(place, [read('second'), read('all 80', 'second')]);
    assert.ok(!another.guess(place, ['second']).includes('all 80'), 'the first 64 followers stay');
  });
});

describe('what was read ahead', () => {
  test('is as old as the snapshot, whatever is committed in between', async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B', LEARNING)];
    await a.write({ 'x:1': 'old', 'x:2': 'old' });
    await readInTurn(b, ['x:1', 'x:2']);
    const reader = await begunAs(b, 'reader');
    await a.write({ 'x:1': 'new', 'x:2': 'new' });
    const reads = await readsOf(b, async () => {
      assert.equal(await get(reader, 'x:1'), 'old');
      assert.equal(await get(reader, 'x:2'), 'old');
    });
    assert.equal(reads, 1);
  });

  test('belongs to one transaction: the next one reads anew', async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B', LEARNING)];
    await a.write({ 'x:1': 'old', 'x:2': 'old' });
    await readInTurn(b, ['z:1', 'z:2']);
    await readInTurn(b, ['x:1']);
    assert.equal(b.context.counters.prefetched, 1); // x:2, which was not asked for.
    await a.write({ 'x:2': 'new' });
    assert.deepEqual(await readInTurn(b, ['x:2']), ['new']);
  });

  test('gives way to what the transaction writes itself', async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B', LEARNING)];
    await a.write({ 'x:1': 'old', 'x:2': 'old' });
    await transact(b.context, (reader) => readTwo(reader), { kind: 'writer' });
    const seen = await transact(
      b.context,
      async (writer) => {
        await get(writer, 'x:1');
        put(writer, { 'x:2': 'own' });
        return get(writer, 'x:2');
      },
      { kind: 'writer' },
    );
    assert.equal(seen, 'own');
  });

  test('is the value of a cell that was touched since it was written', async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B', LEARNING)];
    await a.write({ 'x:1': 'v', 'x:2': 'touched' });
    await readInTurn(b, ['x:1', 'x:2']);
    for (let i = 0; i < 3; i++) {
      await transact(a.context, (transaction) => transaction.lock(cell('x:2')));
    }
    const later = await a.begin();
    const reader = await begunAs(b, 'reader');
    put(later, { 'x:2': 'later' });
    await later.commit();
    const reads = await readsOf(b, async () => {
      assert.equal(await get(reader, 'x:1'), 'v');
      assert.equal(await get(reader, 'x:2'), 'touched');
    });
    assert.equal(reads, 1);
  });

  test('is nothing if the snapshot is found stale: the next read is refused, too', async () => {
    const scene = await openScene();
    const [a, b] = [scene.client('A'), scene.client('B', LEARNING)];
    const first = await a.write({ 'x:1': '1', 'x:2': '1' });
    await readInTurn(b, ['x:1', 'x:2']);
    const reader = await snapshotAt(b.context, first, { kind: 'reader' });
    await a.write({ 'x:1': '2', 'x:2': '2' });
    await scene.renewals();
    await scene.lapse(b);
    await scene.collect();
    await assert.rejects(get(reader, 'x:1'), { code: 'STALE_SNAPSHOT' });
    await assert.rejects(get(reader, 'x:2'), { code: 'STALE_SNAPSHOT' });
  });
});

describe('a lock at a column that was only guessed', () => {
  test('keeps no reader waiting until the column is asked for', async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B', LEARNING)];
    await a.write({ 'x:1': 'old', 'x:2': 'old' });
    await readInTurn(b, ['x:1', 'x:2']);
    let second: Promise<string | undefined> | undefined;
    a.beforeMutation(2, async () => {
      assert.deepEqual(await database.locks(), ['x:2']);
      const reader = await begunAs(b, 'reader');
      // Time stands still: a transaction that waited would hang.
      assert.equal(await get(reader, 'x:1'), 'old');
      assert.equal(b.context.counters.lockWaits, 0);
      second = get(reader, 'x:2');
      await database.clock.yield();
      assert.ok(b.context.counters.lockWaits > 0);
    });
    await a.write({ 'x:2': 'new' });
    assert.equal(await database.clock.runUntil(second as Promise<unknown>), 'new');
  });

  test('of a dead owner is cleaned up when the column is asked for, not when it is guessed', async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B', LEARNING)];
    await a.write({ 'x:1': 'old', 'x:2': 'old' });
    await readInTurn(b, ['x:1', 'x:2']);
    a.store.crashAfter(a.store.mutationCount + 1);
    await assert.rejects(a.write({ 'x:2': 'never' }));
    database.bury('A');
    const reader = await begunAs(b, 'reader');
    assert.equal(await get(reader, 'x:1'), 'old');
    assert.deepEqual(await database.locks(), ['x:2']);
    assert.equal(await get(reader, 'x:2'), 'old');
    assert.deepEqual(await database.locks(), []);
  });
});

async function readTwo(reader: Transaction): Promise<void> {
  await get(reader, 'x:1');
  await get(reader, 'x:2');
}

function begunAs(client: TestClient, kind: string): Promise<Transaction> {
  return begin(client.context, { kind });
}
