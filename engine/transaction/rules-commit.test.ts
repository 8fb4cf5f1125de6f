/**
 * The rules of protocol.md about committing: P9, P10, P12, P14 to P18, P37, P38; and P3 and P7, as
 * far as commits show them. Each test that names a rule fails without it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PercolatorError } from '../base/index.ts';
import {
  type WatchedCall,
  cell,
  createMemoryBigtable,
  type MutationCall,
  once,
  openTestDatabase,
  put,
} from '../testing/index.ts';
import { type Bigtable, decorate } from '../bigtable/index.ts';
import { begin, transact } from './index.ts';
import { isOf } from './columns.ts';

/** The mutation that is the commit point of a transaction whose primary is in row `p`. */
const isCommitPoint = ({ row, mutations }: MutationCall): boolean =>
  row === 'p' && mutations.some((one) => one.kind === 'set' && isOf('write', one));

/** The condition on the lock excludes the second phase, which has the same operation. */
const isPrewriteOf =
  (row: string) =>
  (call: WatchedCall): boolean =>
    call.kind === 'mutation' &&
    call.row === row &&
    call.operation === 'checkAndMutateRows' &&
    call.mutations.some((one) => one.kind === 'set' && isOf('lock', one));

test('P9: phase 2 erases exactly its own lock, so a late copy erases no other transaction’s lock', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  a.store.duplicate(
    ({ row, mutations }) => row === 'x' && mutations.some((one) => isOf('write', one)),
  );
  const committed = await a.write({ p: '1', x: '1' });
  b.beforeMutation(3, async () => {
    await a.store.deliverDuplicates();
    assert.deepEqual(await database.locks(), ['p:c', 'x:c'], "B's locks are still there");
  });
  await b.write({ p: '2', x: '2' });
  assert.deepEqual(await b.read(['p', 'x']), { p: '2', x: '2' });
  for (const call of a.store.trace) {
    for (const mutation of call.kind === 'mutation' ? call.mutations : []) {
      if (mutation.kind !== 'erase') continue;
      assert.equal(mutation.from, mutation.to, 'an erase names one timestamp');
      assert.ok(mutation.to < committed);
    }
  }
});

test('P10: the commit timestamp is asked for when all locks are held, and not before', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  const transaction = await a.begin();
  put(transaction, { p: '1', x: '1', y: '1' });
  const held: (readonly string[])[] = [];
  database.oracle.beforeNext = async () => void held.push(await database.locks());
  await transaction.commit();
  assert.deepEqual(held, [['p:c', 'x:c', 'y:c']]);
});

test('P10: a reader that starts after a commit timestamp was handed out meets the lock or the write', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  await a.write({ p: 'old', x: 'old' });
  const transaction = await a.begin();
  put(transaction, { p: 'new', x: 'new' });
  let read: Promise<unknown> | undefined;
  database.oracle.afterNext = async () => {
    database.oracle.afterNext = undefined;
    read = b.read(['p', 'x']); // It starts above A's commit timestamp, and A's locks are there.
    await database.clock.yield();
  };
  await transaction.commit();
  assert.deepEqual(await database.clock.runUntil(read as Promise<unknown>), { p: 'new', x: 'new' });
});

test('P7: a row that the storage refuses for good does not keep the others locked', async () => {
  const memory = createMemoryBigtable(); // The client's own store would split the rows.
  const checkAndMutateRows: Bigtable['checkAndMutateRows'] = (conditionals) => {
    if (!conditionals.some(({ row }) => row === 'long')) {
      return memory.checkAndMutateRows(conditionals);
    }
    return Promise.reject(new PercolatorError('INVALID_ARGUMENT', 'its keys are shorter'));
  };
  const store = decorate(memory, { checkAndMutateRows });
  const database = await openTestDatabase({ store });
  const { context } = database.client('A');
  const transaction = await begin({ ...context, store });
  put(transaction, { p: '1', x: '1' });
  transaction.set({ table: 't', row: 'long', column: 'c' }, '1');
  await assert.rejects(transaction.commit(), { code: 'INVALID_ARGUMENT' });
  assert.deepEqual(await database.locks(), []);
});

test('a transaction of more rows than a function call may have arguments hears what the storage says', async () => {
  const database = await openTestDatabase();
  const { context } = database.client('A');
  const checkAndMutateRows: Bigtable['checkAndMutateRows'] = async (conditionals) => {
    const answer = conditionals.length === 1 ? false : new PercolatorError('STORE_REFUSED', 'no');
    return conditionals.map(() => answer);
  };
  const store = decorate(context.store, { checkAndMutateRows });
  const transaction = await begin({ ...context, store });
  for (let i = 0; i < 150_000; i++) transaction.set(cell(String(i).padStart(6, '0')), '1');
  await assert.rejects(transaction.commit(), { code: 'STORE_REFUSED' });
});

test('P12: a prewrite that finds its own lock has succeeded, not lost', async () => {
  // A conflict that is believed without a read would roll back a transaction that holds all its
  // locks.
  const database = await openTestDatabase();
  const a = database.client('A');
  const prewrites = (row: string) => a.store.trace.filter(isPrewriteOf(row)).length;
  // The request for p arrives late, after A has looked for its lock and before A sends it again.
  a.store.loseRequest(once(isPrewriteOf('p')));
  a.store.duplicate(once(isPrewriteOf('p')));
  a.store.beforeCall = async (call) => {
    if (isPrewriteOf('p')(call)) await a.store.deliverDuplicates();
  };
  a.store.loseAnswer(once(isPrewriteOf('x')));
  await database.clock.runUntil(a.write({ p: '1', x: '1' }));
  assert.deepEqual([prewrites('p'), prewrites('x')], [2, 1]);
  assert.deepEqual(await database.client('B').read(['p', 'x']), { p: '1', x: '1' });
  assert.equal(a.context.counters.conflicts, 0);
});

test('P12: a prewrite whose request was lost is sent again', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  a.store.loseRequest(once(() => true));
  await database.clock.runUntil(a.write({ p: '1', x: '1' }));
  assert.deepEqual(await database.client('B').read(['p', 'x']), { p: '1', x: '1' });
});

test('P12: a commit whose answer was lost succeeds, although others have overwritten its cells since', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  a.store.loseAnswer(once(isCommitPoint));
  // Before A looks, B rolls its whole transaction forward and overwrites it.
  let overwritten = false;
  a.store.beforeCall = async ({ kind }) => {
    if (kind !== 'read' || overwritten) return;
    overwritten = true;
    database.bury('A');
    assert.deepEqual(await b.read(['p', 'x']), { p: '1', x: '1' });
    await b.write({ p: '2', x: '2' });
  };
  await database.clock.runUntil(a.write({ p: '1', x: '1' }));
  assert.ok(overwritten);
  assert.deepEqual(await b.read(['p', 'x']), { p: '2', x: '2' });
});

test('P14: a copy of a prewrite that arrives after the commit, and after later versions, locks nothing', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  a.store.duplicate(({ operation }) => operation === 'checkAndMutateRows');
  await a.write({ p: '1', x: '1' });
  await b.write({ p: '2' });
  await a.store.deliverDuplicates();
  assert.deepEqual(await database.locks(), []);
  assert.deepEqual(await b.read(['p', 'x']), { p: '2', x: '1' });
});

for (const what of ['an acknowledgment', 'a touch'] as const) {
  test(`P14: a copy of a prewrite of ${what} that arrives after the commit locks nothing`, async () => {
    const database = await openTestDatabase();
    const a = database.client('A');
    await a.write({ p: '1' });
    a.store.duplicate(({ operation }) => operation === 'checkAndMutateRows');
    const transaction = await a.begin();
    if (what === 'a touch') await transaction.lock(cell('p'));
    else transaction.acknowledge('observer', cell('p'));
    await transaction.commit();
    await a.store.deliverDuplicates();
    assert.deepEqual(await database.locks(), []);
  });
}

test('P15: a secondary names the table of its primary', async () => {
  // Without the table, the resolver would look for the primary in the secondary's own table.
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  // After the commit point. The secondary has the primary's row and column, in another table.
  a.store.crashAfter(3);
  await assert.rejects(a.write({ 't/p': '1', 'u/p': '2' }));
  database.bury('A');
  assert.deepEqual(await b.read(['t/p', 'u/p']), { 't/p': '1', 'u/p': '2' });
});

test('P16: two writes to one cell are one prewrite, with the last value', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  const transaction = await a.begin();
  put(transaction, { p: '1', x: '1' });
  put(transaction, { p: '2', x: undefined });
  put(transaction, { p: '3' });
  await transaction.commit();
  await a.settled();
  assert.equal(a.store.mutationCount, 4);
  assert.deepEqual(await a.read(['p', 'x']), { p: '3', x: undefined });
});

test('P16: the cells of the primary’s row commit with the primary, in its one row mutation', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  a.store.crashAfter(2);
  await assert.rejects(a.write({ 'p:one': '1', 'p:two': '2', 'p:three': undefined }));
  assert.deepEqual(await database.locks(), [], 'there is no second phase');
  assert.deepEqual(await b.read(['p:one', 'p:two', 'p:three']), {
    'p:one': '1',
    'p:two': '2',
    'p:three': undefined,
  });
});

test('P17: a delete is a write: older snapshots see the value, concurrent writers the conflict', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  const written = await a.write({ x: 'value' });
  const concurrent = await b.begin();
  const deleted = await a.write({ x: undefined });
  put(concurrent, { x: 'lost' });
  await assert.rejects(concurrent.commit(), { code: 'WRITE_CONFLICT' });
  assert.deepEqual(await b.read(['x'], written), { x: 'value' });
  assert.deepEqual(await b.read(['x'], deleted - 1), { x: 'value' });
  assert.deepEqual(await b.read(['x'], deleted), { x: undefined });
});

test('P18: a retry is a new transaction: new start timestamp, new reads', async () => {
  // To retry only the writes would lose B's write.
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  await a.write({ x: '1' });
  const starts: number[] = [];
  const work = transact(a.context, async (transaction) => {
    starts.push(transaction.startTimestamp);
    const value = await transaction.get(cell('x'));
    if (starts.length === 1) await b.write({ x: '10' });
    put(transaction, { x: String(Number(value) + 1) });
  });
  await database.clock.runUntil(work);
  assert.deepEqual(await b.read(['x']), { x: '11' });
  assert.equal(new Set(starts).size, 2);
});

test('P37: an oracle that hands out one timestamp twice is caught before anything is committed', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  const transaction = await a.begin();
  const { oracle } = a.context;
  oracle.next = async () => transaction.startTimestamp;
  put(transaction, { x: '1' });
  await assert.rejects(transaction.commit(), /the oracle only moves forward/);
  assert.deepEqual(Object.keys(await database.stored('x')), ['rollback'], 'no write and no lock');
});

test('P38: timestamps up to 2^53 keep their order and their identity', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  await a.write({ p: 'small', x: 'small' });
  database.oracle.skipTo(2 ** 53 - 20);
  const committed = await a.write({ p: 'large', x: 'large' });
  assert.deepEqual(await b.read(['p', 'x']), { p: 'large', x: 'large' });
  assert.deepEqual(await b.read(['p'], committed - 1), { p: 'small' });
  a.store.crashAfter(a.store.mutationCount + 3);
  await assert.rejects(a.write({ p: 'last', x: 'last' }));
  database.bury('A');
  assert.deepEqual(await b.read(['x', 'p']), { p: 'last', x: 'last' });
});

test('P3: but for prewrites, no condition on a lock, and no erasure of one, covers more than one start timestamp', async () => {
  const database = await openTestDatabase();
  const [a, b, c] = [database.client('A'), database.client('B'), database.client('C')];
  await a.write({ p: '1', x: '1' });
  // A commits slowly and sends heartbeats; then its second phase is lost, and B rolls it forward.
  const transaction = await a.begin();
  put(transaction, { p: '2', x: '2' });
  database.oracle.beforeNext = async () => {
    database.oracle.beforeNext = undefined;
    await database.clock.advance(60_000);
  };
  a.store.loseRequest(({ row, mutations }) => row === 'x' && isCommitting(mutations));
  await transaction.commit();
  database.bury('A');
  await database.clock.runUntil(b.read(['x']));
  // B dies with its locks; C rolls it back. C loses a conflict, and rolls itself back.
  b.store.crashBefore(b.store.mutationCount + 3);
  await assert.rejects(b.write({ p: '3', x: '3' }));
  database.bury('B');
  await database.clock.runUntil(c.read(['p', 'x']));
  const loser = await c.begin();
  put(loser, { y: '4', x: '4' });
  await database.clock.runUntil(database.client('D').write({ x: '5' }));
  await assert.rejects(loser.commit(), { code: 'WRITE_CONFLICT' });

  const seen = new Set<string>();
  for (const { store } of [a, b, c]) {
    for (const call of store.trace) {
      if (call.kind !== 'mutation') continue;
      const erased = call.mutations.filter((one) => one.kind === 'erase');
      const conditions = isPrewriteOf(call.row)(call) ? [] : (call.anyOf ?? []);
      for (const { qualifier = '', from, to } of [...conditions, ...erased]) {
        if (!isOf('lock', { qualifier })) continue;
        assert.ok(from !== undefined);
        assert.equal(from, to);
        seen.add(`${call.row}@${from}`);
      }
    }
  }
  assert.ok(seen.size >= 6, [...seen].join(', '));
});

function isCommitting(mutations: MutationCall['mutations']): boolean {
  return mutations.some((one) => one.kind === 'set' && isOf('write', one));
}
