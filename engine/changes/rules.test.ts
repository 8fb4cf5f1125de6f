/** The rules of protocol.md about changes, P87 to P89. Each test fails without its rule. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openScene } from '../testing/collection-scene.ts';
import { openTestDatabase, put } from '../testing/index.ts';
import type { Context } from '../transaction/index.ts';
import { changes, type ChangesOptions } from './changes.ts';

/** The rows changed, and the timestamp up to which that is all. */
async function rowsOf(
  context: Context,
  options: ChangesOptions,
): Promise<{
  readonly rows: readonly string[];
  readonly resolved: number;
  readonly cursor: string;
}> {
  const rows: string[] = [];
  for await (const event of changes(context, 't', options)) {
    if (event.kind === 'change') rows.push(event.row);
    else return { rows, resolved: event.timestamp, cursor: event.cursor };
  }
  throw new Error('there was no resolved timestamp');
}

test('P87: a transaction that has its commit timestamp, and has not committed, holds the resolved timestamp back', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  let seen: Awaited<ReturnType<typeof rowsOf>> | undefined;
  const look = async (): Promise<void> => {
    seen = await rowsOf(b.context, { from: 0, follow: true });
  };
  a.beforeMutation(2, look); // The commit of the primary: C was handed out.
  const committed = await a.write({ x: '1' });
  assert.deepEqual(seen?.rows, []);
  assert.ok(seen.resolved < committed, `${seen.resolved} is below ${committed}`);
  const { rows } = await rowsOf(b.context, { from: seen.cursor });
  assert.deepEqual(rows, ['x']);
});

test('P87: a transaction that commits between the timestamp of a look and its reads is not half reported', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  b.store.beforeCall = async (call) => {
    if (call.kind !== 'read' || call.operation !== 'readRange') return;
    b.store.beforeCall = undefined;
    await a.write({ x: '1', y: '1' });
  };
  const first = await rowsOf(b.context, { from: 0 });
  assert.deepEqual(first.rows, []);
  assert.deepEqual((await rowsOf(b.context, { from: first.cursor })).rows, ['x', 'y']);
});

test('P87: a cell that is locked after it was read is committed above the look', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  const old = await a.begin();
  put(old, { x: 'old snapshot' });
  let committed = 0;
  b.store.afterCall = async (call) => {
    if (call.kind !== 'read' || call.operation !== 'readRange') return;
    b.store.afterCall = undefined;
    committed = await old.commit();
  };
  const first = await rowsOf(b.context, { from: 0 });
  assert.deepEqual(first.rows, []);
  assert.ok(first.resolved > old.startTimestamp && first.resolved < committed);
  assert.deepEqual((await rowsOf(b.context, { from: first.cursor })).rows, ['x']);
});

test('P88: a lock that is older than the cursor is met', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  const old = await a.begin(); // Older than all that follows.
  put(old, { x: '1', y: '1' });
  await b.write({ z: '1' });
  const first = await rowsOf(b.context, { from: 0 });
  assert.ok(first.resolved > old.startTimestamp);
  a.store.crashBefore(a.store.mutationCount + 4); // Committed: the secondary is still locked.
  await old.commit();
  await a.settled();
  database.bury('A');
  const next = database.clock.runUntil(rowsOf(b.context, { from: first.cursor }));
  assert.deepEqual((await next).rows, ['x', 'y']);
});

test('P88: a live lock that is older than the cursor is met by each look until it ends', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  const old = await a.begin();
  put(old, { x: '1' });
  await b.write({ z: '1' });
  const first = await rowsOf(b.context, { from: 0 });
  const events = changes(b.context, 't', { from: first.cursor, follow: true });
  let next: ReturnType<typeof events.next> | undefined;
  a.beforeMutation(2, async () => {
    // The transaction has its commit timestamp; the horizon passes its start timestamp after that.
    await database.oracle.raiseHorizon(first.resolved);
    next = events.next();
    await database.clock.advance(1_000);
    assert.ok(b.store.trace.filter((call) => call.kind === 'read').length > 5, 'many looks');
  });
  await old.commit();
  const { value } = await database.clock.runUntil(next as ReturnType<typeof events.next>);
  assert.ok(value?.kind === 'change', 'and none of them has passed over the lock');
  await events.return();
});

test('P89: a reader that was stopped while changes were collected says so', async () => {
  const scene = await openScene();
  const [a, b] = [scene.client('A'), scene.client('B')];
  await a.write({ w: '0' });
  const { cursor } = await rowsOf(b.context, { from: 0 });
  for (const value of ['1', '2', '3']) await a.write({ x: value });
  await b.context.leases.close(); // Nothing keeps what comes after the cursor.
  b.store.beforeCall = async (call) => {
    if (call.kind !== 'read' || call.operation !== 'readRange') return;
    b.store.beforeCall = undefined;
    await scene.renewals();
    await scene.collect();
  };
  await assert.rejects(rowsOf(b.context, { from: cursor }), { code: 'STALE_SNAPSHOT' });
});
