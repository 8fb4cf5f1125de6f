/** The claims about processes that still know a definition that was lost (P52, P54). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cell } from '../testing/index.ts';
import { Scene } from '../testing/table-scene.ts';
import { DEFINITION, TABLES_TABLE } from './definition.ts';

const X = cell('t/x');
const U = cell('u/x');

test('P52: a process that knew the lost definition takes the table over with other observed columns', async () => {
  const scene = new Scene();
  const [a] = await scene.processes('a');
  await scene.create(a, 't');
  await scene.set(a, '1', X);
  await loseDefinition(scene);
  await scene.run(a.percolator.createTable('t', { observedColumns: ['c'] }));
  await scene.set(a, '2', X);
  assert.deepEqual(await scene.observe(a, 't'), ['x']);
});

test('P54: a drop of a table without a definition fails commits of processes that knew the lost one', async () => {
  const scene = new Scene();
  const [a, b] = await scene.processes('a', 'b');
  await scene.create(a, 't', 'u');
  await scene.set(b, 'old', X, U);
  await loseDefinition(scene);
  const held = scene.holdNext(a, 'dropTable');
  const dropping = a.percolator.dropTable('t');
  await scene.run(held.reached); // No lock was left, and the tables are still there.
  const writing = scene.run(scene.write(b, 'new', X, U));
  await assert.rejects(writing, { code: 'TABLE_NOT_FOUND' });
  held.release();
  await scene.run(dropping);
  assert.equal(await scene.get(a, U), 'old');
});

async function loseDefinition({ store }: Scene): Promise<void> {
  const erase = { kind: 'erase', ...DEFINITION, from: 0, to: 1_000 } as const;
  await store.mutateRows([{ table: TABLES_TABLE, row: 't', mutations: [erase] }]);
}
