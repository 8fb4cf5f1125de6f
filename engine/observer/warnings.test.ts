/**
 * P56: what goes wrong in a part of a worker costs that part only, and is reported when it begins
 * and when it is over. Each test with the number in its name fails without the rule.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PercolatorError, type Warning } from '../base/index.ts';
import { notifyTable, NOTIFY_FAMILIES, TABLE_FAMILIES } from '../transaction/index.ts';
import { type WatchedCall, openTestDatabase, type TestDatabase } from '../testing/index.ts';
import { listParked, type Observer, Worker, type WorkerOptions } from './index.ts';

const QUICK: WorkerOptions = { idleMs: 5, failureBackoffMs: 1 };

test('P56: a dropped table costs only its own scan: other tables are scanned, and so is it once it exists again', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const { worker, client, saw, reported } = startWorker(database);
  await database.clock.runUntil(client.write({ 't/a:seen': '1', 'u/a:seen': '1' }));
  await database.clock.runUntil(worker.idle());
  await dropTable(database, 't');
  await database.clock.advance(100);
  const other = database.client('other');
  await database.clock.runUntil(other.write({ 'u/b:seen': '1' }));
  await database.clock.runUntil(worker.idle());
  assert.deepEqual(saw, ['t/a', 'u/a', 'u/b']);
  assert.deepEqual(reported, ['table t TABLE_NOT_FOUND']);

  await createTable(database, 't');
  await database.clock.runUntil(other.write({ 't/c:seen': '1' }));
  await database.clock.runUntil(worker.idle());
  assert.deepEqual(saw, ['t/a', 'u/a', 'u/b', 't/c']);
  assert.deepEqual(reported, ['table t TABLE_NOT_FOUND', 'over: table t TABLE_NOT_FOUND']);
  assert.deepEqual(worker.warnings, []);
  await worker.stop();
});

test('P56: a worker may start before its tables exist', async () => {
  const database = await openTestDatabase({ tables: ['u'], observed: ['seen'] });
  const { worker, saw, reported } = startWorker(database);
  await database.clock.runUntil(worker.idle());
  assert.deepEqual(reported, ['table t TABLE_NOT_FOUND']);
  const [{ sentence } = { sentence: '' }] = worker.warnings;
  assert.match(
    sentence,
    /^table t does not exist: until it is created, nothing runs observer of t$/,
  );
  await createTable(database, 't');
  await database.clock.runUntil(database.client('other').write({ 't/a:seen': '1' }));
  await database.clock.runUntil(worker.idle());
  assert.deepEqual(saw, ['t/a']);
  await worker.stop();
});

test('P56: a table that the storage refuses to read is reported, and idle rejects: it may have dirty cells', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const { worker, client, saw, reported } = startWorker(database);
  let refused = true;
  client.store.beforeCall = ({ kind, table }) => {
    if (!refused || kind !== 'read' || table !== 't.notify') return;
    throw new PercolatorError('STORE_REFUSED', 'no permission');
  };
  await database.clock.runUntil(database.client('other').write({ 't/a:seen': '1' }));
  await assert.rejects(database.clock.runUntil(worker.idle()), { code: 'STORE_REFUSED' });
  assert.deepEqual(reported, ['table t STORE_REFUSED']);
  refused = false;
  await database.clock.runUntil(worker.idle());
  assert.deepEqual(saw, ['t/a']);
  assert.deepEqual(reported, ['table t STORE_REFUSED', 'over: table t STORE_REFUSED']);
  await worker.stop();
});

test('P56: an observed table that is dropped during a run is no failure of the observer', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const failures: unknown[] = [];
  const { worker, client } = startWorker(database, {
    run: async () => dropTable(database, 't'),
    options: { failuresMax: 1, onFailure: (failure) => failures.push(failure) },
  });
  await database.clock.runUntil(client.write({ 't/a:seen': '1' }));
  await database.clock.runUntil(worker.idle());
  assert.deepEqual(failures, []);
  assert.equal(worker.counters.failures, 0);
  await worker.stop();
});

test('P56: while the storage refuses commits, cells rest, none is parked, and the refusal is reported', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const { worker, client, saw, reported } = startWorker(database, { options: { failuresMax: 2 } });
  client.store.beforeCall = refuseCommits;
  await database.clock.runUntil(database.client('other').write({ 't/a:seen': '1' }));
  await database.clock.advance(10_000);
  assert.deepEqual([worker.counters.failures, worker.counters.parked], [0, 0]);
  assert.deepEqual(reported, ['table t:seen STORE_REFUSED']);
  await assert.rejects(database.clock.runUntil(worker.idle()), { code: 'STORE_REFUSED' });
  client.store.beforeCall = undefined;
  await database.clock.advance(10_000);
  assert.equal(worker.counters.runs, 1);
  assert.equal(saw.at(-1), 't/a');
  assert.deepEqual(reported.slice(1), ['over: table t:seen STORE_REFUSED']);
  await worker.stop();
});

for (const code of ['TABLE_MISMATCH', 'TABLE_NOT_FOUND', 'FAMILY_NOT_FOUND'] as const) {
  test(`P56: while no run can use its table (${code}), cells rest, none is parked, and that is reported`, async () => {
    const database = await openTestDatabase({ observed: ['seen'] });
    const { worker, client, saw, reported } = startWorker(database, {
      options: { failuresMax: 2 },
    });
    client.store.beforeCall = ({ table }) => {
      if (table === 't') throw new PercolatorError(code, 'the table is not what it was');
    };
    await database.clock.runUntil(database.client('other').write({ 't/a:seen': '1' }));
    await database.clock.advance(10_000);
    assert.deepEqual([worker.counters.failures, worker.counters.parked], [0, 0]);
    assert.deepEqual(reported, [`table t:seen ${code}`]);
    await assert.rejects(database.clock.runUntil(worker.idle()), { code });
    client.store.beforeCall = undefined;
    await database.clock.advance(60_000);
    assert.deepEqual(saw, ['t/a']);
    assert.deepEqual(reported.slice(1), [`over: table t:seen ${code}`]);
    await worker.stop();
  });
}

test('P56: idle wakes a refused cell, however long it was to rest, and does not reject while its run lasts', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const { worker, client, reported } = startWorker(database);
  client.store.beforeCall = refuseCommits;
  await database.clock.runUntil(database.client('other').write({ 't/a:seen': '1' }));
  await database.clock.advance(60_000);
  // The cause is fixed. The run outlasts several scans.
  client.store.beforeCall = ({ kind }) =>
    kind === 'mutation' ? database.clock.sleep(1_000) : undefined;
  await database.clock.runUntil(worker.idle());
  assert.equal(worker.counters.runs, 1);
  assert.deepEqual(reported, ['table t:seen STORE_REFUSED', 'over: table t:seen STORE_REFUSED']);
  await worker.stop();
});

for (const [what, settle] of [
  ['another worker has run the cell', runElsewhere],
  ['the table was dropped', (database) => dropTable(database, 't')],
] as readonly (readonly [string, (database: TestDatabase) => Promise<void>])[]) {
  test(`P56: a refusal is over, and idle resolves, when ${what}`, async () => {
    const database = await openTestDatabase({ observed: ['seen'] });
    const { worker, client, reported } = startWorker(database);
    client.store.beforeCall = refuseCommits;
    await database.clock.runUntil(database.client('other').write({ 't/a:seen': '1' }));
    await database.clock.advance(10_000);
    assert.deepEqual(reported, ['table t:seen STORE_REFUSED']);
    await settle(database);
    await database.clock.runUntil(worker.idle());
    assert.ok(reported.includes('over: table t:seen STORE_REFUSED'), reported.join('\n'));
    assert.equal(worker.failing, 0);
    await worker.stop();
  });
}

test('P56: one refused cell is one warning until it has run, however many other cells run meanwhile', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  let isRefused = true;
  const { worker, reported } = startWorker(database, {
    run: async (_, { row }) => {
      if (row === 'bad' && isRefused) throw new PercolatorError('STORE_REFUSED', 'not for you');
    },
  });
  const other = database.client('other');
  await database.clock.runUntil(other.write({ 't/bad:seen': '1' }));
  for (let i = 0; i < 10; i++) {
    await database.clock.runUntil(other.write({ [`t/good${i}:seen`]: '1' }));
    await database.clock.advance(100);
  }
  assert.equal(worker.counters.runs, 10);
  assert.deepEqual(reported, ['table t:seen STORE_REFUSED']);
  isRefused = false;
  await database.clock.advance(10_000);
  assert.deepEqual(reported.slice(1), ['over: table t:seen STORE_REFUSED']);
  await worker.stop();
});

test('P56: a refused cell whose observer then throws is a failure, and no longer a warning', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  let runs = 0;
  const { worker, reported } = startWorker(database, {
    run: async () => {
      if (runs++ === 0) throw new PercolatorError('STORE_REFUSED', 'no');
      throw new Error('indigestible');
    },
    options: { failuresMax: 2, onFailure: () => {} },
  });
  await database.clock.runUntil(database.client('other').write({ 't/a:seen': '1' }));
  await database.clock.advance(10_000);
  assert.deepEqual([worker.counters.failures, worker.counters.parked], [2, 1]);
  assert.deepEqual(reported, ['table t:seen STORE_REFUSED', 'over: table t:seen STORE_REFUSED']);
  await worker.stop();
});

test('P56: an oracle that is closed while its worker runs ends the worker, and is no failure of the observers', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const { worker } = startWorker(database, { options: { failuresMax: 2 } });
  await database.clock.runUntil(database.client('other').write({ 't/a:seen': '1' }));
  const closed = (): Promise<never> =>
    Promise.reject(new PercolatorError('STORE_CLOSED', 'the client was closed'));
  Object.assign(database.oracle, { next: closed, readHorizon: closed });
  await database.clock.advance(10_000);
  assert.deepEqual([worker.counters.failures, worker.counters.parked], [0, 0]);
  assert.equal(worker.failing, 1);
  assert.deepEqual(worker.warnings.map(tell), ['ended STORE_CLOSED']);
  await assert.rejects(worker.idle(), { code: 'STORE_CLOSED' });
  await assert.rejects(worker.stop(), { code: 'STORE_CLOSED' });
});

test('P56: an observer whose own store was closed does not end the worker, not even while the storage is unavailable', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const { worker, client, saw } = startWorker(database, {
    run: () => Promise.reject(new PercolatorError('STORE_CLOSED', 'the store of the observer')),
  });
  client.store.beforeCall = ({ kind, operation, table }) => {
    if (kind !== 'read' || operation !== 'readRow' || table !== 't.notify') return;
    throw new PercolatorError('STORE_UNAVAILABLE', 'away');
  };
  await database.clock.runUntil(database.client('other').write({ 't/a:seen': '1' }));
  await database.clock.advance(1_000);
  assert.ok(saw.length > 1, 'it is run again');
  assert.deepEqual(worker.warnings, []);
  await worker.stop();
});

test('P56: a callback that throws costs neither the run that it was called for, nor the worker', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  let isLogFull = true;
  const log = (): void => {
    if (isLogFull) throw new Error('the log is full');
  };
  const { worker, client, saw, reported } = startWorker(database, {
    run: async (_, { row }) => assert.notEqual(row, 'bad'),
    options: { concurrency: 1, failuresMax: 1, onFailure: log, onCommitted: log },
  });
  await database.clock.runUntil(client.write({ 't/a:seen': '1', 't/bad:seen': '1' }));
  await database.clock.runUntil(client.write({ 't/b:seen': '1' }));
  await database.clock.runUntil(worker.idle());
  assert.deepEqual(saw, ['t/a', 't/bad', 't/b']);
  assert.deepEqual(worker.counters, { runs: 2, clean: 0, failures: 1, parked: 1, meetings: 0 });
  assert.equal((await listParked(database.store, 't', 10)).length, 1, 'only the cell that failed');
  assert.deepEqual(reported, ['callback Error', 'callback Error']);
  isLogFull = false;
  await database.clock.runUntil(client.write({ 't/c:seen': '1' }));
  await database.clock.runUntil(worker.idle());
  assert.deepEqual(reported.slice(2), ['over: callback Error']);
  await worker.stop();
});

test('P56: an onWarning that throws costs nothing', async () => {
  const database = await openTestDatabase({ tables: ['u'], observed: ['seen'] });
  const { worker, client, saw } = startWorker(database, {
    options: { onWarning: () => assert.fail('no room for this') },
  });
  await database.clock.runUntil(client.write({ 'u/a:seen': '1' }));
  await database.clock.runUntil(worker.idle());
  assert.deepEqual(saw, ['u/a']);
  assert.equal(worker.warnings.length, 1);
  await worker.stop();
});

test('P56: a hanging observer is reported, with its cell, and so is its end, also while the worker stops', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const gate = Promise.withResolvers<void>();
  const { worker, client, saw, reported } = startWorker(database, {
    run: async (_, { row }) => (row === 'slow' ? gate.promise : undefined),
    options: { slowMs: 1_000, concurrency: 2 },
  });
  await database.clock.runUntil(client.write({ 't/slow:seen': '1' }));
  await database.clock.runUntil(client.write({ 't/a:seen': '1' }));
  await database.clock.advance(900);
  assert.deepEqual(reported, []);
  await database.clock.advance(1_000);
  assert.deepEqual(reported, ['slow run t/slow:seen undefined']);
  assert.deepEqual(saw, ['t/slow', 't/a']);
  const stopping = worker.stop();
  await database.clock.advance(1_000);
  gate.resolve();
  await database.clock.runUntil(stopping);
  assert.deepEqual(reported.slice(1), ['over: slow run t/slow:seen undefined']);
});

test('P56: a hanging observer costs no memory for each run that ends meanwhile', async (t) => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const rows = Array.from({ length: 100 }, (_, i) => `t/${i}:seen`);
  await database.client('other').write(Object.fromEntries(rows.map((row) => [row, '1'])));
  const hung = Promise.withResolvers<void>();
  const run: Observer['run'] = (_, { row }) => (row === '0' ? hung.promise : Promise.resolve());
  const { mock } = t.mock.method(Promise.prototype, 'then');
  const { worker } = startWorker(database, { run, options: { concurrency: 2, scanRows: 4 } });
  await database.clock.advance(1_000);
  assert.equal(worker.counters.runs, rows.length - 1);
  const reactions = Map.groupBy(mock.calls, (call) => call.this);
  mock.restore();
  const most = Math.max(...[...reactions.values()].map(({ length }) => length));
  assert.ok(most < 10, `${most} reactions of one promise`);
  hung.resolve();
  await worker.stop();
});

test('P56: an observer that has hung since before the stop is reported during the stop', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const gate = Promise.withResolvers<void>();
  const { worker, client, reported } = startWorker(database, {
    run: () => gate.promise,
    options: { slowMs: 1_000 },
  });
  await database.clock.runUntil(client.write({ 't/slow:seen': '1' }));
  const stopping = worker.stop();
  await database.clock.advance(2_000);
  assert.deepEqual(reported, ['slow run t/slow:seen undefined']);
  gate.resolve();
  await database.clock.runUntil(stopping);
});

test('P56: a scan whose call is not answered is reported', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const gate = Promise.withResolvers<void>();
  const client = database.client('worker');
  client.store.beforeCall = ({ table }) => (table === 'u.notify' ? gate.promise : undefined);
  const { worker, reported } = startWorker(database, { client, options: { slowMs: 1_000 } });
  await database.clock.advance(2_000);
  assert.deepEqual(reported, ['slow scan u undefined']);
  gate.resolve();
  await database.clock.runUntil(worker.idle());
  assert.deepEqual(reported.slice(1), ['over: slow scan u undefined']);
  await worker.stop();
});

test('P56: a scan that waits for the definition of its table is reported, too', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const gate = Promise.withResolvers<boolean>();
  const client = database.client('worker');
  const context = { ...client.context, isObserved: () => gate.promise };
  const { worker, reported } = startWorker(database, { context, options: { slowMs: 1_000 } });
  await database.clock.advance(2_000);
  assert.deepEqual(reported, ['slow scan t undefined']);
  gate.resolve(true);
  await database.clock.runUntil(worker.idle());
  assert.deepEqual(reported.slice(1), ['over: slow scan t undefined']);
  await worker.stop();
});

test('P56: if range locks fail, the worker does without', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const { worker, saw } = startWorker(database, {
    options: { rangeLocks: { tryLock: async () => assert.fail('the service is gone') } },
  });
  await database.clock.runUntil(database.client('other').write({ 't/a:seen': '1' }));
  await database.clock.runUntil(worker.idle());
  assert.deepEqual(saw, ['t/a']);
  await worker.stop();
});

test('P56: a column that its table does not list as observed is reported until the table lists it', async () => {
  const observed = ['other'];
  const database = await openTestDatabase({ observed });
  const { worker, saw, reported } = startWorker(database);
  await database.clock.runUntil(worker.idle());
  assert.deepEqual(reported, ['column t:seen INVALID_ARGUMENT', 'column u:seen INVALID_ARGUMENT']);
  await dropTable(database, 't');
  await database.clock.advance(100);
  observed.push('seen');
  await createTable(database, 't');
  await database.clock.advance(100);
  assert.ok(reported.includes('over: column t:seen INVALID_ARGUMENT'), reported.join('\n'));
  await database.clock.runUntil(database.client('other').write({ 't/a:seen': '1' }));
  await database.clock.runUntil(worker.idle());
  assert.deepEqual(saw, ['t/a']);
  await worker.stop();
});

test('P56: a listed column does not end the warning of one that is not listed, however they and their observers are called', async () => {
  const run = async (): Promise<void> => {};
  const observers: readonly Observer[] = [
    { name: 'b of c', table: 't', column: 'a', run },
    { name: 'c', table: 't', column: 'a of b', run },
  ];
  for (const given of [observers, observers.toReversed()]) {
    const database = await openTestDatabase({ observed: ['a'] });
    const reported: string[] = [];
    const onWarning = (warning: Warning): void => void reported.push(tell(warning));
    const worker = new Worker(database.client('worker').context, given, { ...QUICK, onWarning });
    await database.clock.advance(35_000); // The worker asks again every 10 s (scans.ts).
    assert.deepEqual(reported, ['column t:a of b INVALID_ARGUMENT']);
    assert.equal(worker.warnings.length, 1);
    await worker.stop();
  }
});

test('P56: a column that its table no longer lists is reported, although no scan found the table missing', async () => {
  const observed = ['seen'];
  const database = await openTestDatabase({ observed });
  const { worker, reported } = startWorker(database);
  await database.clock.runUntil(worker.idle());
  observed.pop(); // As if the tables were dropped and created again between two scans.
  await database.clock.advance(30_000);
  assert.deepEqual(reported, ['column t:seen INVALID_ARGUMENT', 'column u:seen INVALID_ARGUMENT']);
  await worker.stop();
});

test('P56: a worker that cannot go on says so: onWarning, ended, idle and stop; and leaves no listener', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const { worker, client, reported, saw } = startWorker(database);
  await database.clock.runUntil(worker.idle());
  client.store.beforeCall = () => {
    throw new PercolatorError('STORE_CLOSED', 'closed');
  };
  await assert.rejects(database.clock.runUntil(worker.ended), { code: 'STORE_CLOSED' });
  assert.deepEqual(reported, ['ended STORE_CLOSED']);
  assert.equal(client.context.workers.size, 0);
  await assert.rejects(worker.idle(), { code: 'STORE_CLOSED' });
  await assert.rejects(worker.stop(), { code: 'STORE_CLOSED' });
  assert.deepEqual(saw, []);
});

test('P56: a bug that ends the worker after a run is what ended, idle and stop reject with', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const bug = new TypeError('a bug');
  const release = (): never => {
    throw bug;
  };
  const { worker, reported } = startWorker(database, {
    options: { rangeLocks: { tryLock: async () => ({ release }) } },
  });
  await database.clock.runUntil(database.client('other').write({ 't/a:seen': '1' }));
  await assert.rejects(database.clock.runUntil(worker.ended), bug);
  assert.deepEqual(reported, ['ended TypeError']);
  await assert.rejects(database.clock.runUntil(worker.idle()), bug);
  await assert.rejects(database.clock.runUntil(worker.stop()), bug);
});

test('P56: a store that is closed during a run is no failure of the observer', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const failures: unknown[] = [];
  const closed = new PercolatorError('STORE_CLOSED', 'closed');
  const { worker, client } = startWorker(database, {
    run: async () => {
      client.store.beforeCall = () => Promise.reject(closed);
    },
    options: { failuresMax: 1, onFailure: (failure) => failures.push(failure) },
  });
  await database.clock.runUntil(client.write({ 't/a:seen': '1' }));
  await assert.rejects(database.clock.runUntil(worker.ended), closed);
  assert.deepEqual(failures, []);
  await assert.rejects(worker.stop(), closed);
});

test('a worker that was stopped has ended well', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const { worker, reported } = startWorker(database);
  await worker.stop();
  await worker.ended;
  assert.deepEqual(reported, []);
});

interface Started {
  readonly client: ReturnType<TestDatabase['client']>;
  readonly worker: Worker;
  /** The rows whose observers ran. */
  readonly saw: string[];
  readonly reported: string[];
}

/** Observes `seen` of tables t and u. */
test('P56: an observer that fails, of a worker without onFailure, is a warning until it does not fail any more', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  let isBroken = true;
  const run = async (): Promise<void> => {
    if (isBroken) throw new RangeError('a bug');
  };
  const { worker, reported } = startWorker(database, { run, options: { slowMs: 100 } });
  const other = database.client('other');
  await database.clock.runUntil(other.write({ 't/a:seen': '1', 't/b:seen': '1', 'u/c:seen': '1' }));
  const { failing, parked } = await database.clock.runUntil(worker.idle());
  assert.deepEqual([failing, parked], [3, 0]);
  const begun = ['failure t/a:seen RangeError', 'failure u/c:seen RangeError'];
  assert.deepEqual(reported.toSorted(), begun);
  isBroken = false;
  await database.clock.advance(500);
  const over = begun.map((one) => `over: ${one}`);
  assert.deepEqual(reported.toSorted(), [...begun, ...over]);
  assert.deepEqual(await database.clock.runUntil(worker.idle()), { failing: 0, parked: 0 });
  await worker.stop();
});

test('P56: a worker with onFailure hears of each failure there, and not as a warning; idle tells of parked cells', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const run = (): Promise<void> => Promise.reject(new RangeError('a bug'));
  let failures = 0;
  const onFailure = (): void => void failures++;
  const options = { onFailure, failuresMax: 3, slowMs: 100 };
  const { worker, reported } = startWorker(database, { run, options });
  await database.clock.runUntil(database.client('other').write({ 't/a:seen': '1' }));
  await database.clock.advance(1_000);
  assert.deepEqual(await database.clock.runUntil(worker.idle()), { failing: 0, parked: 1 });
  assert.deepEqual([failures, reported], [3, []]);
  await worker.stop();
});

function startWorker(
  database: TestDatabase,
  given: {
    readonly client?: Started['client'];
    /** Default: that of the client. */
    readonly context?: Started['client']['context'];
    readonly run?: Observer['run'];
    readonly options?: WorkerOptions;
  } = {},
): Started {
  const { client = database.client('worker'), run = async () => {}, options } = given;
  const saw: string[] = [];
  const reported: string[] = [];
  const observers = ['t', 'u'].map((table): Observer => ({
    name: `of ${table}`,
    table,
    column: 'seen',
    run: (transaction, dirty, change) => {
      saw.push(`${dirty.table}/${dirty.row}`);
      return run(transaction, dirty, change);
    },
  }));
  const onWarning = (warning: Warning): void => void reported.push(tell(warning));
  const { context = client.context } = given;
  const worker = new Worker(context, observers, { ...QUICK, onWarning, ...options });
  return { client, worker, saw, reported };
}

function refuseCommits(call: WatchedCall): void {
  if (call.kind !== 'mutation' || !call.operation.startsWith('checkAndMutate')) return;
  throw new PercolatorError('STORE_REFUSED', 'single-row transactions are not allowed');
}

async function runElsewhere(database: TestDatabase): Promise<void> {
  const { worker } = startWorker(database, { client: database.client('elsewhere') });
  await database.clock.runUntil(worker.idle());
  await worker.stop();
}

function tell({ kind, table, row, column, error, isOver }: Warning): string {
  const place = [
    table,
    row === undefined ? '' : `/${row}`,
    column === undefined ? '' : `:${column}`,
  ];
  const code = error instanceof PercolatorError ? error.code : (error as Error | undefined)?.name;
  return [isOver ? 'over:' : '', kind, place.join(''), String(code)].filter(Boolean).join(' ');
}

async function dropTable({ store }: TestDatabase, table: string): Promise<void> {
  await store.dropTable(notifyTable(table));
  await store.dropTable(table);
}

async function createTable({ store }: TestDatabase, table: string): Promise<void> {
  await store.createTable(table, { families: TABLE_FAMILIES });
  await store.createTable(notifyTable(table), { families: NOTIFY_FAMILIES });
}
