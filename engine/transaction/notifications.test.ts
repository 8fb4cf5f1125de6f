/** The rules of protocol.md about setting notifications: P40, P41, P43 and P61. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PercolatorError } from '../base/index.ts';
import {
  cell,
  type MutationCall,
  once,
  openTestDatabase,
  put,
  type TestDatabase,
} from '../testing/index.ts';
import { isOf } from './columns.ts';

const isNotification = ({ table }: MutationCall): boolean => table === 't.notify';

function openObserved(): Promise<TestDatabase> {
  return openTestDatabase({ observed: ['seen'] });
}

test('a weak notification is set at the cell that the call named, whatever becomes of the caller’s object', async () => {
  const database = await openObserved();
  const transaction = await database.client('A').begin();
  const named = { ...cell('x:seen') };
  for (named.row of ['x', 'y']) transaction.notifyWeakly(named);
  put(transaction, { z: '1' });
  const at = await transaction.commit();
  assert.deepEqual(await database.notifications(), [`weak x:seen@${at}`, `weak y:seen@${at}`]);
});

test('all notifications of a row, strong and weak, are one mutation', async () => {
  const database = await openTestDatabase({ observed: ['seen', 'heard'] });
  const a = database.client('A');
  const transaction = await a.begin();
  put(transaction, { 'x:seen': '1', 'x:heard': '1', 'y:seen': '1' });
  transaction.notifyWeakly(cell('x:seen'));
  const at = await transaction.commit();
  const rows = a.store.trace.filter((call) => call.kind === 'mutation' && isNotification(call));
  assert.deepEqual(
    rows.map((call) => call.kind === 'mutation' && call.row),
    ['x', 'y'],
  );
  assert.deepEqual(await database.notifications(), [
    `notify x:heard@${at}`,
    `notify x:seen@${at}`,
    `weak x:seen@${at}`,
    `notify y:seen@${at}`,
  ]);
});

test('a notification is silent if workers of its process will be told of all that the commit notifies', async () => {
  const database = await openTestDatabase({ observed: ['seen', 'heard'] });
  const a = database.client('A');
  const isSilent = async (cells: Readonly<Record<string, string>>): Promise<unknown> => {
    const before = a.store.trace.length;
    await a.write(cells);
    const sent = a.store.trace.slice(before);
    return sent.find((call) => call.kind === 'mutation' && isNotification(call) && call.silent);
  };
  assert.equal(await isSilent({ 'x:seen': '1' }), undefined, 'it has no worker');
  a.context.workers.add({ observes: ({ column }) => column === 'seen', tell: () => {} });
  assert.ok(await isSilent({ 'x:seen': '2' }));
  assert.equal(await isSilent({ 'x:seen': '3', 'x:heard': '1' }), undefined);
  a.context.workers.add({ observes: ({ column }) => column === 'heard', tell: () => {} });
  assert.ok(await isSilent({ 'x:seen': '4', 'x:heard': '2' }));
});

for (const ordered of [true, false]) {
  test(`P40: notifications are set before the commit point and after all locks (ordered: ${ordered})`, async () => {
    // If they were set after the commit point, a process that dies in between would lose them; if
    // before the locks, an observer could clear them without having seen the change.
    const database = await openObserved();
    const a = database.client('A', { ordered });
    await a.write({ 'x:seen': '1', 'y:seen': '1', 'u/z': '1' });
    const steps = a.store.trace.map(
      (call) => call.kind === 'mutation' && call.table + '/' + call.row,
    );
    assert.deepEqual(steps, ['t/x', 't/y', 'u/z', 't.notify/x', 't.notify/y', 't/x', 't/y', 'u/z']);
  });

  test(`P41: a notification carries the commit timestamp (ordered: ${ordered})`, async () => {
    const database = await openObserved();
    const a = database.client('A', { ordered });
    const committed = await a.write({ 'x:seen': '1', 'x:unseen': '1' });
    assert.deepEqual(await database.notifications(), [`notify x:seen@${committed}`]);
  });
}

test('P61: a lost group with the notifications and the commit in it is repeated with both', async () => {
  const database = await openObserved();
  const a = database.client('A', { ordered: true });
  const isCommit = ({ mutations }: MutationCall): boolean =>
    mutations.some((one) => one.kind === 'set' && isOf('write', one));
  a.store.loseRequest(once(isNotification));
  a.store.loseRequest(once(isCommit));
  const committed = await database.clock.runUntil(a.write({ 'x:seen': '1' }));
  assert.deepEqual(await database.notifications(), [`notify x:seen@${committed}`]);
});

test('a delete of an observed cell notifies, too', async () => {
  const database = await openObserved();
  const committed = await database.client('A').write({ 'x:seen': undefined });
  assert.deepEqual(await database.notifications(), [`notify x:seen@${committed}`]);
});

test('P43: a weak notification is set once, when the transaction holds all its locks', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  let seen = 0;
  a.store.beforeCall = async (call) => {
    if (call.kind !== 'mutation' || !isNotification(call)) return;
    seen++;
    assert.deepEqual(await database.locks(), ['x:c', 'y:c']);
    assert.deepEqual(await database.notifications(), []);
  };
  const transaction = await a.begin();
  put(transaction, { x: '1', y: '1' });
  transaction.notifyWeakly(cell('hub'));
  transaction.notifyWeakly(cell('hub'));
  const committed = await transaction.commit();
  assert.equal(seen, 1);
  assert.deepEqual(await database.notifications(), [`weak hub:c@${committed}`]);
});

test('a weak notification in a transaction without writes is refused: it would have no commit', async () => {
  const transaction = await (await openTestDatabase()).client('A').begin();
  transaction.notifyWeakly(cell('hub'));
  await assert.rejects(transaction.commit(), { code: 'INVALID_ARGUMENT' });
});

test('a transaction that loses sets no notification', async () => {
  const database = await openObserved();
  const [a, b] = [database.client('A'), database.client('B')];
  const loser = await a.begin();
  put(loser, { 'x:seen': '1', y: '1' });
  await b.write({ y: '2' });
  await assert.rejects(loser.commit(), { code: 'WRITE_CONFLICT' });
  assert.deepEqual(await database.notifications(), []);
});

for (const lost of ['loseAnswer', 'loseRequest'] as const) {
  test(`a notification in doubt (${lost}) is sent again before anything is committed`, async () => {
    const database = await openObserved();
    const a = database.client('A', { ordered: false });
    a.store[lost](once(isNotification));
    const committed = await database.clock.runUntil(a.write({ 'x:seen': '1' }));
    assert.deepEqual(await database.notifications(), [`notify x:seen@${committed}`]);
    const tables = a.store.trace.flatMap((call) => (call.kind === 'mutation' ? [call.table] : []));
    assert.deepEqual(tables, ['t', 't.notify', 't.notify', 't']);
  });
}

for (const ordered of [true, false]) {
  test(`P40: a weak notification that is refused, because its table was dropped meanwhile, fails the commit (ordered: ${ordered})`, async () => {
    const database = await openTestDatabase({ tables: ['t', 'u'], observed: ['seen'] });
    const a = database.client('A', { ordered });
    a.store.beforeCall = async (call) => {
      if (call.kind !== 'mutation' || !isNotification(call)) return;
      await database.store.dropTable('u.notify');
    };
    const transaction = await a.begin();
    put(transaction, { 'x:seen': '1', y: '1' });
    transaction.notifyWeakly(cell('u/hub'));
    await assert.rejects(transaction.commit(), { code: 'TABLE_NOT_FOUND' });
    await a.settled();
    assert.deepEqual(await database.locks(), []);
    assert.deepEqual(await a.read(['x:seen', 'y:c']), { 'x:seen': undefined, 'y:c': undefined });
  });
}

test('a commit that cannot set its notification leaves no lock, and its error says that it may run again', async () => {
  // STORE_IN_DOUBT would say that it may have committed; its locks would stop other transactions.
  const database = await openObserved();
  const a = database.client('A', { ordered: false });
  a.store.loseRequest(isNotification);
  await assert.rejects(database.clock.runUntil(a.write({ 'x:seen': '1', y: '1' })), {
    code: 'STORE_UNAVAILABLE',
  });
  assert.deepEqual(await database.locks(), []);

  const b = database.client('B', { ordered: false });
  b.store.beforeCall = (call) => {
    if (call.kind === 'mutation' && isNotification(call)) {
      throw new PercolatorError('STORE_UNAVAILABLE', 'not now');
    }
  };
  await assert.rejects(b.write({ 'x:seen': '1', y: '1' }), { code: 'STORE_UNAVAILABLE' });
  assert.deepEqual(await database.locks(), []);
});

test('a weak notification of a table that does not exist is refused before anything is locked', async () => {
  const database = await openTestDatabase();
  const client = database.client('A');
  const transaction = await client.begin();
  put(transaction, { x: '1', y: '1' });
  transaction.notifyWeakly(cell('nowhere/hub'));
  await assert.rejects(transaction.commit(), { code: 'TABLE_NOT_FOUND' });
  assert.equal(client.store.mutationCount, 0);
});
