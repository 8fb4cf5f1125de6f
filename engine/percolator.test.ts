/**
 * The claims of the public interface: tables, transactions, scans, snapshots, workers, options;
 * what each refuses; several databases on one storage.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from './base/index.ts';
import { temporaryFolder } from './testing/temporary-folder.ts';
import {
  createRandom,
  decorate,
  openPercolator,
  type Percolator,
  type PercolatorOptions,
  type Transaction,
} from './index.ts';
import { openLeasedAllocator } from './oracle/index.ts';
import { cell, createMemoryBigtable, FaultyBigtable, put, VirtualClock } from './testing/index.ts';
import { everywhere } from './transaction/index.ts';

async function open(options: Partial<PercolatorOptions> = {}): Promise<Percolator> {
  const percolator = await openPercolator({ store: createMemoryBigtable(), ...options });
  await percolator.createTable('t', { observedColumns: ['seen'] });
  return percolator;
}

const x = cell('x');

test('a table created twice with one definition is one table; another definition is refused', async () => {
  const percolator = await open();
  await percolator.createTable('t', { observedColumns: ['seen'] });
  await percolator.createTable('two', { observedColumns: ['b', 'a', 'b'] });
  await percolator.createTable('two', { observedColumns: ['a', 'b'] });
  const mismatch = { code: 'TABLE_MISMATCH' };
  await assert.rejects(percolator.createTable('t'), mismatch);
  await assert.rejects(percolator.createTable('t', { observedColumns: ['other'] }), mismatch);
  await assert.rejects(
    percolator.createTable('t', { observedColumns: ['seen'], splits: ['m'] }),
    mismatch,
  );
});

test('a table can be dropped, and created with another definition', async () => {
  const percolator = await open();
  await percolator.transact(async (transaction) => put(transaction, { x: '1' }));
  await percolator.settled();
  await percolator.dropTable('t');
  await assert.rejects((await percolator.snapshot()).get(x), { code: 'TABLE_NOT_FOUND' });
  await percolator.createTable('t', { observedColumns: ['other'] });
  assert.equal(await (await percolator.snapshot()).get(x), undefined);
});

test('a table that does not exist is refused, by reads and by writes', async () => {
  const percolator = await open();
  const unknown = { code: 'TABLE_NOT_FOUND' };
  await assert.rejects((await percolator.begin()).get(cell('nowhere/x')), unknown);
  await assert.rejects(
    percolator.transact(async (transaction) => put(transaction, { x: '1', 'nowhere/x': '1' })),
    unknown,
  );
  assert.equal(await (await percolator.snapshot()).get(x), undefined, 'and nothing is written');
});

test('columns of acknowledgments are refused everywhere', async () => {
  const percolator = await open();
  const transaction = await percolator.begin();
  const refused = { code: 'INVALID_ARGUMENT' };
  const reserved = cell('x:ack_observer:seen');
  await assert.rejects(transaction.get(reserved), refused);
  await assert.rejects(transaction.getMany([x, reserved]), refused);
  await assert.rejects(transaction.lock(reserved), refused);
  assert.throws(() => transaction.set(reserved, ''), refused);
  assert.throws(() => transaction.delete(reserved), refused);
  assert.throws(() => transaction.notifyWeakly(reserved), refused);
  assert.throws(() => transaction.scan({ table: 't', columns: ['ack_'] }), refused);
});

test('a transaction with a cell that the storage refuses writes nothing', async () => {
  const percolator = await open();
  for (const wrong of [cell('\u{d800}'), { ...x, row: '' }, { ...x, column: '\u{dc00}' }]) {
    const writing = percolator.transact(async (transaction) => {
      transaction.set(x, 'value');
      transaction.set(wrong, 'value');
    });
    await assert.rejects(writing, { code: 'INVALID_ARGUMENT' });
    assert.equal(await (await percolator.snapshot()).get(x), undefined);
  }
});

test('values are bytes: empty, large, not text; rows and columns are any Unicode', async () => {
  const percolator = await open();
  const values = [Buffer.alloc(0), Buffer.alloc(100_000, 7), Buffer.from([0, 255, 0, 128])];
  const rows = ['a\0b', '\uffff', '\u{10000}', 'ё', '😀', ' '];
  const cells = rows.flatMap((row) => ['c', '', '列'].map((column) => cell(`${row}:${column}`)));
  await percolator.transact(async (transaction) => {
    cells.forEach((one, i) => transaction.set(one, values[i % 3] ?? ''));
  });
  const read = await (await percolator.snapshot()).getMany(cells);
  cells.forEach((_, i) => assert.deepEqual(read[i], values[i % 3]));
  const scanned = await collect((await percolator.snapshot()).scan({ table: 't', columns: ['c'] }));
  assert.deepEqual(
    scanned.map(({ row }) => row),
    rows.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
  );
});

test('getMany answers in the order asked, own writes included, and a cell asked for twice appears twice', async () => {
  const percolator = await open();
  await percolator.transact(async (transaction) =>
    put(transaction, { x: '1', 'x:b': '2', y: '3' }),
  );
  const transaction = await percolator.begin();
  put(transaction, { y: 'own', 'x:b': undefined });
  const names = ['y', 'x', 'x:b', 'never', 'x'];
  const values = await transaction.getMany(names.map(cell));
  assert.deepEqual(values.map(String), ['own', '1', 'undefined', 'undefined', '1']);
  assert.deepEqual(await transaction.getMany([]), []);
});

test('a snapshot of the future, which would still change, is refused', async () => {
  const percolator = await open();
  const { startTimestamp } = await percolator.snapshot();
  const future = percolator.snapshot(startTimestamp + 1_000);
  await assert.rejects(future, { code: 'INVALID_ARGUMENT' });
});

test('a snapshot can be read, not written', async () => {
  const percolator = await open();
  const committed = await commitOf(percolator, { x: '1' });
  await commitOf(percolator, { x: '2' });
  const snapshot = await percolator.snapshot(committed);
  assert.equal(snapshot.startTimestamp, committed);
  assert.equal((await snapshot.get(x))?.toString(), '1');
  const writer = snapshot as Awaited<ReturnType<Percolator['begin']>>;
  const refused = { code: 'READ_ONLY' };
  assert.throws(() => writer.set(x, '3'), refused);
  assert.throws(() => writer.delete(x), refused);
  assert.throws(() => writer.notifyWeakly(x), refused);
  await assert.rejects(writer.lock(x), refused);
});

test('after its end a transaction can do nothing more', async () => {
  const percolator = await open();
  const committed = await percolator.begin();
  put(committed, { x: '1' });
  await committed.commit();
  const discarded = await percolator.begin();
  discarded.discard();
  const failed = await percolator.begin();
  put(failed, { x: '2' });
  await commitOf(percolator, { x: '3' });
  await assert.rejects(failed.commit(), { code: 'WRITE_CONFLICT' });

  const closed = { code: 'TRANSACTION_CLOSED' };
  for (const transaction of [committed, discarded, failed]) {
    transaction.discard();
    await assert.rejects(transaction.get(x), closed);
    await assert.rejects(transaction.getMany([x]), closed);
    await assert.rejects(transaction.lock(x), closed);
    await assert.rejects(transaction.commit(), closed);
    assert.throws(() => transaction.set(x, ''), closed);
    assert.throws(() => transaction.scan({ table: 't', columns: ['c'] }), closed);
  }
});

test('two commits of one transaction at once: the second is refused', async () => {
  const percolator = await open();
  const transaction = await percolator.begin();
  put(transaction, { x: '1' });
  const outcomes = await Promise.allSettled([transaction.commit(), transaction.commit()]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
});

test('a body that throws commits nothing, and its error is the answer', async () => {
  const percolator = await open();
  const error = new Error('changed my mind');
  const work = percolator.transact(async (transaction) => {
    put(transaction, { x: '1' });
    await transaction.lock(cell('y'));
    throw error;
  });
  await assert.rejects(work, error);
  assert.equal(await (await percolator.snapshot()).get(x), undefined);
});

test('transact resolves with what the body returned, of the attempt that committed', async () => {
  const percolator = await open();
  let attempts = 0;
  const result = await percolator.transact(async (transaction) => {
    attempts++;
    put(transaction, { x: String(attempts) });
    if (attempts < 3) await commitOf(percolator, { x: 'other' });
    return `attempt ${attempts}`;
  });
  assert.equal(result, 'attempt 3');
});

test('an option that is not a number above 0 is refused by name', async () => {
  for (const name of [
    'lockTimeToLiveMs',
    'lockWaitMsMax',
    'attemptsMax',
    'unansweredMsMax',
    'backoffMsMin',
  ]) {
    for (const value of [0, -5, Number.NaN, Infinity]) {
      await assert.rejects(open({ [name]: value }), {
        code: 'INVALID_ARGUMENT',
        message: new RegExp(`^${name} must be a (whole|finite) number above 0, not ${value}$`),
      });
    }
  }
});

test('options without folder and store are refused, and so is a folder below a file', async () => {
  await assert.rejects(openPercolator({}), { code: 'INVALID_ARGUMENT' });
  const error = await openPercolator({ folder: '/dev/null/data' }).catch((one: unknown) => one);
  assert.equal((error as { code?: string }).code, 'STORE_REFUSED');
});

test('close waits for the second phase', async () => {
  const memory = createMemoryBigtable();
  const gate = Promise.withResolvers<void>();
  // Not a FaultyBigtable: there the mutation that gives up the lease would wait for the gate, too,
  // and so would a `close` that does not wait for the second phase.
  const store = decorate(memory, {
    checkAndMutateRows: async (conditionals) => {
      const isPrewrite = conditionals.every(({ ifFound }) => ifFound === undefined);
      if (!isPrewrite) await gate.promise;
      return memory.checkAndMutateRows(conditionals);
    },
  });
  const countLocks = async (): Promise<number> =>
    (await memory.readRange('t', { limit: 10 }, [everywhere('lock')])).length;
  const percolator = await open({ store });
  await percolator.transact(async (transaction) => put(transaction, { x: '1', y: '1' }));
  assert.equal(await countLocks(), 1);
  let isClosed = false;
  const closing = percolator.close().then(() => (isClosed = true));
  await systemClock.yield();
  assert.equal(isClosed, false);
  gate.resolve();
  await closing;
  assert.equal(await countLocks(), 0);
});

test('close closes the store that openPercolator opened, and may be called twice', async () => {
  const folder = temporaryFolder();
  const percolator = await open({ store: undefined, folder, fsync: false });
  await commitOf(percolator, { x: '1', y: '1' });
  await percolator.close();
  await percolator.close();
  await assert.rejects(percolator.snapshot(), { code: 'STORE_CLOSED' });

  await using again = await openPercolator({ folder, fsync: false });
  assert.equal((await (await again.snapshot()).get(cell('y')))?.toString(), '1');
});

test('a store that the caller opened stays open', async () => {
  const store = createMemoryBigtable();
  const percolator = await open({ store });
  await percolator.close();
  assert.ok((await store.listTables()).includes('t'));
});

test('P36, P37: three runs with one seed on one folder never get the same timestamp twice', async () => {
  const folder = temporaryFolder();
  const given: number[] = [];
  for (let run = 0; run < 3; run++) {
    await using percolator = await openPercolator({
      folder,
      fsync: false,
      random: createRandom(7),
    });
    for (let i = 0; i < 3; i++) given.push((await percolator.begin()).startTimestamp);
  }
  assert.deepEqual(
    given,
    [...new Set(given)].toSorted((a, b) => a - b),
  );
});

test('the lease of an oracle service that crashed is waited for on the clock that was given', async () => {
  const store = createMemoryBigtable();
  const clock = new VirtualClock();
  const crashing = new FaultyBigtable(store);
  await openLeasedAllocator(crashing, clock, { leaseTimeToLiveMs: 3_600_000 });
  crashing.crash();
  const percolator = await openPercolator({ store, clock });
  const { startTimestamp } = await clock.runUntil(percolator.snapshot());
  assert.ok(startTimestamp > 0);
});

test('P29: two databases with one seed in one process leave each other’s live locks alone', async () => {
  const store = createMemoryBigtable();
  const slow = new FaultyBigtable(store);
  const first = await open({ store: slow, random: createRandom(7) });
  const second = await openPercolator({ store, random: createRandom(7), lockWaitMsMax: 20 });
  const transaction = await first.begin();
  put(transaction, { x: '1', y: '1' });
  const gate = Promise.withResolvers<void>();
  slow.beforeCall = (call) => {
    const isCommitPoint = call.kind === 'mutation' && call.operation === 'checkAndMutateRow';
    return isCommitPoint ? gate.promise : undefined;
  };
  const committing = transaction.commit();
  const { startTimestamp } = await second.begin();
  assert.ok(startTimestamp > transaction.startTimestamp);
  await assert.rejects((await second.snapshot()).get(cell('y')), { code: 'LOCKED' });
  gate.resolve();
  await committing;
  assert.equal((await (await second.snapshot()).get(cell('y')))?.toString(), '1');
  assert.equal(second.counters.rolledBack, 0);
});

test('a weak notification of a table that does not exist is refused before anything is locked', async () => {
  const percolator = await open();
  const work = percolator.transact(async (transaction) => {
    put(transaction, { x: '1' });
    transaction.notifyWeakly(cell('nowhere/x'));
  });
  await assert.rejects(work, { code: 'TABLE_NOT_FOUND' });
  const locked = [everywhere('lock'), everywhere('rollback')];
  assert.equal(await percolator.store.readRow('t', 'x', locked), undefined);
});

test('a worker runs its observer for changes of the observed column only', async () => {
  await using percolator = await open();
  const seen: string[] = [];
  const worker = percolator.startWorker([
    {
      name: 'observer',
      table: 't',
      column: 'seen',
      run: async (_, { row }) => void seen.push(row),
    },
  ]);
  await commitOf(percolator, { 'x:seen': '1', 'y:unseen': '1' });
  await worker.idle();
  await worker.stop();
  assert.deepEqual(seen, ['x']);
  assert.deepEqual(await percolator.listParked('t'), []);
});

test('P56: a table that another process drops costs a worker that table only, and is reported', async () => {
  const folder = temporaryFolder();
  await using percolator = await openPercolator({ folder, fsync: false });
  await using other = await openPercolator({ folder, fsync: false });
  const definition = { observedColumns: ['seen'] };
  for (const table of ['t', 'u']) await percolator.createTable(table, definition);
  const saw: string[] = [];
  const reported: string[] = [];
  const observers = ['t', 'u'].map((table) => ({
    name: 'one',
    table,
    column: 'seen',
    run: async (_: Transaction, dirty: { readonly table: string; readonly row: string }) =>
      void saw.push(`${dirty.table}/${dirty.row}`),
  }));
  await using worker = percolator.startWorker(observers, {
    onWarning: ({ kind, table, isOver }) => void reported.push(`${kind} ${table} ${isOver}`),
  });
  await other.transact(async (transaction) => put(transaction, { 'u/before:seen': '1' }));
  await worker.idle();
  await other.dropTable('t');
  await other.transact(async (transaction) => put(transaction, { 'u/after:seen': '1' }));
  await worker.idle();
  assert.deepEqual(reported, ['table t false']);
  await other.createTable('t', definition);
  await other.transact(async (transaction) => put(transaction, { 't/again:seen': '1' }));
  await worker.idle();
  assert.deepEqual(saw, ['u/before', 'u/after', 't/again']);
  assert.deepEqual(reported, ['table t false', 'table t true']);
});

async function commitOf(
  percolator: Percolator,
  values: Parameters<typeof put>[1],
): Promise<number> {
  const transaction = await percolator.begin();
  put(transaction, values);
  const committed = await transaction.commit();
  await percolator.settled();
  return committed;
}

async function collect<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

test('batching and prefetching change no result and need fewer calls of the store', async () => {
  const folder = temporaryFolder();
  const options = { folder, fsync: false, batching: {}, prefetch: 'learn' } as const;
  await using percolator = await openPercolator(options);
  await percolator.createTable('t', { observedColumns: ['seen'] });
  const rows = Array.from({ length: 50 }, (_, i) => `row ${i}`);
  const column = { table: 't', column: 'count' };
  const run = async (transaction: Transaction, { row }: { readonly row: string }) => {
    const seen = await transaction.get({ ...column, row, column: 'seen' });
    const count = Number((await transaction.get({ ...column, row })) ?? 0);
    transaction.set({ ...column, row }, String(count + Number(seen)));
  };
  const observer = { name: 'adding', table: 't', column: 'seen', run };
  await using worker = percolator.startWorker([observer]);
  for (const value of ['1', '20', '300']) {
    const write = (row: string): Promise<void> =>
      percolator.transact(async (transaction) => put(transaction, { [`${row}:seen`]: value }));
    await Promise.all(rows.map(write));
    await worker.idle();
  }
  await using snapshot = await percolator.snapshot();
  const counts = await snapshot.getMany(rows.map((row) => ({ ...column, row })));
  assert.deepEqual(
    counts.map(String),
    rows.map(() => '321'),
  );

  const { reads, conditionals, urgent, bulk } = percolator.batchingCounters;
  for (const lane of [reads, conditionals, urgent, bulk]) {
    assert.ok(lane.rpcs * 3 < lane.operations, JSON.stringify(percolator.batchingCounters));
  }
  assert.ok(percolator.counters.readsSaved > 0);
});

test('a wrong batching or prefetch option is refused', async () => {
  const store = createMemoryBigtable();
  const refused = { code: 'INVALID_ARGUMENT' };
  await assert.rejects(openPercolator({ store, batching: { delayMs: -1 } }), refused);
  const wrong = { store, prefetch: 'sometimes' } as unknown as PercolatorOptions;
  await assert.rejects(openPercolator(wrong), refused);
});

test('databases of one folder see each other’s transfers whole', async () => {
  const folder = temporaryFolder();
  const options = { folder, fsync: false };
  await using first = await openPercolator(options);
  await using second = await openPercolator(options);
  await first.createTable('t');
  const accounts = Array.from({ length: 8 }, (_, i) => cell(`account${i}`));
  await first.transact(async (transaction) => {
    for (const account of accounts) transaction.set(account, '100');
  });
  const random = createRandom(7);
  const transfer = async (transaction: Transaction): Promise<void> => {
    const from = random.integer(0, accounts.length - 1);
    const to = (from + random.integer(1, accounts.length - 1)) % accounts.length;
    const [source, target] = [accounts[from] ?? x, accounts[to] ?? x];
    const [left, right] = await transaction.getMany([source, target]);
    transaction.set(source, String(Number(left) - 1));
    transaction.set(target, String(Number(right) + 1));
  };
  const sum = async (percolator: Percolator): Promise<number> => {
    await using snapshot = await percolator.snapshot();
    return (await snapshot.getMany(accounts)).reduce((all, value) => all + Number(value), 0);
  };
  for (let n = 0; n < 60; n++) {
    const all = [first, second, first].map((one) => one.transact(transfer));
    assert.deepEqual(await Promise.all([sum(first), sum(second)]), [800, 800]);
    await Promise.all(all);
    assert.deepEqual(await Promise.all([sum(first), sum(second)]), [800, 800]);
  }
});
