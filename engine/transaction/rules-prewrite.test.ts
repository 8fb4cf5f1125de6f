/**
 * The rules of protocol.md about prewrite and rolling back: P1 to P8 without P4, and P33. Each test
 * fails without its rule.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PercolatorError } from '../base/index.ts';
import {
  cell,
  type TestClient,
  type MutationCall,
  once,
  openTestDatabase,
  put,
} from '../testing/index.ts';
import { prewriteRows } from './prewrite.ts';

test('P1: a prewrite that lands after the rollback is refused', async () => {
  // Without the rollback record in rollBackMutations, or without the look for it in `offending`,
  // the copy would lock P again, and A would commit although its X is gone.
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  a.store.duplicate(once(() => true));
  a.beforeMutation(3, async () => {
    database.bury('A');
    assert.deepEqual(await b.read(['p', 'x']), { p: undefined, x: undefined });
    await a.store.deliverDuplicates();
    assert.deepEqual(await database.locks(), []);
  });
  await assert.rejects(a.write({ p: '1', x: '1' }), { code: 'ROLLED_BACK' });
  assert.deepEqual(await b.read(['p', 'x']), { p: undefined, x: undefined });
});

test('P1: a prewrite that is still on its way when its transaction is rolled back is refused', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  // Without the condition this would also duplicate the rollback, whose late copy would erase the
  // lock that the late prewrite has left.
  const isPrewriteOfX = ({ row, anyOf }: MutationCall): boolean =>
    row === 'x' && anyOf !== undefined;
  a.store.duplicate(isPrewriteOfX);
  a.store.loseRequest(isPrewriteOfX);
  await assert.rejects(settle(database, a.write({ p: '1', x: '1' })), {
    code: 'STORE_UNAVAILABLE',
  });
  await a.store.deliverDuplicates();
  assert.deepEqual(await database.locks(), []);
  assert.deepEqual(Object.keys(await database.stored('x')), ['rollback']);
  assert.deepEqual(await b.read(['p', 'x']), { p: undefined, x: undefined });
});

test('P2: a reader of a lock whose primary was never written waits for the time to live, then forbids the primary', async () => {
  // If the resolver erased X without leaving a rollback record at P, the late prewrite of P would
  // succeed.
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  const { startTimestamp } = await a.begin();
  assert.deepEqual(await prewrite(a, 'x', startTimestamp), []);

  await assert.rejects(
    settle(database, database.client('C', { lockWaitMsMax: 1_000 }).read(['x'])),
    { code: 'LOCKED' },
    'a primary that is merely in flight belongs to a healthy transaction',
  );
  const before = database.clock.monotonicMs();
  assert.deepEqual(await settle(database, b.read(['x'])), { x: undefined });
  assert.ok(database.clock.monotonicMs() - before >= b.context.options.lockTimeToLiveMs);
  assert.deepEqual(Object.keys(await database.stored('p')), ['rollback']);

  const [conflict] = await prewrite(a, 'p', startTimestamp);
  assert.equal(conflict?.reason, 'rolled back');
  assert.deepEqual(await database.locks(), []);
});

test('P2: a newer record in the primary’s cell does not keep a reader from forbidding a primary that was never written', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  const { startTimestamp } = await a.begin();
  await prewrite(a, 'x', startTimestamp);
  await b.write({ p: 'newer' });
  database.bury('A');
  assert.deepEqual(await b.read(['p', 'x']), { p: 'newer', x: undefined });
  const [conflict] = await prewrite(a, 'p', startTimestamp);
  assert.equal(conflict?.reason, 'rolled back');
});

test('P2: a primary that is locked while a reader settles its absence is rolled back like any locked primary', async () => {
  // forbidPrimary looks for the lock in its predicate; blind, it would record a locked primary as
  // rolled back.
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  const { startTimestamp } = await a.begin();
  await prewrite(a, 'x', startTimestamp);
  database.bury('A');
  b.beforeMutation(1, () => prewrite(a, 'p', startTimestamp));
  assert.deepEqual(await b.read(['x']), { x: undefined });
  const stored = await database.stored('p');
  assert.deepEqual(Object.keys(stored), ['rollback'], 'without the data of a locked primary');
});

test('P2: a primary that is locked and committed while a reader asks for the horizon is not taken for one that never was', async () => {
  // A reader that found nothing at P, and then a horizon above the transaction, would roll X back.
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  a.store.loseRequest(once(({ row }) => row === 'p'));
  let mutationsOfX = 0;
  a.store.loseRequest(({ row }) => row === 'x' && ++mutationsOfX > 1); // Its second phase.
  const committing = a.write({ p: '1', x: '1' });
  await database.clock.yield(); // P is sent again after a backoff.
  assert.deepEqual(await database.locks(), ['x:c']);
  database.bury('A');
  database.oracle.beforeHorizon = async () => {
    database.oracle.beforeHorizon = undefined;
    await database.clock.runUntil(committing);
    database.oracle.horizon = 2;
  };
  await database.clock.runUntil(b.read(['x']));
  assert.deepEqual(await b.read(['x', 'p']), { x: '1', p: '1' });
});

test('P3: another transaction’s lock at the address of a primary is not taken for the primary’s lock', async () => {
  const database = await openTestDatabase();
  const [a, b, c] = [database.client('A'), database.client('B'), database.client('C')];
  const absent = await a.begin();
  await prewrite(a, 'x', absent.startTimestamp);
  const foreign = await b.begin();
  await prewrite(b, 'p', foreign.startTimestamp);
  database.bury('A');
  assert.deepEqual(await c.read(['x']), { x: undefined });
  assert.deepEqual(await database.locks(), ['p:c'], "B's lock stays");
});

test("P5, P6: another transaction's rollback record is no conflict, whatever its timestamp", async () => {
  // In the write column, or matched at any later timestamp, the rollback record would abort the
  // older writer; matched at any earlier one, the writer that comes last.
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  const older = await a.begin();
  const younger = await b.begin();
  put(younger, { x: '2', y: '2' });
  await a.write({ y: '1' });
  await assert.rejects(younger.commit(), { code: 'WRITE_CONFLICT' });
  assert.deepEqual(Object.keys(await database.stored('x')), ['rollback']);
  put(older, { x: '0' });
  await older.commit();
  assert.deepEqual(await b.read(['x']), { x: '0' });
  await a.write({ x: '3' });
  assert.deepEqual(await b.read(['x']), { x: '3' });
});

test('P7: a conflict rolls back the whole write set, the primary first', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  const loser = await a.begin();
  put(loser, { p: '1', x: '1', y: '1', 'u/z': '1' });
  await b.write({ y: '2' });
  await assert.rejects(loser.commit(), { code: 'WRITE_CONFLICT' });

  assert.deepEqual([...(await database.locks('t')), ...(await database.locks('u'))], []);
  for (const name of ['p', 'x', 'u/z']) {
    assert.deepEqual(
      Object.keys(await database.stored(name)),
      ['rollback'],
      'P33: without its data',
    );
  }
  const rolledBack = a.store.trace.filter((call) => call.kind === 'mutation').slice(4);
  assert.deepEqual(
    rolledBack.map((call) => call.kind === 'mutation' && call.row),
    ['p', 'x', 'y', 'z'],
  );
});

test('P7: where a table was dropped meanwhile, the rows in all other tables are rolled back', async () => {
  for (const first of ['p', 'u/z']) {
    const database = await openTestDatabase();
    const a = database.client('A');
    const loser = await a.begin();
    put(loser, { [first]: '1', x: '1', 'u/z': '1', 'u/y': '1' });
    database.oracle.beforeNext = async () => {
      await database.store.dropTable('t');
      throw new PercolatorError('STORE_UNAVAILABLE', 'no timestamps for now');
    };
    await assert.rejects(loser.commit(), { code: 'STORE_UNAVAILABLE' });
    assert.deepEqual(await database.locks('u'), [], `the primary is ${first}`);
    assert.deepEqual(Object.keys(await database.stored('u/y')), ['rollback']);
  }
});

test('P7: a row whose prewrite was never answered is rolled back too', async () => {
  // Rolling back only acknowledged rows would leave X locked.
  const database = await openTestDatabase();
  const a = database.client('A');
  a.store.loseAnswer((call) => call.row === 'x' && call.anyOf !== undefined);
  a.store.beforeCall = ({ kind }) => {
    if (kind === 'read') throw new PercolatorError('STORE_UNAVAILABLE', 'no reads for now');
  };
  await assert.rejects(a.write({ p: '1', x: '1' }), { code: 'STORE_UNAVAILABLE' });
  assert.deepEqual(await database.locks(), []);
  assert.deepEqual(Object.keys(await database.stored('x')), ['rollback']);
});

for (const code of ['STORE_REFUSED', 'STORE_UNAVAILABLE'] as const) {
  test(`P7: a primary's row that cannot be written (${code}) leaves no lock elsewhere`, async () => {
    // All rows are locked in one trip: x and u/y are locked although the primary is not.
    const database = await openTestDatabase();
    const a = database.client('A');
    let refused = 0;
    a.store.beforeCall = (call) => {
      if (call.kind !== 'mutation' || call.row !== 'p') return;
      refused++;
      throw new PercolatorError(code, 'this row takes nothing');
    };
    await assert.rejects(a.write({ p: '1', x: '1', 'u/y': '1' }), { code });
    assert.equal(refused, 2, 'its prewrite, and its rollback');
    assert.deepEqual([...(await database.locks('t')), ...(await database.locks('u'))], []);
    for (const name of ['x', 'u/y']) {
      assert.deepEqual(Object.keys(await database.stored(name)), ['rollback']);
    }
  });
}

test('a prewrite that is never answered says how many cells it asked for, and what the store said', async () => {
  const database = await openTestDatabase();
  const a = database.client('A', { inDoubtAttemptsMax: 1 });
  a.store.loseRequest((call) => call.row === 'x' && call.anyOf !== undefined);
  const loser = await a.begin();
  for (const column of ['c', 'd']) loser.set({ table: 't', row: 'x', column }, '1');
  await assert.rejects(settle(database, loser.commit()), {
    code: 'STORE_UNAVAILABLE',
    message: /^prewriting 2 cells of t\/x got no answer in 2 attempts: ./,
  });
  assert.deepEqual(await database.locks(), []);
});

test('P8: our own rollback of the primary is found by a reader that meets a secondary that the rollback has not reached', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  const loser = await a.begin();
  put(loser, { p: '1', x: '1', y: '1' });
  await b.write({ y: '2' });
  a.store.crashAfter(4); // Prewrites of p, x and y; then the rollback of p, and no more.
  await assert.rejects(loser.commit());
  assert.deepEqual(await database.locks(), ['x:c']);
  // B does not know that A is dead: the rollback record at the primary is enough.
  assert.deepEqual(await b.read(['p', 'x', 'y']), { p: undefined, x: undefined, y: '2' });
});

test('P33: rolled back data is gone, so that it does not hide the version of a reader', async () => {
  // If it stayed, two rolled back versions would fill the two versions that a read asks for, and
  // the reader would have to read again.
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  await a.write({ x: 'old' });
  for (let i = 0; i < 3; i++) {
    const loser = await a.begin();
    put(loser, { x: 'lost', y: 'lost' });
    await b.write({ y: String(i) });
    await assert.rejects(loser.commit(), { code: 'WRITE_CONFLICT' });
  }
  assert.equal((await database.stored('x'))['data'], '1: old');
  const callsBefore = b.store.trace.length;
  assert.deepEqual(await b.read(['x']), { x: 'old' });
  assert.equal(b.store.trace.length, callsBefore + 1);
});

/** Locks one cell for a transaction whose primary is `p`. */
function prewrite(
  client: TestClient,
  name: string,
  startTimestamp: number,
): ReturnType<typeof prewriteRows> {
  const { table, row, column } = cell(name);
  const write = { table, row, column, operation: 'put', value: Buffer.from('1') } as const;
  const prewriting = { startTimestamp, primary: cell('p'), wallMs: 0 };
  return prewriteRows(client.context, [{ table, row, writes: [write] }], prewriting);
}

function settle<T>(
  { clock }: Awaited<ReturnType<typeof openTestDatabase>>,
  promise: Promise<T>,
): Promise<T> {
  return clock.runUntil(promise);
}
