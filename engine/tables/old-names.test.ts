/**
 * The claims about tables that have the name of a later incarnation of another table. They were
 * created before such names were refused (P52, P55).
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PercolatorError } from '../base/index.ts';
import { fsck } from '../fsck.ts';
import { cell } from '../testing/index.ts';
import {
  isCommitOf,
  type SceneProcess,
  readsDefinitions,
  TableScene,
} from '../testing/table-scene.ts';
import { NOTIFY_FAMILIES, TABLE_FAMILIES } from '../transaction/index.ts';
import { DEFINITION, step, TABLES_TABLE } from './definition.ts';

const OLD = cell('t.i2/x');
const U = cell('u/x');
const X = cell('t/x');

/** A database with such a table `t.i2`, and some of its processes. */
async function open<const N extends readonly string[]>(
  ...names: N
): Promise<{
  readonly scene: TableScene;
  readonly processes: { -readonly [K in keyof N]: SceneProcess };
}> {
  const scene = new TableScene();
  await scene.plantTable('t.i2', { observedColumns: [] });
  return { scene, processes: await scene.processes(...names) };
}

test('P52: a late drop of such a table finds nothing, also after another table was created again', async () => {
  const { scene, processes } = await open('a', 'c');
  const [a, c] = processes;
  await scene.create(a, 't');
  const held = scene.holdNext(c, 'dropTable');
  const late = c.percolator.dropTable('t.i2');
  await scene.run(held.reached);
  await scene.drop(a, 't.i2');
  await scene.drop(a, 't');
  await scene.create(a, 't');
  await scene.set(a, 'kept', X);
  held.release();
  await scene.run(late);
  assert.equal(await scene.get(a, X), 'kept');
  assert.equal(await a.percolator.storedName('t'), 't.i3');
});

for (const [other, what] of [
  ['nothing', 'where t never existed'],
  ['first incarnation', 'where t is in its first incarnation'],
  ['later incarnation', 'where t is in a later incarnation'],
] as const) {
  test(`P55: a lock whose primary was in such a table is resolved after the drop, ${what}`, async () => {
    const { scene, processes } = await open('a', 'b');
    const [a, b] = processes;
    await makeOther(scene, a, other);
    await scene.create(a, 'u');
    await scene.set(a, 'old', OLD, U);
    const held = scene.hold(b, ({ kind, table }) => kind === 'mutation' && table === 'u');
    const writing = scene.write(b, 'new', OLD, U);
    await scene.run(held.reached);
    await scene.drop(a, 't.i2');
    const after = scene.hold(b, readsDefinitions);
    held.release();
    await scene.run(after.reached);
    assert.equal(await scene.get(a, U), 'old');
    after.release();
    await assert.rejects(scene.run(writing), { code: 'TABLE_NOT_FOUND' });
  });

  test(`P55: such a table that is missing by mistake proves nothing about a lock, ${what}`, async () => {
    const { scene, processes } = await open('a', 'b');
    const [a, b] = processes;
    await makeOther(scene, a, other);
    await scene.create(a, 'u');
    await scene.set(a, 'old', OLD, U);
    await scene.dieAfterCommitPoint(b, 'new', OLD, U);
    a.store.beforeCall = ({ kind, table }) => {
      if (kind !== 'read' || table !== 't.i2') return;
      throw new PercolatorError('TABLE_NOT_FOUND', 'by mistake');
    };
    await assert.rejects(scene.get(a, U), { code: 'TABLE_NOT_FOUND' });
    a.store.beforeCall = undefined;
    assert.equal(await scene.get(a, U), 'new');
  });
}

async function makeOther(scene: TableScene, process: SceneProcess, which: string): Promise<void> {
  if (which === 'nothing') return;
  await scene.create(process, 't');
  if (which === 'first incarnation') return;
  await scene.drop(process, 't');
  await scene.create(process, 't');
}

describe('an incarnation that has the name of such a table, which was dropped before', () => {
  /** The second incarnation of `t`, as earlier versions made it; its first was dropped. */
  async function openWithSecond(): Promise<Awaited<ReturnType<typeof open<['a', 'b']>>>> {
    const opened = await open('a', 'b');
    const { scene, processes } = opened;
    await scene.drop(processes[0], 't.i2');
    await makeTables(scene);
    const to = { state: 'there', incarnation: 2, observedColumns: [], createdAt: 0 } as const;
    await step(scene.store, 't', { from: undefined, to, known: 0 });
    return opened;
  }

  test('P55: is not taken for that table if it is missing by mistake', async () => {
    const { scene, processes } = await openWithSecond();
    const [a, b] = processes;
    await scene.create(a, 'u');
    await scene.set(a, 'old', X, U);
    b.store.afterCall = (call) => {
      if (isCommitOf('t.i2')(call)) b.store.crash();
    };
    await scene.run(scene.write(b, 'new', X, U).catch(() => {}));
    scene.kill(b);
    a.store.beforeCall = ({ kind, table }) => {
      if (kind !== 'read' || table !== 't.i2') return;
      throw new PercolatorError('TABLE_NOT_FOUND', 'by mistake');
    };
    await assert.rejects(scene.get(a, U), { code: 'TABLE_NOT_FOUND' });
    a.store.beforeCall = undefined;
    assert.equal(await scene.get(a, U), 'new');
    assert.deepEqual(await scene.findings(), []);
  });

  test('P52: is not hidden by an empty table after its definition was lost', async () => {
    const { scene, processes } = await openWithSecond();
    const [a] = processes;
    await scene.set(a, 'kept', X);
    const erase = { kind: 'erase', ...DEFINITION, from: 0, to: 1_000 } as const;
    await scene.store.mutateRows([{ table: TABLES_TABLE, row: 't', mutations: [erase] }]);
    const [c] = await scene.processes('c');
    const refusal = { code: 'TABLE_MISMATCH', message: /its definition is lost, but t\.i2 exists/ };
    await assert.rejects(scene.create(c, 't'), refusal);
    await assert.rejects(scene.drop(c, 't'), refusal);
    assert.equal(await scene.get(a, X), 'kept');
  });
});

test('such a table that was made too late to be dropped is found by fsck', async () => {
  const { scene, processes } = await open('a');
  const [a] = processes;
  await scene.create(a, 't');
  await scene.drop(a, 't.i2');
  await makeTables(scene);
  const { store, clock } = scene;
  const found = await Array.fromAsync(await fsck(store, { clock, repair: true }));
  const what = 'belongs to an incarnation that is gone; it was made too late to be dropped with it';
  assert.deepEqual(Object.fromEntries(found.map((one) => [one.sentence, one.repair?.note])), {
    [`t.i2 ${what}`]: 'dropped',
    [`t.i2.notify ${what}`]: 'dropped',
  });
  assert.deepEqual(await scene.tables(), ['t', 't.notify']);
});

async function makeTables({ store }: TableScene): Promise<void> {
  await store.createTable('t.i2', { families: TABLE_FAMILIES });
  await store.createTable('t.i2.notify', { families: NOTIFY_FAMILIES });
}
