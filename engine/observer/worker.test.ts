/**
 * The claims about observers and workers (section 2.4), and most of the rules of protocol.md about
 * them: a test that names a rule fails without it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PercolatorError, systemClock } from '../base/index.ts';
import {
  cell,
  type TestClient,
  openTestDatabase,
  put,
  type TestDatabase,
} from '../testing/index.ts';
import { listParked, type Observer, replayParked, Worker, type WorkerOptions } from './index.ts';
import { runObservers } from './run-observer.ts';

function openObserved(options: { splits?: readonly string[] } = {}): Promise<TestDatabase> {
  return openTestDatabase({ observed: ['seen', 'next'], ...options });
}

/** Observes `column` of table `t`, and counts its committed runs in `row:runs`. */
function counting(name = 'counting', column = 'seen'): Observer {
  return {
    name,
    table: 't',
    column,
    run: async (transaction, { row }) => {
      const runs = cell(`${row}:${name} runs`);
      const before = Number((await transaction.get(runs))?.toString() ?? '0');
      put(transaction, { [`${row}:${name} runs`]: String(before + 1) });
      const value = (await transaction.get(cell(`${row}:${column}`)))?.toString();
      put(transaction, { [`${row}:${name} saw`]: value ?? 'nothing' });
    },
  };
}

/** A client on the real clock: its workers rest without a test that moves the time. */
const clientOf = (database: TestDatabase, name: string): TestClient =>
  database.client(name, { clock: systemClock, backoffMsMax: 4 });

/** Runs workers until everything is clean, and `parked` cells are parked. */
async function work(
  clients: readonly TestClient[],
  observers: readonly Observer[],
  { parked = 0, ...options }: WorkerOptions & { readonly parked?: number } = {},
): Promise<readonly Worker[]> {
  const workers = clients.map(
    ({ context }) => new Worker(context, observers, { idleMs: 1, failureBackoffMs: 1, ...options }),
  );
  while (workers.reduce((sum, { counters }) => sum + counters.parked, 0) < parked) {
    await systemClock.sleep(1);
  }
  await Promise.all(workers.map((worker) => worker.idle()));
  await Promise.all(workers.map((worker) => worker.stop()));
  return workers;
}

test('"Percolator invokes the function after data is written to one of those columns in any row"', async () => {
  const database = await openObserved();
  const [a, b] = [clientOf(database, 'A'), clientOf(database, 'B')];
  await a.write({ 'x:seen': '1', 'y:seen': '2', 'z:unseen': '3' });
  await work([b], [counting()]);
  assert.deepEqual(await b.read(['x:counting saw', 'y:counting saw', 'z:counting runs']), {
    'x:counting saw': '1',
    'y:counting saw': '2',
    'z:counting runs': undefined,
  });
  assert.deepEqual(await database.notifications(), [], '"we remove the notify cell"');
});

test('the acknowledgment stores "the latest start timestamp at which the observer ran"', async () => {
  const database = await openObserved();
  const a = clientOf(database, 'A');
  await a.write({ 'x:seen': '1' });
  const runs: number[] = [];
  await work([a], [counting()], { onCommitted: (run) => runs.push(run.startTimestamp) });
  const { write } = await database.stored('x:ack_counting:seen');
  assert.ok(write?.includes(`: ${runs[0]} put`), write);
});

test('"message collapsing": one run sees the hundred writes before it, and reads the last one', async () => {
  const database = await openObserved();
  const [a, b] = [clientOf(database, 'A'), clientOf(database, 'B')];
  for (let i = 0; i < 100; i++) await a.write({ 'x:seen': String(i) });
  await work([b], [counting()]);
  assert.deepEqual(await b.read(['x:counting runs', 'x:counting saw']), {
    'x:counting runs': '1',
    'x:counting saw': '99',
  });
});

test('"at most one observer’s transaction will commit for each change", with four workers racing', async () => {
  const database = await openObserved();
  const writer = clientOf(database, 'writer');
  const rows = Array.from({ length: 20 }, (_, i) => `row ${i}`);
  for (const row of rows) await writer.write({ [`${row}:seen`]: '1' });
  const clients = ['A', 'B', 'C', 'D'].map((name) => clientOf(database, name));
  const workers = await work(clients, [counting()]);
  const names = rows.map((row) => `${row}:counting runs`);
  assert.deepEqual(new Set(Object.values(await writer.read(names))), new Set(['1']));
  const committed = workers.reduce((sum, { counters }) => sum + counters.runs, 0);
  assert.equal(committed, rows.length);
  assert.deepEqual(await database.notifications(), []);
});

test('P42: a change committed during a run, after its start, is seen by another run', async () => {
  // Compared with the acknowledgment's commit timestamp, the change would count as seen.
  const database = await openObserved();
  const [a, b] = [clientOf(database, 'A'), clientOf(database, 'B')];
  await a.write({ 'x:seen': 'first' });
  const saw: string[] = [];
  const observer: Observer = {
    ...counting(),
    run: async (transaction) => {
      saw.push((await transaction.get(cell('x:seen')))?.toString() ?? 'nothing');
      if (saw.length === 1) await a.write({ 'x:seen': 'second' });
    },
  };
  await work([b], [observer]);
  assert.deepEqual(saw, ['first', 'second']);
});

test('P22: a run that runs again locks its primary first', async () => {
  const database = await openObserved();
  const [a, b] = [clientOf(database, 'A'), clientOf(database, 'B')];
  const timestamp = await a.write({ 'x:seen': '1' });
  const rows: string[][] = [];
  b.store.beforeCall = (call) => {
    if (call.kind === 'mutation' && call.anyOf !== undefined) rows.at(-1)?.push(call.row);
  };
  const observer: Observer = {
    ...counting(),
    run: async (transaction) => {
      rows.push([]);
      put(transaction, { 'x:done': '1', 'y:done': '1' });
      if (rows.length <= 2) await a.write({ 'x:done': 'first' });
    },
  };
  await runObservers(b.context, { ...cell('x:seen'), weak: false, timestamp }, [observer]);
  const [first, second] = rows;
  assert.deepEqual(first, ['x', 'y'], 'all at once');
  assert.deepEqual(second, ['x'], 'nothing else was locked in vain');
});

test('P41: a run clears what its snapshot has seen, and no more', async () => {
  // If all were cleared, or up to the commit timestamp, the second notification would be lost.
  const database = await openObserved();
  const [a, b] = [clientOf(database, 'A'), clientOf(database, 'B')];
  const first = await a.write({ 'x:seen': 'first' });
  let second = 0;
  const observer: Observer = {
    ...counting(),
    run: async () => {
      second = await a.write({ 'x:seen': 'second' });
    },
  };
  const notified = { ...cell('x:seen'), weak: false, timestamp: first };
  const [run] = await runObservers(b.context, notified, [observer]);
  assert.ok(run !== undefined && run.startTimestamp < second && second < run.commitTimestamp);
  assert.deepEqual(await database.notifications(), [`notify x:seen@${second}`]);
});

test('P44: the notification is cleared by a run that neither reads nor writes, and without a run if the change was seen already', async () => {
  const database = await openObserved();
  const [a, b] = [clientOf(database, 'A'), clientOf(database, 'B')];
  const committed = await a.write({ 'x:seen': '1' });
  const notified = { ...cell('x:seen'), weak: false, timestamp: committed };
  let runs = 0;
  const observer: Observer = { ...counting(), run: async () => void runs++ };
  await runObservers(b.context, notified, [observer]);
  assert.deepEqual(await database.notifications(), []);

  const again = { ...cell('x:seen'), weak: false, timestamp: committed };
  await replayParked(b.context, { ...again, failures: 0, error: '' });
  assert.equal((await database.notifications()).length, 1);
  assert.deepEqual(await runObservers(b.context, again, [observer]), [], 'seen already');
  assert.deepEqual(await database.notifications(), []);
  assert.equal(runs, 1);
});

test('P44: a delete is a change: its run reads no value, and its notification is cleared', async () => {
  const database = await openObserved();
  const a = clientOf(database, 'A');
  await a.write({ 'x:seen': '1' });
  await a.write({ 'x:seen': undefined });
  await work([a], [counting()]);
  assert.deepEqual(await a.read(['x:counting saw']), { 'x:counting saw': 'nothing' });
  assert.deepEqual(await database.notifications(), []);
});

test('P42: a notification of a transaction that was rolled back starts no run', async () => {
  const database = await openObserved();
  const [a, b] = [clientOf(database, 'A'), clientOf(database, 'B')];
  a.store.crashAfter(3); // Two locks and the notification.
  await assert.rejects(a.write({ 'x:seen': '1', y: '1' }));
  database.bury('A');
  assert.equal((await database.notifications()).length, 1);
  const [worker] = await work([b], [counting()]);
  assert.deepEqual(worker?.counters, { runs: 0, clean: 1, failures: 0, parked: 0, meetings: 0 });
  assert.deepEqual(await database.notifications(), []);
});

test('a touch of an observed cell is no change: even a notification at its timestamp starts no run', async () => {
  const database = await openObserved();
  const a = clientOf(database, 'A');
  await a.write({ 'x:seen': '1' });
  await work([a], [counting()]);
  const touching = await a.begin();
  await touching.lock(cell('x:seen'));
  const timestamp = await touching.commit();
  const notified = { ...cell('x:seen'), weak: false, timestamp };
  assert.deepEqual(await runObservers(a.context, notified, [counting()]), []);
});

test('P47: the start timestamp is taken after the notification was seen', async () => {
  const database = await openObserved();
  const [a, b] = [clientOf(database, 'A'), clientOf(database, 'B')];
  const [committed, runs]: [number[], number[]] = [[], []];
  // Each change is committed during a scan. The second one comes after the first run, so that a
  // timestamp that was taken ahead, together with that run's, is too early for it.
  b.store.beforeCall = async ({ operation, table }) => {
    if (operation !== 'readRange' || table !== 't.notify') return;
    const row = committed.length;
    if (row < 2 && runs.length === row) committed.push(await a.write({ [`${row}:seen`]: '1' }));
  };
  const onCommitted: WorkerOptions['onCommitted'] = (run) => runs.push(run.startTimestamp);
  const [worker] = await work([b], [counting()], { onCommitted });
  assert.equal(worker?.counters.clean, 0, 'no run began too early to see its change');
  assert.deepEqual(
    runs.map((startTimestamp, i) => startTimestamp > (committed[i] ?? Infinity)),
    [true, true],
  );
});

test('weak notifications: many notifiers of one cell never conflict, and the observer runs at least once', async () => {
  const database = await openObserved();
  const a = clientOf(database, 'A');
  const notifiers = Array.from({ length: 50 }, async (_, i) => {
    const transaction = await a.begin();
    put(transaction, { [`row ${i}:link`]: '1' });
    transaction.notifyWeakly(cell('hub:seen'));
    await transaction.commit();
  });
  await Promise.all(notifiers);
  assert.equal(a.context.counters.conflicts, 0);
  const [worker] = await work([clientOf(database, 'B')], [counting()]);
  const runs = worker?.counters.runs ?? 0;
  assert.ok(runs >= 1 && runs <= 50);
  assert.deepEqual(await database.notifications(), []);
  assert.deepEqual(await database.stored('hub:ack_counting:seen'), {}, 'nothing is acknowledged');
});

test('weak and strong notifications of one cell are cleared apart', async () => {
  const database = await openObserved();
  const a = clientOf(database, 'A');
  const both = await a.begin();
  put(both, { 'x:seen': '1' });
  both.notifyWeakly(cell('x:seen'));
  const timestamp = await both.commit();
  await runObservers(a.context, { ...cell('x:seen'), weak: true, timestamp }, [counting()]);
  assert.deepEqual(await database.notifications(), [`notify x:seen@${timestamp}`]);
});

test('P46: an observer that writes its own column runs until it stops writing', async () => {
  const database = await openObserved();
  const a = clientOf(database, 'A');
  await a.write({ 'x:seen': '0' });
  const observer: Observer = {
    ...counting(),
    run: async (transaction) => {
      const value = Number((await transaction.get(cell('x:seen')))?.toString());
      if (value < 7) put(transaction, { 'x:seen': String(value + 1) });
    },
  };
  const [worker] = await work([a], [observer]);
  assert.deepEqual(await a.read(['x:seen']), { 'x:seen': '7' });
  assert.equal(worker?.counters.runs, 8);
});

test('"creates more work for downstream observers": a chain of two', async () => {
  const database = await openObserved();
  const [a, b] = [clientOf(database, 'A'), clientOf(database, 'B')];
  const first: Observer = {
    ...counting('first'),
    run: async (transaction, { row }) => {
      const value = (await transaction.get(cell(`${row}:seen`)))?.toString();
      put(transaction, { [`${row}:next`]: `${value}!` });
    },
  };
  for (let i = 0; i < 10; i++) await a.write({ [`row ${i}:seen`]: String(i) });
  await work([b], [first, counting('second', 'next')]);
  assert.deepEqual(await b.read(['row 9:second saw', 'row 9:second runs']), {
    'row 9:second saw': '9!',
    'row 9:second runs': '1',
  });
});

test('two observers of one column acknowledge apart; one that fails does not starve the other', async () => {
  const database = await openObserved();
  const a = clientOf(database, 'A');
  await a.write({ 'x:seen': '1' });
  const failing: Observer = {
    ...counting('failing'),
    run: async () => assert.fail('cannot digest this'),
  };
  const [worker] = await work([a], [failing, counting('healthy')], { failuresMax: 3, parked: 1 });
  assert.deepEqual(await a.read(['x:healthy runs']), { 'x:healthy runs': '1' });
  assert.deepEqual(worker?.counters, { runs: 1, clean: 0, failures: 3, parked: 1, meetings: 0 });
});

test('P45: a cell whose observer keeps failing rests, is parked and listed, and runs again once replayed', async () => {
  const database = await openObserved();
  const a = clientOf(database, 'A');
  await a.write({ 'bad:seen': '1', 'good:seen': '1' });
  let broken = true;
  const observer: Observer = {
    ...counting(),
    run: async (transaction, dirty, change) => {
      if (broken && dirty.row === 'bad') throw new Error('cannot digest this');
      await counting().run(transaction, dirty, change);
    },
  };
  const reported: string[] = [];
  await work([a], [observer], {
    failuresMax: 4,
    parked: 1,
    onFailure: ({ cell: failed, failures, parked }) =>
      reported.push(`${failed.row} ${failures} ${parked}`),
  });
  assert.deepEqual(reported, ['bad 1 false', 'bad 2 false', 'bad 3 false', 'bad 4 true']);
  const parked = await listParked(database.store, 't', 10);
  assert.deepEqual(
    parked.map(({ row, column, weak, failures, error }) => [row, column, weak, failures, error]),
    [['bad', 'seen', false, 4, 'Error: cannot digest this']],
  );
  assert.deepEqual(await a.read(['good:counting runs', 'bad:counting runs']), {
    'good:counting runs': '1',
    'bad:counting runs': undefined,
  });

  broken = false;
  const [entry] = parked;
  assert.ok(entry !== undefined);
  await replayParked(a.context, entry);
  await work([a], [observer]);
  assert.deepEqual(await a.read(['bad:counting runs']), { 'bad:counting runs': '1' });
  assert.deepEqual(await listParked(a.context.store, 't', 10), []);
});

test('P45: an entry that cannot be decoded is listed with its bytes, next to others, and replayed', async () => {
  const database = await openObserved();
  const a = clientOf(database, 'A');
  await a.write({ 'x:seen': '1', 'y:seen': '1' });
  const failing: Observer = { ...counting(), run: async () => assert.fail('not today') };
  await work([a], [failing], { failuresMax: 1, parked: 2 });
  const entries = [{ family: 'parked', versions: 1 }];
  const [first] = await database.store.readRange('t.notify', { limit: 1 }, entries);
  const [entry] = first?.cells ?? [];
  assert.ok(first !== undefined && entry !== undefined);
  const damaged = { kind: 'set', ...entry, value: Buffer.from('{"failures":') } as const;
  await database.store.mutateRows([{ table: 't.notify', row: first.key, mutations: [damaged] }]);
  const parked = await listParked(database.store, 't', 10);
  assert.deepEqual(
    parked.map(({ row: key, failures, error }) => [key, failures, error]),
    [
      ['x', 0, 'an entry that cannot be decoded: {"failures":'],
      ['y', 1, 'AssertionError [ERR_ASSERTION]: not today'],
    ],
  );
  for (const cellParked of parked) await replayParked(a.context, cellParked);
  await work([a], [counting()]);
  assert.deepEqual(await a.read(['x:counting runs', 'y:counting runs']), {
    'x:counting runs': '1',
    'y:counting runs': '1',
  });
});

test('P45: a cell parked for both kinds of notification is listed, and replayed, for both', async () => {
  const database = await openObserved();
  const a = clientOf(database, 'A');
  const both = await a.begin();
  put(both, { 'x:seen': '1' });
  both.notifyWeakly(cell('x:seen'));
  await both.commit();
  const failing: Observer = { ...counting(), run: async () => assert.fail('not today') };
  await work([a], [failing], { failuresMax: 1, parked: 2 });
  const parked = await listParked(a.context.store, 't', 10);
  assert.deepEqual(
    parked.map(({ weak }) => weak),
    [false, true],
  );
  assert.deepEqual(await listParked(a.context.store, 't', 1), parked.slice(0, 1));
  for (const entry of parked) await replayParked(a.context, entry);
  assert.deepEqual(
    (await database.notifications()).map((notification) => notification.split(' ')[0]),
    ['notify', 'weak'],
  );
});

test('P63: a cell that was replayed is parked again, where erases also hide what is set later', async () => {
  const database = await openTestDatabase({ observed: ['seen'], tombstones: true });
  const a = clientOf(database, 'A');
  await a.write({ 'x:seen': '1' });
  const failing: Observer = { ...counting(), run: async () => assert.fail('not today') };
  for (let times = 1; times <= 3; times++) {
    await work([a], [failing], { failuresMax: 1, parked: 1 });
    const [entry] = await listParked(database.store, 't', 10);
    assert.ok(entry !== undefined, `parked in round ${times}`);
    await replayParked(a.context, entry);
    assert.deepEqual(await listParked(database.store, 't', 10), []);
    assert.equal((await database.notifications()).length, 1);
  }
});

test('P45: a change during the run whose failure parks the cell is seen by another run', async () => {
  const database = await openObserved();
  const [a, b] = [clientOf(database, 'A'), clientOf(database, 'B')];
  await a.write({ 'x:seen': '1' });
  let runs = 0;
  const failing: Observer = {
    ...counting(),
    run: async (transaction, dirty, change) => {
      runs++;
      if (runs > 1) return counting().run(transaction, dirty, change);
      await b.write({ 'x:seen': '2' }); // Only the notification tells the worker of it.
      throw new Error('not today');
    },
  };
  await work([a], [failing], { failuresMax: 1, parked: 1 });
  assert.deepEqual(await a.read(['x:counting saw']), { 'x:counting saw': '2' });
});

test('P45: lost requests to clear the notification are no failures of the observer', async () => {
  const database = await openObserved();
  const [a, b] = [clientOf(database, 'A'), clientOf(database, 'B')];
  await a.write({ 'x:seen': '1' });
  let lost = 0;
  b.store.loseRequest(({ table }) => table === 't.notify' && lost++ < 5);
  const [worker] = await work([b], [counting()], { failuresMax: 2 });
  assert.deepEqual(worker?.counters, { runs: 1, clean: 1, failures: 0, parked: 0, meetings: 0 });
});

test('idle waits for a cell that rests only because of conflicts', async () => {
  // If the cell counted as failed, `idle` would resolve before the change has been seen.
  const database = await openObserved();
  const [a, b] = [clientOf(database, 'A'), clientOf(database, 'B')];
  await a.write({ 'x:seen': '1' });
  let attempts = 0;
  const loser: Observer = {
    ...counting(),
    run: async (transaction, { row }) => {
      attempts++;
      put(transaction, { [`${row}:contended`]: 'mine' });
      // After 10 attempts the run gives up (run-observer.ts), and the cell rests.
      if (attempts <= 15) await a.write({ [`${row}:contended`]: String(attempts) });
    },
  };
  await work([b], [loser], { failureBackoffMs: 30 });
  assert.equal(attempts, 16);
  assert.deepEqual(await database.notifications(), []);
});

test('idle does not wait for columns that only other workers observe', async () => {
  const database = await openObserved();
  const a = clientOf(database, 'A');
  await a.write({ 'x:next': '1', 'x:seen': '1' });
  const [worker] = await work([a], [counting()]);
  assert.equal(worker?.counters.runs, 1);
  assert.deepEqual((await database.notifications()).length, 1);
});

test('idle resolves with two tables of different sizes, in several tablets, and then the worker rests', async () => {
  // If the worker counted batches, two scanners that are out of step would never complete a round
  // at the same time.
  const database = await openObserved({ splits: ['g', 'p'] });
  const a = clientOf(database, 'A');
  for (let i = 0; i < 40; i++) await a.write({ [`u/row ${i}:seen`]: '1' });
  const other: Observer = { ...counting('other'), table: 'u', run: async () => {} };
  const worker = new Worker(a.context, [counting(), other], { scanRows: 3, idleMs: 10 });
  await worker.idle();
  assert.equal(worker.counters.runs, 40);
  const [readsBefore, beganMs] = [a.store.trace.length, systemClock.monotonicMs()];
  await systemClock.sleep(60);
  const scansMax = 1 + (systemClock.monotonicMs() - beganMs) / 10;
  assert.ok(
    a.store.trace.length - readsBefore <= 4 * scansMax,
    'at most one scan in 10 ms, of two reads per table',
  );
  await worker.stop();
});

test('a store that is unavailable for a moment does not make the worker idle and does not end it', async () => {
  const database = await openObserved();
  const [a, b] = [clientOf(database, 'A'), clientOf(database, 'B')];
  await a.write({ 'x:seen': '1' });
  let refused = 0;
  b.store.beforeCall = ({ kind }) => {
    if (kind === 'read' && refused++ < 10) throw new PercolatorError('STORE_UNAVAILABLE', 'wait');
  };
  const [worker] = await work([b], [counting()]);
  assert.ok(refused > 10, 'the worker has gone on after the refusals');
  assert.equal(worker?.counters.runs, 1);
});

test('a worker that an unknown error in its scan has ended says so: idle and stop reject with it', async () => {
  const database = await openObserved();
  const a = clientOf(database, 'A');
  a.store.crash();
  const worker = new Worker(a.context, [counting()]);
  await assert.rejects(worker.idle(), { name: 'CrashedError' });
  await assert.rejects(worker.stop(), { name: 'CrashedError' });
});

test('P50: stop waits for runs in flight, and begins no more', async () => {
  const database = await openObserved();
  const [a, b] = [clientOf(database, 'A'), clientOf(database, 'B')];
  for (let i = 0; i < 10; i++) await a.write({ [`row ${i}:seen`]: '1' });
  const gate = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  let [begun, ended] = [0, 0];
  const slow: Observer = {
    ...counting(),
    run: async () => {
      begun++;
      began.resolve();
      await gate.promise;
      ended++;
    },
  };
  const worker = new Worker(b.context, [slow], { concurrency: 2, idleMs: 1 });
  await began.promise;
  const stopping = worker.stop();
  let stopped = false;
  void stopping.then(() => (stopped = true));
  await systemClock.sleep(5);
  assert.equal(stopped, false);
  gate.resolve();
  await stopping;
  assert.equal(ended, begun);
  assert.ok(begun <= 2);
  await a.write({ 'late:seen': '1' });
  await systemClock.sleep(5);
  assert.ok(begun <= 2);
  assert.equal(
    (await database.notifications()).length,
    11 - ended,
    'the cells that did not run are still notified',
  );
  await worker.stop();
});

test('an option that is not a number above 0 is refused by name', async () => {
  const { context } = (await openObserved()).client('A');
  const refuses = (name: string, value: number, expected: string): void =>
    assert.throws(() => new Worker(context, [], { [name]: value }), {
      code: 'INVALID_ARGUMENT',
      message: `${name} must be ${expected} above 0, not ${value}`,
    });
  for (const value of [0, -1, Number.NaN]) {
    for (const name of ['idleMs', 'failureBackoffMs']) refuses(name, value, 'a finite number');
  }
  for (const value of [0, -1, 0.5, Number.NaN]) {
    for (const name of ['concurrency', 'scanRows', 'failuresMax']) {
      refuses(name, value, 'a whole number');
    }
  }
});

test('two observers of one name on one column are refused: each would count the runs of the other as its own', async () => {
  const { context } = (await openObserved()).client('A');
  assert.throws(() => new Worker(context, [counting(), counting()]), {
    code: 'INVALID_ARGUMENT',
    message:
      'observers of one column must have different names, but two of t:seen are called counting',
  });
});
