/**
 * P60: names are any Unicode, and joining names never makes two cells,
 * rows or acknowledgments one.
 */
import { textOf } from '../base/index.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runObservers } from '../observer/run-observer.ts';
import { openTestDatabase } from '../testing/index.ts';
import { acknowledgedBy, acknowledgmentColumn, begin, snapshotAt } from './index.ts';

const AWKWARD = [
  'a',
  'b',
  'a\0b',
  'b\0a',
  '\0',
  'a:b',
  ':',
  '%',
  '%3A',
  'a%3Ab',
  '/',
  'a/b',
  'é\0:',
];

test('P60: cells with awkward names keep their own values, in the buffer and in the database', async () => {
  const { context } = (await openTestDatabase()).client('A');
  const cells = AWKWARD.flatMap((row) => AWKWARD.map((column) => ({ table: 't', row, column })));
  const transaction = await begin(context);
  cells.forEach((cell, i) => {
    transaction.set(cell, String(i));
  });
  const expected = cells.map((_, i) => String(i));
  const texts = (values: readonly (Uint8Array | undefined)[]): readonly (string | undefined)[] =>
    values.map((value) => value && textOf(value));
  assert.deepEqual(texts(await transaction.getMany(cells)), expected);
  await transaction.commit();
  await using snapshot = await snapshotAt(context);
  assert.deepEqual(texts(await snapshot.getMany(cells)), expected);
});

test('a name that no storage takes is told where it is used, and the transaction goes on', async () => {
  const { context } = (await openTestDatabase()).client('A');
  const transaction = await begin(context);
  for (const [names, message] of [
    [{ row: '' }, 'a row key must not be empty'],
    [{ row: 'é'.repeat(2_049) }, 'a row key has at most 4096 bytes, not 4098'],
    [{ row: 'r\ud800' }, 'row key "r\\ud800" is not well-formed Unicode'],
    [{ column: 'c'.repeat(16_376) }, 'a column has at most 16375 bytes, not 16376'],
    [{ column: 'c\ud800' }, 'column "c\\ud800" is not well-formed Unicode'],
  ] as const) {
    const cell = { table: 't', row: 'r', column: 'c', ...names };
    const refusal = { code: 'INVALID_ARGUMENT', message };
    assert.throws(() => transaction.set(cell, '1'), refusal);
    assert.throws(() => transaction.delete(cell), refusal);
    await assert.rejects(transaction.lock(cell), refusal);
  }
  const longest = { table: 't', row: 'é'.repeat(2_048), column: 'c'.repeat(16_375) };
  transaction.set(longest, '1');
  await transaction.commit();
  await using snapshot = await snapshotAt(context);
  assert.equal(String(await snapshot.get(longest)), '1');
});

test('P60: a table whose name contains NUL is refused, also when a valid cell’s names join to the same string', async () => {
  const { context } = (await openTestDatabase()).client('A');
  const transaction = await begin(context);
  transaction.set({ table: 't\0x', row: 'r', column: 'c' }, '1');
  transaction.set({ table: 't', row: 'r', column: 'x\0c' }, '2');
  await assert.rejects(transaction.commit(), { code: 'TABLE_NOT_FOUND' });
});

test('P60: two cells whose names join to one string leave a notification each', async () => {
  const database = await openTestDatabase({ observed: ['c', 'b\0c'] });
  const { context } = database.client('A');
  const transaction = await begin(context);
  transaction.set({ table: 't', row: 'a\0b', column: 'c' }, '1');
  transaction.set({ table: 't', row: 'a', column: 'b\0c' }, '1');
  const at = await transaction.commit();
  assert.deepEqual(await database.notifications(), [`notify a:b\0c@${at}`, `notify a\0b:c@${at}`]);
});

test('P60: an acknowledgment column names its observer and its column, whatever their names', () => {
  const seen = new Set<string>();
  for (const observer of AWKWARD) {
    for (const column of AWKWARD) {
      const name = acknowledgmentColumn(observer, column);
      assert.deepEqual(acknowledgedBy(name), { observer, column });
      seen.add(name);
    }
  }
  assert.equal(seen.size, AWKWARD.length ** 2);
  assert.equal(
    acknowledgmentColumn('indexer', 'raw:html'),
    'ack_indexer:raw:html',
    "the paper's form",
  );
});

test('P60: two observers run, although their names and columns join to one string', async () => {
  const database = await openTestDatabase({ observed: ['b:c', 'c'] });
  const { context } = database.client('A');
  const transaction = await begin(context);
  for (const column of ['b:c', 'c']) transaction.set({ table: 't', row: 'r', column }, '1');
  const timestamp = await transaction.commit();
  const ran: string[] = [];
  for (const [name, column] of [
    ['a', 'b:c'],
    ['a:b', 'c'],
  ] as const) {
    const run = async (): Promise<void> => void ran.push(name);
    const notified = { table: 't', row: 'r', column, weak: false, timestamp };
    await runObservers(context, notified, [{ name, table: 't', column, run }]);
  }
  assert.deepEqual(ran, ['a', 'a:b']);
});
