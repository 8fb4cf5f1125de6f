/**
 * The claims about a drop that meets damaged locks: none keeps a table from being dropped (P55).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PercolatorError } from '../base/index.ts';
import { cell } from '../testing/index.ts';
import { lockOf } from '../testing/planting.ts';
import { TableScene } from '../testing/table-scene.ts';
import { everywhere, placeOf } from '../transaction/index.ts';

const X = cell('t/x');
const U = cell('u/x');

test('a lock that cannot be decoded does not stop a drop, wherever it is', async () => {
  const scene = new TableScene();
  const [a] = await scene.processes('a');
  await scene.create(a, 't', 'u');
  await scene.set(a, 'old', X, U);
  await plantLock(scene, 't/y', '{');
  await plantLock(scene, 'u/y', '{}');
  await plantLock(scene, 'u/z', '{"primary":["t","y","c"]}'); // Names no owner.
  await scene.drop(a, 't');
  assert.deepEqual(await scene.tables(), []);
  assert.deepEqual(await lockedRows(scene, 'u'), ['y', 'z']);
});

test('a lock whose primary has a lock that cannot be decoded is resolved by a drop', async () => {
  const scene = new TableScene();
  const [a] = await scene.processes('a');
  await scene.create(a, 't', 'u');
  await plantLock(scene, 't/y', '{');
  await plantLock(scene, 'u/y', lockOf('t/y', 'dead'));
  await scene.drop(a, 't');
  assert.deepEqual(await scene.tables(), []);
  assert.deepEqual(await lockedRows(scene, 'u'), []);
});

test('a lock whose primary cannot exist does not stop a drop', async () => {
  const scene = new TableScene();
  const [a] = await scene.processes('a');
  await scene.create(a, 't', 'u');
  await scene.store.createTable('foreign', { families: ['foreign'] });
  await plantLock(scene, 't/y', lockOf('foreign/x', 'dead'));
  await plantLock(scene, 'u/y', lockOf('t/', 'dead')); // No row has an empty key.
  await scene.drop(a, 't');
  assert.deepEqual(await scene.tables(), []);
  assert.deepEqual(await lockedRows(scene, 'u'), ['y']);
});

test('a lock whose primary has a lock with another primary stops neither a writer nor a drop', async () => {
  const scene = new TableScene();
  const [a] = await scene.processes('a');
  await scene.create(a, 't');
  await plantLock(scene, 't/y', lockOf('t/z', 'dead'));
  await plantLock(scene, 't/z', lockOf('t/other', 'dead'));
  await scene.set(a, 'new', cell('t/y'));
  await plantLock(scene, 't/y', lockOf('t/z', 'dead'));
  await scene.drop(a, 't');
  assert.deepEqual(await scene.tables(), []);
});

for (const other of ['nowhere/x', 'no name/x', 'foreign/x', 't/']) {
  test(`a lock whose primary has a lock with ${other} as its primary, which cannot be, does not stop a drop`, async () => {
    const scene = new TableScene();
    const [a] = await scene.processes('a');
    await scene.create(a, 't', 'u');
    await scene.store.createTable('foreign', { families: ['foreign'] });
    await plantLock(scene, 't/aa', lockOf('u/zz', 'dead'));
    await plantLock(scene, 'u/zz', lockOf(other, 'dead'));
    await plantLock(scene, 'u/aa', lockOf('t/zz', 'dead'));
    await plantLock(scene, 't/zz', lockOf(other, 'dead'));
    await scene.drop(a, 't');
    assert.equal(await scene.get(a, cell('u/aa')), undefined);
    assert.deepEqual(await lockedRows(scene, 'u'), []);
  });
}

for (const [what, { table, row, column }] of Object.entries({
  'an ill-formed row': { ...X, row: '\ud800' },
  'a row that is too long': { ...X, row: 'x'.repeat(4_097) },
  'an ill-formed column': { ...X, column: '\ud800' },
  'a column that is too long': { ...X, column: 'c'.repeat(16_384) },
  'an ill-formed table': { ...X, table: '\ud800' },
  'no table': { ...X, table: '' },
})) {
  test(`a lock whose primary has ${what} does not stop a drop`, async () => {
    const scene = new TableScene();
    const [a] = await scene.processes('a');
    await scene.create(a, 't');
    await plantLock(scene, 't/y', lockOf('', 'dead', { primary: [table, row, column] }));
    a.store.beforeCall = (call) => {
      const isRefused = call.kind === 'read' && call.rows.includes(row);
      if (isRefused) throw new PercolatorError('INVALID_ARGUMENT', 'no such cell can exist');
    };
    await scene.drop(a, 't');
    assert.deepEqual(await scene.tables(), []);
  });
}

test('a lock that the storage refuses to resolve at first is resolved by the next drop', async () => {
  const scene = new TableScene();
  const [a] = await scene.processes('a');
  await scene.create(a, 't', 'u');
  await scene.set(a, 'old', X);
  await plantLock(scene, 'u/y', lockOf('t/x', 'dead'));
  const refuse = async (): Promise<void> => {
    a.store.beforeCall = ({ kind, table }) => {
      if (kind !== 'mutation' || table !== 'u') return;
      a.store.beforeCall = undefined;
      throw new PercolatorError('INVALID_ARGUMENT', 'refused for once');
    };
    await scene.drop(a, 't');
  };
  await assert.rejects(refuse(), { code: 'INVALID_ARGUMENT' });
  assert.deepEqual(await lockedRows(scene, 'u'), ['y']);
  await scene.drop(a, 't');
  assert.deepEqual(await lockedRows(scene, 'u'), []);
});

async function plantLock(scene: TableScene, name: string, text: string): Promise<void> {
  const { table, row, column } = cell(name);
  const value = Buffer.from(text);
  const lock = { kind: 'set', ...placeOf('lock', column), timestamp: 1, value } as const;
  await scene.store.mutateRows([{ table, row, mutations: [lock] }]);
}

async function lockedRows({ store }: TableScene, table: string): Promise<readonly string[]> {
  const rows = await store.readRange(table, { limit: 10 }, [everywhere('lock')]);
  return rows.map(({ key }) => key);
}
