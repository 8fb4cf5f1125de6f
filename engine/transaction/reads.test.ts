/**
 * Which calls a read of many cells makes, and that its answers do not depend on them; scans of
 * rows that the transaction has written; and reads that meet a damaged cell.
 */
import assert from 'node:assert/strict';
import { cpuUsage } from 'node:process';
import { describe, test } from 'node:test';
import { systemClock } from '../base/index.ts';
import {
  type TestClient,
  type TestClientOptions,
  cell,
  openTestDatabase,
  put,
  type TestDatabase,
} from '../testing/index.ts';
import { plant } from '../testing/planting.ts';

const BATCHING: TestClientOptions = { batching: { delayMs: 0 } };
const VALUES = { 'a:one': '1', 'b:one': '2', 'b:two': '3', 'u/a:one': '4', 'c:one': '5' };
const NAMES = [...Object.keys(VALUES), 'missing:one'];

/** A reading client; the values have been written. */
async function openScene(
  options: TestClientOptions,
): Promise<{ readonly database: TestDatabase; readonly reader: TestClient }> {
  const database = await openTestDatabase();
  await database.client('writer').write(VALUES);
  return { database, reader: database.client('reader', options) };
}

/** The reads that the reader sent to its storage, as `table rows`. */
function reads({ store }: TestClient): readonly string[] {
  return store.trace
    .flatMap((call) => (call.kind === 'read' ? [`${call.table} ${call.rows.join(' ')}`] : []))
    .toSorted();
}

describe('many cells', () => {
  test('are read with one call for each row, unless operations are batched', async () => {
    const { reader } = await openScene({});
    assert.deepEqual(await reader.read(NAMES), { ...VALUES, 'missing:one': undefined });
    assert.deepEqual(reads(reader), ['t a', 't b', 't c', 't missing', 'u a']);
    assert.equal(reader.context.counters.reads, 5);
  });

  test('are read, with batching, with one call for all rows of a table with the same columns', async () => {
    const { database, reader } = await openScene(BATCHING);
    const read = database.clock.runUntil(reader.read(NAMES));
    assert.deepEqual(await read, { ...VALUES, 'missing:one': undefined });
    assert.deepEqual(reads(reader), ['t a c missing', 't b', 'u a']);
    const { reads: calls, readRows } = reader.context.counters;
    assert.deepEqual([calls, readRows], [3, 5]);
  });

  test('of a wide row are found like those of a narrow one', async () => {
    const { database, reader } = await openScene({});
    const wide = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`w:c${i}`, `${i}`]));
    await database.client('other').write(wide);
    await database.client('other').write({ 'w:c7': 'again' });
    const expected = { ...wide, 'w:c7': 'again', 'w:no': undefined };
    assert.deepEqual(await reader.read(Object.keys(expected)), expected);
  });

  for (const [name, options, others] of [
    ['one by one', {}, ['t a', 't b', 't missing', 'u a']],
    ['together', BATCHING, ['t a c missing', 't b', 'u a']],
  ] as const) {
    test(`read ${name}: a lock in the way of one is resolved, and only that row is read again`, async () => {
      const { database, reader } = await openScene(options);
      const dead = database.client('dead');
      dead.beforeMutation(2, () => Promise.reject(new Error('dies before its commit')));
      await assert.rejects(dead.write({ 'c:one': 'never' }));
      database.bury('dead');
      const read = database.clock.runUntil(reader.read(NAMES));
      assert.deepEqual(await read, { ...VALUES, 'missing:one': undefined });
      assert.deepEqual(
        reads(reader).filter((one) => one !== 't c'),
        others,
      );
      assert.deepEqual(await database.locks(), []);
    });
  }
});

test('reads use the cells and ranges as they were given, whatever becomes of the caller’s objects', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  await a.write({ x: '1', y: '2' });
  const transaction = await a.begin();
  put(transaction, { y: 'own' });
  const named = { ...cell('x') };
  const cells = [named];
  const many = transaction.getMany(cells);
  Object.assign(named, cell('y'));
  cells.push(cell('y'));
  assert.deepEqual((await many).map(String), ['1']);

  const range = { table: 't', columns: ['c'], start: 'x', end: 'y' };
  const scanned = transaction.scan(range);
  Object.assign(range, { start: 'y', end: 'z', columns: ['d'] });
  const found: string[] = [];
  for await (const { row, values } of scanned) found.push(`${row} ${String(values.get('c'))}`);
  assert.deepEqual(found, ['x 1']);
});

test('a scan takes time in proportion to the rows that its transaction has written', async () => {
  const database = await openTestDatabase();
  const transaction = await database.client('A').begin();
  const value = Buffer.from('1');
  for (let row = 0; row < 200_000; row++) {
    transaction.set({ table: 't', row: `${row}`, column: 'c' }, value);
  }
  const before = cpuUsage();
  let rows = 0;
  for await (const _ of transaction.scan({ table: 't', columns: ['c'] })) rows++;
  assert.equal(rows, 200_000);
  assert.ok(
    cpuUsage(before).user < 10e6,
    'the scan took less than a second of the processor when this test was written',
  );
});

test('with batching, the error of one row leaves no promise of another row unhandled', async () => {
  const database = await openTestDatabase();
  const a = database.client('A', BATCHING);
  const written = await a.write({ x: '1', y: '1' });
  await plant(database, 'lock x', written + 1, 'oops');
  await plant(database, 'write y', written + 1, 'oops');
  await a.write({ z: '1' }); // So that the next snapshot sees the damage.
  await assert.rejects(a.read(['x', 'y']), { code: 'TABLE_MISMATCH' });
  await systemClock.yield(); // A rejection without a handler would fail the test here.
});

for (const [what, name, value] of [
  ['a lock', 'lock x', 'oops'],
  ['a lock without a primary', 'lock x', '{}'],
  ['a write record', 'write x', 'oops'],
  ['a write record that is cut short', 'write x', '0000000000000009 touch'],
] as const) {
  test(`${what} that cannot be decoded fails reads of its cell with a code`, async () => {
    const database = await openTestDatabase();
    const a = database.client('A');
    const written = await a.write({ x: '1', y: '1' });
    await plant(database, name, written + 1, value);
    await a.write({ y: '2' });
    await assert.rejects(a.read(['x']), { code: 'TABLE_MISMATCH', message: /cannot be decoded/ });
    assert.deepEqual(await a.read(['y']), { y: '2' });
    if (name === 'write x') return; // Its cell can be overwritten.
    const message = /lock of t\/x\/c cannot be decoded; fsck/;
    await assert.rejects(a.write({ x: '2' }), { code: 'TABLE_MISMATCH', message });
  });
}
