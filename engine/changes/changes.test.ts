/** The changes of a table: what is reported, in which order, and what a cursor promises. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PercolatorError, textOf } from '../base/index.ts';
import { openDatabase, type Percolator } from '../database.ts';
import { openScene } from '../testing/collection-scene.ts';
import { cell, createMemoryBigtable, openTestDatabase, put } from '../testing/index.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { openPercolator } from '../percolator.ts';
import { settled, type Context } from '../transaction/index.ts';
import { type ChangeEvent, changes, type ChangesOptions } from './changes.ts';

/** `row:column=value`, or `row:column` for a delete; and `resolved`. */
async function textsOf(events: AsyncIterable<ChangeEvent>): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const event of events) texts.push(textOfEvent(event));
  return texts;
}

function textOfEvent(event: ChangeEvent): string {
  if (event.kind === 'resolved') return 'resolved';
  const { row, column, value } = event;
  return `${row}:${column}${value === undefined ? '' : `=${textOf(value)}`}`;
}

const read = (context: Context, options?: ChangesOptions): Promise<readonly string[]> =>
  textsOf(changes(context, 't', options));

test('changes are in the order of their commits, then of their rows and columns', async () => {
  const database = await openTestDatabase({ shared: ['c'] });
  const a = database.client('A');
  await a.write({ z: '1', 'é:d': '1', 'é:c': '1', '😀': '1', '\uffff': '1' });
  await a.write({ a: '2', z: undefined, 'u/x': 'of another table' });
  const touching = await a.begin();
  await touching.lock(cell('a'));
  await touching.commit();
  const sharing = await a.begin();
  await sharing.lock(cell('a'), { shared: true });
  sharing.set(cell('z'), '');
  await sharing.commit();
  await a.settled();
  assert.deepEqual(await read(a.context, { from: 0 }), [
    'z:c=1',
    'é:c=1',
    'é:d=1',
    '\uffff:c=1',
    '😀:c=1',
    'a:c=2',
    'z:c',
    'z:c=',
    'resolved',
  ]);
});

test('each change has the timestamps of its transaction', async () => {
  const a = (await openTestDatabase()).client('A');
  const first = await a.write({ x: '1', y: '1' });
  const second = await a.write({ x: '2' });
  const seen = [];
  for await (const event of changes(a.context, 't', { from: 0 })) {
    if (event.kind === 'change') seen.push([event.startTimestamp, event.commitTimestamp]);
  }
  assert.deepEqual(seen, [
    [first - 1, first],
    [first - 1, first],
    [second - 1, second],
  ]);
});

test('any process goes on from any cursor, also in the middle of a transaction', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  for (let i = 0; i < 4; i++) await a.write({ x: String(i), y: String(i), z: String(i) });
  const all: ChangeEvent[] = [];
  for await (const event of changes(a.context, 't', { from: 0 })) all.push(event);
  const texts = all.map(textOfEvent);
  assert.equal(texts.length, 13);
  for (const [i, { cursor }] of all.entries()) {
    const rest = await read(database.client(`B${i}`).context, { from: cursor });
    assert.deepEqual(rest, i < 12 ? texts.slice(i + 1) : ['resolved']);
  }
});

test('little memory means many looks, and the same changes', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  for (let i = 0; i < 5; i++) {
    await a.write(Object.fromEntries(['p', 'q', 'r', 's'].map((row) => [row, `${i}`])));
  }
  const whole = await read(a.context, { from: 0 });
  for (const bytesMax of [1, 500, 1_000, 3_000]) {
    const b = database.client(`B ${bytesMax}`);
    assert.deepEqual(await read(b.context, { from: 0, bytesMax }), whole);
    const looks = b.store.trace.filter((call) => call.kind === 'read').length;
    assert.ok(bytesMax > 1 || looks > 10, `${looks} looks`);
  }
});

test('a range, columns, an end, and the values before', async () => {
  const a = (await openTestDatabase()).client('A');
  const first = await a.write({ 'a:c': '1', 'a:d': '1', 'b:c': '1' });
  await a.write({ 'a:c': '2', 'b:c': undefined });
  assert.deepEqual(await read(a.context, { from: 0, start: 'a', end: 'b', columns: ['c'] }), [
    'a:c=1',
    'a:c=2',
    'resolved',
  ]);
  assert.equal((await read(a.context, { from: 0, to: first })).length, 4);
  const before = [];
  for await (const event of changes(a.context, 't', { from: 0, before: true })) {
    if (event.kind === 'change') before.push(event.before && textOf(event.before));
  }
  assert.deepEqual(before, [undefined, undefined, undefined, '1', '1']);
});

test('without a place, changes begin now, and say when that is', async () => {
  const a = (await openTestDatabase()).client('A');
  await a.write({ x: 'before' });
  const events = changes(a.context, 't', { follow: true });
  const begin = await events.next();
  assert.ok(begin.value?.kind === 'resolved');
  await a.write({ x: 'after' });
  const next = await events.next();
  assert.ok(
    next.value?.kind === 'change' && textOf(next.value.value ?? new Uint8Array()) === 'after',
  );
  await events.return();
});

test('what is not committed is not reported, and holds the resolved timestamp back', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  await a.write({ x: 'old' });
  const transaction = await a.begin();
  put(transaction, { y: 'new' });
  let first: readonly ChangeEvent[] = [];
  const events = changes(b.context, 't', { from: 0, follow: true });
  const take = async (count: number): Promise<readonly ChangeEvent[]> => {
    const taken: ChangeEvent[] = [];
    while (taken.length < count) {
      const { value } = await database.clock.runUntil(events.next());
      if (value !== undefined) taken.push(value);
    }
    return taken;
  };
  a.beforeMutation(2, async () => {
    first = await take(2);
  });
  await transaction.commit();
  assert.deepEqual(first.map(textOfEvent), ['x:c=old', 'resolved']);
  const [, resolved] = first;
  assert.ok(resolved?.kind === 'resolved');
  assert.equal(resolved.timestamp, transaction.startTimestamp);
  assert.deepEqual((await take(2)).map(textOfEvent), ['y:c=new', 'resolved']);
  await events.return();
});

test('the lock of a dead process is settled, and what it committed is reported', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  a.store.crashBefore(a.store.mutationCount + 4); // Committed: the secondary is still locked.
  await a.write({ x: '1', y: '1' });
  assert.deepEqual(await database.locks(), ['y:c']);
  database.bury('A');
  assert.deepEqual(await database.clock.runUntil(read(b.context, { from: 0 })), [
    'x:c=1',
    'y:c=1',
    'resolved',
  ]);
});

test('without `follow`, a live lock is waited for, and named if it stays', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  let reading: Promise<readonly string[]> | undefined;
  a.beforeMutation(2, async () => {
    reading = read(b.context, { from: 0 });
    await database.clock.yield();
    await assert.rejects(
      database.clock.runUntil(
        read(database.client('C', { lockWaitMsMax: 100 }).context, { from: 0 }),
      ),
      { code: 'LOCKED' },
    );
  });
  await a.write({ x: '1' });
  await settled(a.context);
  const texts = await database.clock.runUntil(reading as Promise<readonly string[]>);
  assert.deepEqual(texts.slice(-2), ['x:c=1', 'resolved']);
});

test('a reader that follows keeps what it has not reported', async () => {
  const scene = await openScene();
  const [a, b] = [scene.client('A'), scene.client('B')];
  for (const value of ['1', '2']) await a.write({ x: value });
  const events = changes(b.context, 't', { from: 0, follow: true });
  const { value } = await events.next();
  assert.ok(value !== undefined);
  for (const one of ['3', '4']) await a.write({ x: one });
  await scene.renewals();
  await scene.collect();
  const rest = (await read(b.context, { from: value.cursor })).slice(0, -1);
  assert.deepEqual(rest, ['x:c=2', 'x:c=3', 'x:c=4']);
  await events.return();
});

test('while nothing changes, resolved timestamps come as seldom as is asked for', async () => {
  const database = await openTestDatabase();
  const [writer, reader] = [database.client('A'), database.client('B')];
  const seen: string[] = [];
  const stop = new AbortController();
  const options = { follow: true, restMsMax: 100, resolvedMs: 1_000, signal: stop.signal };
  const reading = (async () => {
    for await (const event of changes(reader.context, 't', options)) seen.push(textOfEvent(event));
  })();
  await database.clock.advance(5_500);
  assert.deepEqual(seen.splice(0), Array(6).fill('resolved'));
  await database.clock.runUntil(writer.write({ x: '1' }));
  await database.clock.advance(300);
  assert.deepEqual(seen.splice(0), ['x:c=1', 'resolved'], 'what is complete is said at once');
  stop.abort();
  await database.clock.runUntil(reading);
});

test('a cursor below the horizon is stale, and a snapshot with the changes since is not', async () => {
  const scene = await openScene();
  const [a, b] = [scene.client('A'), scene.client('B')];
  for (const value of ['1', '2', '3']) await a.write({ x: value });
  const events = changes(b.context, 't', { from: 0 });
  const { value } = await events.next();
  assert.ok(value !== undefined);
  await events.return();
  await scene.renewals();
  await scene.collect();
  await assert.rejects(read(b.context, { from: value.cursor }), {
    code: 'STALE_SNAPSHOT',
    message:
      /^changes of table t since \d+ may have been collected, below the horizon \d+: read a snapshot of it, and the changes from its timestamp on$/,
  });
  const now = await b.begin();
  await a.write({ x: '4' });
  assert.deepEqual(await read(b.context, { from: now.startTimestamp }), ['x:c=4', 'resolved']);
});

async function withTables(use: (percolator: Percolator) => Promise<void>): Promise<void> {
  await using percolator = await openDatabase({ store: createMemoryBigtable() });
  await percolator.createTable('t');
  await use(percolator);
}

test('a cursor is of one table, of one incarnation, of one database', async () => {
  let foreign = '';
  await withTables(async (percolator) => {
    await percolator.createTable('u');
    const [event] = await Array.fromAsync(percolator.changes('t', { from: 0 }));
    assert.ok(event !== undefined);
    foreign = event.cursor;
    assert.throws(() => percolator.changes('u', { from: event.cursor }), {
      code: 'INVALID_ARGUMENT',
    });
    await percolator.dropTable('t');
    const ask = (): Promise<unknown> => Array.fromAsync(percolator.changes('t', { from: foreign }));
    await assert.rejects(ask(), { code: 'TABLE_NOT_FOUND' });
    await percolator.createTable('t');
    await assert.rejects(ask(), { code: 'STALE_SNAPSHOT' });
    await percolator.transact(async (transaction) => transaction.set(cell('new'), '1'));
    assert.deepEqual(await textsOf(percolator.changes('t', { from: 0 })), ['new:c=1', 'resolved']);
  });
  await withTables(async (percolator) => {
    const ask = (): Promise<unknown> => Array.fromAsync(percolator.changes('t', { from: foreign }));
    await assert.rejects(ask(), { code: 'WRONG_DATABASE' });
  });
});

test('a table that is dropped, or created again, ends the changes that follow it', async () => {
  await withTables(async (percolator) => {
    const events = percolator.changes('t', { follow: true });
    await events.next();
    await percolator.dropTable('t');
    await assert.rejects(events.next(), { code: 'TABLE_NOT_FOUND' });
    await percolator.createTable('t');
    const others = percolator.changes('t', { follow: true });
    await others.next();
    await percolator.dropTable('t');
    await percolator.createTable('t');
    await assert.rejects(others.next(), { code: 'STALE_SNAPSHOT' });
  });
});

test('wrong options are refused in a sentence', async () => {
  await withTables(async (percolator) => {
    const wrong: [unknown, RegExp][] = [
      [{ from: 'nonsense' }, /"nonsense" is no cursor/],
      [{ from: '1/%/t' }, /is no cursor/],
      [{ from: -1 }, /from must be a cursor or a timestamp/],
      [{ follow: 1 }, /follow must be true or false/],
      [{ since: 1 }, /changes has no option since/],
    ];
    for (const [options, sentence] of wrong) {
      assert.throws(() => percolator.changes('t', options as ChangesOptions), sentence);
    }
    for (const options of [{ from: 1_000_000 }, { from: 0, to: 1_000_000 }, { from: 2, to: 1 }]) {
      const ask = Array.fromAsync(percolator.changes('t', options));
      await assert.rejects(ask, /must not end before they begin, nor in the future/);
    }
    await assert.rejects(Array.fromAsync(percolator.changes('x')), { code: 'TABLE_NOT_FOUND' });
    await using snapshot = await percolator.snapshot();
    const old = { from: 0, to: snapshot.startTimestamp };
    await percolator.createTable('y');
    await assert.rejects(Array.fromAsync(percolator.changes('y', old)), { code: 'STALE_SNAPSHOT' });
  });
});

test('a signal, and the end of the database, end changes that wait', async () => {
  await withTables(async (percolator) => {
    const controller = new AbortController();
    const events = percolator.changes('t', {
      follow: true,
      signal: controller.signal,
      restMsMax: 60_000,
    });
    await events.next();
    await events.next(); // The first look.
    const waiting = Array.fromAsync(events);
    controller.abort();
    await waiting;
    const others = percolator.changes('t', { follow: true, restMsMax: 60_000 });
    await others.next();
    const left = Array.fromAsync(others);
    left.catch(() => undefined);
    await percolator.close();
    await assert.rejects(left, { code: 'STORE_CLOSED' });
  });
});

test('on a folder, a look reads what has changed, and a commit ends the rest', async () => {
  await using percolator = await openPercolator({ folder: temporaryFolder() });
  await percolator.createTable('t');
  for (let i = 0; i < 20; i++) {
    await percolator.transact(async (transaction) => {
      for (let j = 0; j < 50; j++) transaction.set(cell(`row ${i} ${j}`), `${i}`);
    });
  }
  const events = percolator.changes('t', { follow: true, restMsMax: 60_000 });
  await events.next();
  await events.next();
  const before = performance.now();
  await percolator.transact(async (transaction) => transaction.set(cell('row 7 7'), 'changed'));
  let event = await events.next();
  while (event.value?.kind !== 'change') event = await events.next();
  assert.ok(performance.now() - before < 10_000, 'it did not wait for the rest to end');
  assert.equal(textOfEvent(event.value), 'row 7 7:c=changed');
  await events.return();
});

test('values before are asked for again where nothing answers for a moment', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  await a.write({ x: '1' });
  await a.write({ x: '2' });
  let refusals = 0;
  b.store.beforeCall = async (call) => {
    if (call.kind !== 'read' || call.operation !== 'readRow' || refusals++ > 0) return;
    throw new PercolatorError('STORE_UNAVAILABLE', 'the store is away for a moment');
  };
  const events = Array.fromAsync(changes(b.context, 't', { from: 0, before: true }));
  const texts = (await database.clock.runUntil(events)).map(textOfEvent);
  assert.ok(refusals > 1);
  assert.deepEqual(texts, ['x:c=1', 'x:c=2', 'resolved']);
});

test('what the caller does with its options later changes nothing', async () => {
  const a = (await openTestDatabase()).client('A');
  await a.write({ 'a:c': '1', 'a:d': '1' });
  const columns = ['c'];
  const options = { from: 0, columns, end: 'b' };
  const events = changes(a.context, 't', options);
  columns[0] = 'd';
  options.end = 'a';
  assert.deepEqual(await textsOf(events), ['a:c=1', 'resolved']);
});
