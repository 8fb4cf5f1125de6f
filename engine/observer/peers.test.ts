/**
 * P72: workers that observe one column with different observers are told so, and that it is over.
 * Each test with the number in its name fails without the rule.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Warning } from '../base/index.ts';
import { type TestClient, openTestDatabase, type TestDatabase } from '../testing/index.ts';
import { type Observer, Worker } from './index.ts';

/** A renewal, and two looks. */
const SOON_MS = 31_000;
/** A time to live without a renewal, and a look. */
const LATER_MS = 45_000;

test('P72: two processes with different observers of a column are both told what is missing where', async () => {
  const database = await open();
  const [a, b] = [start(database, 'A', ['x', 'both']), start(database, 'B', ['y', 'both'])];
  await database.clock.advance(SOON_MS);
  assert.match(
    a.told.join('\n'),
    /^the workers of column seen of table t have different observers, .*: x is missing in process B#\d+, y is missing in this one$/,
  );
  assert.equal(b.told.length, 1);
  await b.worker.stop();
  await database.clock.advance(SOON_MS);
  assert.deepEqual(a.worker.warnings, []);
  await a.worker.stop();
});

test('P72: a process that dies is not told of any more', async () => {
  const database = await open();
  const [a, b] = [start(database, 'A', ['x']), start(database, 'B', ['y'])];
  await database.clock.advance(SOON_MS);
  assert.equal(a.worker.warnings.length, 1);
  b.client.leaseStore.beforeCall = () => new Promise(() => {});
  await database.clock.advance(LATER_MS);
  assert.deepEqual(a.worker.warnings, []);
  assert.deepEqual(
    a.told.map((text) => text.startsWith('over: ')),
    [false, true],
  );
  await a.worker.stop();
  void b.worker.stop();
});

test('P72: two workers of one process are told of one another', async () => {
  const database = await open();
  const client = database.client('A');
  const [x, y] = [start(database, 'A', ['x'], { client }), start(database, 'A', ['y'], { client })];
  await database.clock.advance(LATER_MS);
  const sentence = /x is missing in another one of this process, y is missing in this one/;
  assert.match(x.told.join('\n'), sentence);
  assert.equal(y.told.length, 1);
  await y.worker.stop();
  await database.clock.advance(SOON_MS);
  assert.deepEqual(x.worker.warnings, []);
  await x.worker.stop();
});

test('workers with equal observers, of other columns, and those that follow stopped ones are told nothing', async () => {
  const database = await open();
  const old = start(database, 'old', ['x']);
  await database.clock.advance(SOON_MS);
  await old.worker.stop();
  const workers = [
    start(database, 'A', ['x', 'new']),
    start(database, 'B', ['new', 'x']),
    start(database, 'C', ['y'], { column: 'next' }),
  ];
  await database.clock.advance(3 * LATER_MS);
  assert.deepEqual(
    workers.map(({ told }) => told),
    [[], [], []],
  );
  await Promise.all(workers.map(({ worker }) => worker.stop()));
});

test('what a process says costs a run no call, and what another program wrote says nothing', async () => {
  const database = await open();
  const a = start(database, 'A', ['x']);
  await database.clock.advance(SOON_MS);
  const value = Buffer.from(JSON.stringify({ bound: 1, ttlMs: 30_000, says: [[1], 2, null] }));
  for (let counter = 1; counter <= 6; counter++) {
    const lease = { family: 'lease', qualifier: 'lease', timestamp: counter, value };
    const mutations = [{ kind: 'set', ...lease } as const];
    await database.store.mutateRows([{ table: 'percolator-leases', row: 'B#1', mutations }]);
    await database.clock.advance(10_000);
  }
  assert.deepEqual(a.told, []);
  const before = a.client.leaseStore.trace.length;
  for (let i = 0; i < 100; i++) await database.runUntil(a.client.write({ [`t/${i}:seen`]: '1' }));
  await database.runUntil(a.worker.idle());
  assert.equal(a.worker.counters.runs, 100);
  assert.ok(a.client.leaseStore.trace.length - before <= 2, 'at most a look or a renewal');
  await a.worker.stop();
});

function open(): Promise<TestDatabase> {
  return openTestDatabase({ observed: ['seen', 'next'] });
}

function start(
  database: TestDatabase,
  name: string,
  names: readonly string[],
  {
    client = database.client(name),
    column = 'seen',
  }: { client?: TestClient; column?: string } = {},
) {
  const told: string[] = [];
  const observers = names.map((one): Observer => {
    return { name: one, table: 't', column, run: async () => {} };
  });
  const onWarning = ({ kind, sentence, isOver }: Warning): void => {
    if (kind === 'observers') told.push(`${isOver ? 'over: ' : ''}${sentence}`);
  };
  return { client, told, worker: new Worker(client.context, observers, { onWarning }) };
}
