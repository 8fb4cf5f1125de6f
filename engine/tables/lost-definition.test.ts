/**
 * The claims about definitions that are lost or damaged, and processes that knew them (P52, P54).
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PercolatorError } from '../base/index.ts';
import { fsck } from '../fsck.ts';
import { cell } from '../testing/index.ts';
import { type SceneProcess, TableScene } from '../testing/table-scene.ts';
import { NOTIFY_FAMILIES, TABLE_FAMILIES } from '../transaction/index.ts';
import { DEFINITION, TABLES_TABLE } from './definition.ts';

const X = cell('t/x');
const U = cell('u/x');

test('P52: a process that knew the lost definition takes the table over with other observed columns', async () => {
  const scene = new TableScene();
  const [a] = await scene.processes('a');
  await scene.create(a, 't');
  await scene.set(a, '1', X);
  await loseDefinition(scene);
  await scene.run(a.percolator.createTable('t', { observedColumns: ['c'] }));
  await scene.set(a, '2', X);
  assert.deepEqual(await scene.observe(a, 't'), ['x']);
});

test('P54: a drop of a table without a definition fails commits of processes that knew the lost one', async () => {
  const scene = new TableScene();
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

test('P52: a table whose lost definition said that it was dropped is created, and used at once', async () => {
  const scene = new TableScene();
  const [a] = await scene.processes('a');
  await scene.create(a, 't');
  await scene.drop(a, 't');
  await loseDefinition(scene);
  await scene.create(a, 't');
  await scene.set(a, '1', X);
  assert.equal(await scene.get(a, X), '1');
});

test('P52: a process that knew that a table was dropped uses the one that another process made anew', async () => {
  const scene = new TableScene();
  const [a, b, c] = await scene.processes('a', 'b', 'c');
  await scene.create(a, 't');
  for (const value of ['1', '2', '3']) await scene.set(a, value, X);
  await scene.drop(a, 't');
  await assert.rejects(scene.get(b, X), { code: 'TABLE_NOT_FOUND' });
  await loseDefinition(scene);
  await scene.create(c, 't');
  await scene.set(b, '4', X);
  assert.equal(await scene.get(c, X), '4');
});

test('P52: a table is neither made anew nor dropped while a later incarnation exists whose definition was lost', async () => {
  const scene = new TableScene();
  const [a, b, c] = await scene.processes('a', 'b', 'c');
  for (const stored of ['t', 't.i2']) {
    await scene.create(a, 't');
    assert.equal(await b.percolator.storedName('t'), stored);
    if (stored === 't') await scene.drop(a, 't');
  }
  await loseDefinition(scene);
  for (const others of [[], ['t.notify'], ['t', 't.notify']]) {
    for (const other of others) {
      const families = other === 't' ? TABLE_FAMILIES : NOTIFY_FAMILIES;
      await scene.store.createTable(other, { families });
    }
    const refusal = { code: 'TABLE_MISMATCH', message: /its definition is lost, but t\.i2 exists/ };
    await assert.rejects(scene.create(c, 't'), refusal);
    await assert.rejects(scene.drop(c, 't'), refusal);
    const found = await Array.fromAsync(await fsck(scene.store, { tables: ['t.i2'] }));
    assert.match(
      found[0]?.sentence ?? '',
      /t\.i2 has no definition: .*restore row t of percolator-tables/,
    );
  }
  await scene.set(b, '1', X);
  assert.equal(await scene.get(b, X), '1');
});

test('a table of another program that is called like a later incarnation is no obstacle', async () => {
  const scene = new TableScene();
  await scene.store.createTable('t.i2', { families: ['foreign'] });
  const [a] = await scene.processes('a');
  await scene.create(a, 't');
  assert.equal(await a.percolator.storedName('t'), 't');
});

for (const [use, left] of [
  ['createTable', ['t.i2', 't.i2.notify']],
  ['dropTable', []],
] as const) {
  test(`a table that another process creates anew while ${use} looks for lost definitions is found`, async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    let isFirst = true;
    b.store.afterCall = async ({ table }) => {
      if (table !== TABLES_TABLE || !isFirst) return;
      isFirst = false; // Process b has read that there is no definition.
      await a.percolator.createTable('t');
      await a.percolator.dropTable('t');
      await a.percolator.createTable('t');
    };
    await scene.run(b.percolator[use]('t'));
    assert.deepEqual(await scene.tables(), left);
  });
}

async function loseDefinition({ store }: TableScene): Promise<void> {
  const erase = { kind: 'erase', ...DEFINITION, from: 0, to: 1_000 } as const;
  await store.mutateRows([{ table: TABLES_TABLE, row: 't', mutations: [erase] }]);
}

describe('tables that exist without a definition', () => {
  /**
   * A database that has lost the definition of its table `t`, in which there is a value; and one of
   * its processes.
   */
  async function orphaned(): Promise<{ readonly scene: TableScene; readonly b: SceneProcess }> {
    const scene = new TableScene();
    const [a] = await scene.processes('a');
    await scene.create(a, 't');
    await scene.set(a, 'kept', X);
    await scene.run(a.percolator.close());
    const erase = { kind: 'erase', ...DEFINITION, from: 0, to: 1_000 } as const;
    await scene.store.mutateRows([{ table: TABLES_TABLE, row: 't', mutations: [erase] }]);
    const [b] = await scene.processes('b');
    return { scene, b };
  }

  async function assertKept(scene: TableScene, process: SceneProcess): Promise<void> {
    assert.equal(await scene.get(process, X), 'kept');
    assert.deepEqual(await scene.tables(), ['t', 't.notify']);
    assert.deepEqual(await scene.findings(), []);
  }

  test('are taken over with what is in them, whatever their splits', async () => {
    const { scene, b } = await orphaned();
    for (const splits of [['m'], []]) {
      await scene.run(b.percolator.createTable('t', { observedColumns: ['o'], splits }));
    }
    await assertKept(scene, b);
    const other = { observedColumns: ['p'] };
    await assert.rejects(b.percolator.createTable('t', other), { code: 'TABLE_MISMATCH' });
  });

  for (const lost of [1, 2]) {
    test(`are taken over although requests about the definition are lost: ${lost}`, async () => {
      const { scene, b } = await orphaned();
      let requests = 0;
      b.store.loseRequest(({ table }) => table === TABLES_TABLE && ++requests <= lost);
      await scene.create(b, 't');
      assert.ok(requests > lost, `${requests} requests`);
      await assertKept(scene, b);
    });
  }

  test('are taken over by the next call, if the oracle fails', async () => {
    const { scene, b } = await orphaned();
    b.before.timestamp = () => Promise.reject(new PercolatorError('STORE_UNAVAILABLE', 'not now'));
    await assert.rejects(scene.create(b, 't'), { code: 'STORE_UNAVAILABLE' });
    b.before.timestamp = undefined;
    await scene.create(b, 't');
    await assertKept(scene, b);
  });

  test('are taken over by the next process, wherever the first one died', async () => {
    const left: unknown[] = [];
    for (const moment of ['crashBefore', 'crashAfter'] as const) {
      for (let step = 1, isDone = false; !isDone; step++) {
        const { scene, b } = await orphaned();
        b.store[moment](b.store.mutationCount + step);
        isDone = await scene.create(b, 't').then(
          () => true,
          () => false,
        );
        scene.kill(b);
        if (!isDone) left.push([moment, await scene.state('t')]);
        const [c] = await scene.processes('c');
        await scene.create(c, 't');
        await assertKept(scene, c);
      }
    }
    // Taking over is one mutation: the first process died before it, or after it.
    assert.deepEqual(left, [
      ['crashBefore', undefined],
      ['crashAfter', 'there'],
    ]);
  });

  test('are left alone if one of the two is missing, until fsck has made the companion', async () => {
    for (const missing of ['t', 't.notify']) {
      const { scene, b } = await orphaned();
      await scene.store.dropTable(missing);
      const [present] = await scene.tables();
      const refusal = { code: 'TABLE_MISMATCH', message: /exists without (its companion|table)/ };
      await assert.rejects(scene.create(b, 't'), refusal);
      assert.deepEqual(await scene.tables(), [present]);
      if (missing === 't') continue;
      await scene.findings({ repair: true });
      await scene.create(b, 't');
      await assertKept(scene, b);
    }
  });

  test('are not those that another process is making', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    const [answer, half] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    b.store.afterCall = async ({ table }) => {
      if (table === TABLES_TABLE) await answer.promise;
    };
    a.before.createTable = (stored) => (stored === 't' ? Promise.resolve() : half.promise);
    const creating = [b, a].map(({ percolator }) => percolator.createTable('t'));
    await scene.clock.advance(1);
    assert.deepEqual(await scene.tables(), ['t']);
    answer.resolve();
    await scene.clock.advance(1);
    half.resolve();
    await scene.run(Promise.all(creating));
    assert.deepEqual(await scene.tables(), ['t', 't.notify']);
  });
});

const DAMAGED = [
  '{',
  'null',
  '{"observedColumns":7}',
  '{"observedColumns":[7]}',
  '{"observedColumns":[],"state":"x"}',
  '{"observedColumns":[],"incarnation":0}',
  '{"observedColumns":[],"incarnation":"2"}',
  '{"observedColumns":[],"splits":7}',
  '{"observedColumns":[],"splits":[7]}',
  '{"observedColumns":[],"createdAt":-1}',
  '{"observedColumns":[],"createdAt":"1"}',
  '{"observedColumns":[],"state":"creating","creator":7}',
];

test('a definition that cannot be decoded is named, and nothing is built on it', async () => {
  const scene = new TableScene();
  const [a, b] = await scene.processes('a', 'b');
  await scene.create(a, 't');
  for (const damage of DAMAGED) {
    const value = Buffer.from(damage);
    const set = { kind: 'set', ...DEFINITION, timestamp: 1_000, value } as const;
    await scene.store.mutateRows([{ table: TABLES_TABLE, row: 't', mutations: [set] }]);
    for (const use of ['createTable', 'dropTable'] as const) {
      await assert.rejects(scene.run(b.percolator[use]('t')), {
        code: 'TABLE_MISMATCH',
        message:
          "the definition of the table 't' is damaged: it has bytes that this engine does not write",
      });
    }
    await assert.rejects(scene.get(b, X), { code: 'TABLE_NOT_FOUND' });
  }
  assert.deepEqual(await scene.tables(), ['t', 't.notify']);
});
