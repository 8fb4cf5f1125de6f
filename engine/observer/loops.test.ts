/**
 * P83: observers that trigger themselves without end are reported; those that come to an end, and
 * those that have much to do because of one change, are not. Each test with the number in its name
 * fails without the rule.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Warning } from '../base/index.ts';
import { type CellAddress, causeAfter, decodeCause } from '../transaction/index.ts';
import { encodeCause } from '../transaction/notifications.ts';
import { cell, type TestClient, openTestDatabase, type TestDatabase } from '../testing/index.ts';
import { type Observer, Worker, type WorkerOptions } from './index.ts';

const LOOP_RUNS = 10;
const SLOW_MS = 1_000;

test('P83: an observer that writes its own cell forever is reported, and is over when it stops', async () => {
  const database = await open();
  let isOn = true;
  let runs = 0;
  const told: string[] = [];
  const { worker, client } = startWorker(
    database,
    [writing(database, 'loops', 't:a', (from) => (runs++, isOn ? [from] : []))],
    { onWarning: ({ isOver }) => void told.push(`${isOver ? 'over' : 'begun'} after ${runs}`) },
  );
  await database.runUntil(client.write({ 't/x:a': '1' }));
  await database.clock.advance(400);
  assert.ok(runs > 10 * LOOP_RUNS);
  assert.deepEqual(told, [`begun after ${LOOP_RUNS}`]);
  const [warning] = worker.warnings;
  assert.deepEqual(
    [warning?.kind, warning?.table, warning?.row, warning?.column],
    ['loop', 't', 'x', 'a'],
  );
  assert.match(warning?.sentence ?? '', /row x 10 times in a row without a change from outside/);
  isOn = false;
  await database.runUntil(worker.idle());
  await database.clock.advance(2 * SLOW_MS);
  assert.equal(told.length, 2);
  assert.deepEqual(worker.warnings, []);
  await database.runUntil(worker.stop());
});

test('P83: two workers whose observers write each other’s tables forever are told, in whatever processes', async () => {
  const database = await open();
  const [one, other] = [
    startWorker(
      database,
      [writing(database, 'there', 't:a', (from) => [{ ...from, table: 'u' }])],
      {},
      'A',
    ),
    startWorker(
      database,
      [writing(database, 'back', 'u:a', (from) => [{ ...from, table: 't' }])],
      {},
      'B',
    ),
  ];
  await database.runUntil(one.client.write({ 't/x:a': '1' }));
  await database.clock.advance(1_000);
  const told = [one, other].flatMap(({ reported }) => reported);
  assert.equal(told.length, 1, told.join());
  assert.match(told[0] ?? '', /^loop [tu]\/x:a$/);
  await database.runUntil(Promise.all([one.worker.stop(), other.worker.stop()]));
});

test('P83: a loop through weak notifications, and one over seven rows, are reported', async () => {
  for (const isWeak of [true, false]) {
    const database = await open();
    const rows = isWeak ? 1 : 7;
    const next = writing(database, 'next', 't:a', (from) => [
      { ...from, row: String((Number(from.row) + 1) % rows) },
    ]);
    const weakly: Observer = {
      ...next,
      run: async (transaction, from) => {
        await database.clock.sleep(1);
        transaction.notifyWeakly(from);
        transaction.set({ ...from, column: 'other' }, '1');
      },
    };
    const { worker, client, reported } = startWorker(database, [isWeak ? weakly : next]);
    await database.runUntil(client.write({ 't/0:a': '1' }));
    await database.clock.advance(400);
    assert.equal(reported.length, 1, reported.join());
    await database.runUntil(worker.stop());
  }
});

test('P83: a change from outside ends the warning, and the runs are counted anew', async () => {
  const database = await open();
  let isOn = true;
  const { worker, client, reported } = startWorker(database, [
    writing(database, 'loops', 't:a', (from) => (isOn ? [from] : [])),
  ]);
  await database.runUntil(client.write({ 't/x:a': '1' }));
  while (reported.length < 1) await database.clock.advance(1);
  isOn = false;
  await database.clock.advance(10);
  isOn = true;
  await database.runUntil(client.write({ 't/x:a': '2' }));
  while (reported.length < 3) await database.clock.advance(1);
  assert.deepEqual(reported, ['loop t/x:a', 'over: loop t/x:a', 'loop t/x:a']);
  await database.runUntil(worker.stop());
});

test('changes of one cell from outside, however many, are no loop, nor are many runs that one change causes', async () => {
  const database = await open();
  // The change of the first row of a list is handed on from row to row; all rows write one total.
  const list = writing(database, 'list', 't:a', (from) => {
    const next = Number(from.row) + 1;
    const total = cell('u/total:a');
    return next < 100 ? [{ ...from, row: String(next) }, total] : [total];
  });
  // It writes its own cell in answer to each change, and then stops.
  const seen = new Set<string>();
  const tidy: Observer = {
    ...writing(database, 'tidy', 't:b', () => []),
    run: async (transaction, from) => {
      const value = (await transaction.get(from))?.toString() ?? '';
      if (!value.startsWith('tidy')) transaction.set(from, `tidy ${value}`);
      seen.add(value);
    },
  };
  const { worker, client, reported } = startWorker(database, [
    list,
    tidy,
    writing(database, 'sum', 'u:a', () => []),
  ]);
  await database.runUntil(client.write({ 't/0:a': '1' }));
  for (let i = 0; i < 50; i++) await database.runUntil(client.write({ 't/x:b': String(i) }));
  await database.runUntil(worker.idle());
  assert.ok(seen.has('tidy 49'));
  assert.deepEqual(reported, []);
  await database.runUntil(worker.stop());
});

test('P83: a loop that does not run any more is over, although other cells are dirty all the time', async () => {
  const database = await open();
  let isOn = true;
  const hangs: Observer = {
    ...writing(database, 'hangs', 'u:a', () => []),
    run: () => new Promise(() => {}),
  };
  const { worker, client, reported } = startWorker(
    database,
    [writing(database, 'loops', 't:a', (from) => (isOn ? [from] : [])), hangs],
    { onWarning: undefined },
  );
  await database.runUntil(client.write({ 't/x:a': '1', 'u/x:a': '1' }));
  await database.clock.advance(100);
  assert.ok(
    worker.warnings.some(({ kind }) => kind === 'loop'),
    reported.join(),
  );
  isOn = false;
  await database.clock.advance(2 * SLOW_MS);
  assert.deepEqual(
    worker.warnings.map(({ kind }) => kind),
    ['slow run'],
  );
  void worker.stop();
});

test('the passes of a loop are counted within a few turns of it, whatever came before; a chain that never comes back has none', () => {
  for (const lead of [0, 1, 5, 40]) {
    for (const length of [1, 2, 3, 17]) {
      let cause = undefined as ReturnType<typeof decodeCause>;
      for (let i = 0; i < lead; i++) cause = causeAfter(cause, cell(`lead ${i}:c`));
      assert.equal(cause?.passes ?? 0, 0);
      for (let i = 0; i < 40 * length + 2 * lead; i++) {
        // As it is read from a notification.
        cause = decodeCause(encodeCause(causeAfter(cause, cell(`loop ${i % length}:c`))));
      }
      assert.ok((cause?.passes ?? 0) >= 30, `${lead} ${length}: ${cause?.passes}`);
    }
  }
  assert.equal(decodeCause(new Uint8Array()), undefined);
  assert.equal(decodeCause(Buffer.from('from another program')), undefined);
});

function open(): Promise<TestDatabase> {
  return openTestDatabase({ observed: ['a', 'b'] });
}

/** An observer of `table:column` that writes the cells that `targets` returns, in a millisecond. */
function writing(
  { clock }: TestDatabase,
  name: string,
  place: string,
  targets: (from: CellAddress) => readonly CellAddress[],
): Observer {
  const [table = '', column = ''] = place.split(':');
  let values = 0;
  const run: Observer['run'] = async (transaction, from) => {
    await clock.sleep(1);
    for (const target of targets(from)) transaction.set(target, String(values++));
  };
  return { name, table, column, run };
}

function startWorker(
  database: TestDatabase,
  observers: readonly Observer[],
  options: WorkerOptions = {},
  name = 'worker',
): { readonly worker: Worker; readonly client: TestClient; readonly reported: string[] } {
  const client = database.client(name);
  const reported: string[] = [];
  const onWarning = ({ kind, table, row, column, isOver }: Warning): void =>
    void reported.push(`${isOver ? 'over: ' : ''}${kind} ${table}/${row}:${column}`);
  const given = { idleMs: 5, slowMs: SLOW_MS, loopRuns: LOOP_RUNS, onWarning, ...options };
  return { worker: new Worker(client.context, observers, given), client, reported };
}
