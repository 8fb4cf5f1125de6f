/** The claims about dropping a table in use, and about locks whose primary is in it (P55). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hasCode, PercolatorError } from '../base/index.ts';
import { cell, once } from '../testing/index.ts';
import { lockOf } from '../testing/planting.ts';
import {
  isCommitOf,
  type SceneProcess,
  readsDefinitions,
  TableScene,
} from '../testing/table-scene.ts';
import { placeOf, everywhere, NOTIFY_FAMILIES, TABLE_FAMILIES } from '../transaction/index.ts';
import { DEFINITION, readDefinition, TABLES_TABLE } from './definition.ts';

const X = cell('t/x');
const U = cell('u/x');

describe('P55: a drop ends every transaction that could commit to the table', () => {
  test('a writer that died after its commit point is rolled forward in all tables', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    await scene.set(a, 'old', X, U);
    await scene.dieAfterCommitPoint(b, 'new', X, U);
    await scene.drop(a, 't');
    assert.equal(await scene.get(a, U), 'new');
    await scene.set(a, 'newer', U);
    assert.deepEqual(await scene.findings(), []);
  });

  test('a writer that died after its commit point is rolled forward also in a table with a damaged definition', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    await scene.drop(a, 't');
    await scene.create(a, 't');
    await scene.set(a, 'old', X);
    await scene.dieAfterCommitPoint(b, 'new', U, X);
    await scene.store.createTable('t', { families: ['foreign'] }); // The engine's is `t.i2` now.
    const timestamp = (await readDefinition(scene.store, 't'))?.version ?? 0;
    const damage = { kind: 'set', ...DEFINITION, timestamp, value: Buffer.from('{') } as const;
    await scene.store.mutateRows([{ table: TABLES_TABLE, row: 't', mutations: [damage] }]);
    // If the storage once misses t.i2 by mistake, the drop fails: t.i2 may have locks.
    a.store.beforeCall = ({ kind, table }) => {
      if (kind !== 'read' || table !== 't.i2') return;
      a.store.beforeCall = undefined;
      throw notFound();
    };
    await assert.rejects(scene.drop(a, 'u'), { code: 'TABLE_NOT_FOUND', message: 'by mistake' });
    await scene.drop(a, 'u'); // And with it the primary, which tells the fate of the lock.
    assert.equal(await scene.get(a, X), 'new');
    await assert.doesNotReject(scene.run(a.percolator.collectGarbage()));
  });

  for (const [what, lost] of [
    ['a drop', 'its definition'],
    ['a drop', 'its definition and companion'],
    ['a collector', 'its definition'],
    ['a collector', 'its definition and companion'],
  ] as const) {
    test(`a writer that died after its commit point is rolled forward by ${what} also in a table that lost ${lost}`, async () => {
      const scene = new TableScene();
      const [a, b] = await scene.processes('a', 'b');
      await scene.store.createTable('foreign', { families: ['foreign'] });
      await scene.store.createTable('half', { families: TABLE_FAMILIES }); // Has no companion.
      const record = { kind: 'set', ...placeOf('write', 'c'), value: Buffer.from('?') } as const;
      const mutations = [
        { ...record, timestamp: 1 },
        { ...record, timestamp: 2 },
      ];
      await scene.store.mutateRows([{ table: 'half', row: 'x', mutations }]);
      await scene.create(a, 't', 'u');
      await scene.dieAfterCommitPoint(b, 'new', U, X);
      const erase = { kind: 'erase', ...DEFINITION, from: 0, to: 1_000 } as const;
      await scene.store.mutateRows([{ table: TABLES_TABLE, row: 't', mutations: [erase] }]);
      if (lost !== 'its definition') await scene.store.dropTable('t.notify');
      await scene.run(a.percolator.close());
      const [c] = await scene.processes('c');
      if (what === 'a drop') await scene.drop(c, 'u');
      else {
        await scene.set(c, 'newer', U);
        // Waits until the lease of the dead writer ends.
        const collecting = c.percolator.collectGarbage({ messageLifetimeMs: 10 });
        const { completed, cellsDeleted } = await scene.run(collecting);
        assert.ok(completed && cellsDeleted > 0);
        const half = await scene.store.readRow('half', 'x', [everywhere('write')]);
        assert.equal(half?.cells.length, 2, 'tables without a definition are not collected');
      }
      await scene.findings({ repair: true }); // Makes the companion.
      await scene.create(c, 't');
      assert.equal(await scene.get(c, X), 'new');
    });
  }

  test('a writer that died before its commit point is rolled back in all tables', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    await scene.set(a, 'old', X, U);
    const held = scene.hold(b, isCommitOf('t'));
    void scene.write(b, 'new', X, U).catch(() => {});
    await scene.run(held.reached);
    scene.kill(b);
    await scene.drop(a, 't');
    assert.equal(await scene.get(a, U), 'old');
    assert.deepEqual(await scene.findings(), []);
  });

  test('a lock that comes after the drop belongs to a transaction that does not commit', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    await scene.set(a, 'old', X, U);
    const held = scene.hold(b, (call) => call.kind === 'mutation' && call.table === 'u');
    const writing = scene.write(b, 'new', X, U);
    await scene.run(held.reached);
    // b's heartbeats wait for the held call: the drop presumes b dead, and rolls t/x back.
    await scene.drop(a, 't');
    const after = scene.hold(b, readsDefinitions);
    held.release();
    await scene.run(after.reached);
    assert.equal(await scene.get(a, U), 'old'); // The lock's owner lives; the read does not wait.
    after.release();
    await assert.rejects(scene.run(writing), { code: 'TABLE_NOT_FOUND' });
    assert.deepEqual(await scene.findings(), []);
  });

  test('a commit fails if it was sent before a drop and arrives after it', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    await scene.set(a, 'old', X, U);
    const held = scene.hold(b, isCommitOf('t'));
    const writing = scene.write(b, 'new', X, U);
    await scene.run(held.reached);
    await scene.drop(a, 't');
    held.release();
    await assert.rejects(scene.run(writing), { code: 'TABLE_NOT_FOUND' });
    assert.equal(await scene.get(a, U), 'old');
  });

  test('the outcome of a transaction whose primary was dropped with its table is refused, not guessed', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    b.store.loseAnswer((call) => isCommitOf('t')(call));
    b.store.beforeCall = (call) => {
      if (call.kind === 'read' && call.table === 't') throw unavailable();
    };
    const unknown = await scene.run(scene.write(b, 'new', X, U)).catch((error: unknown) => error);
    assert.ok(hasCode(unknown, 'COMMIT_UNKNOWN'));
    assert.ok(unknown.transaction);
    await scene.drop(a, 't');
    assert.equal(await scene.get(a, U), 'new');
    await assert.rejects(scene.run(a.percolator.outcomeOf(unknown.transaction)), {
      code: 'STALE_SNAPSHOT',
      message: /table of its primary was dropped/,
    });
  });

  test('a table that is missing by mistake proves nothing about a lock', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    await scene.set(a, 'old', X, U);
    await scene.dieAfterCommitPoint(b, 'new', X, U);
    a.store.beforeCall = (call) => {
      if (call.kind === 'read' && call.table === 't') throw notFound();
    };
    await assert.rejects(scene.get(a, U), { code: 'TABLE_NOT_FOUND' });
    a.store.beforeCall = undefined;
    assert.equal(await scene.get(a, U), 'new');
  });

  test('a table that another program deleted can be dropped, whatever locks had their primary in it', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    await scene.set(a, 'old', X, U);
    await scene.dieAfterCommitPoint(b, 'new', X, U);
    await scene.store.dropTable('t');
    await scene.drop(a, 't');
    assert.equal(await scene.state('t'), 'gone');
    assert.equal(await scene.get(a, U), 'old'); // The record of the commit was deleted.
  });

  test('a table can be dropped although another program deleted the primaries of its locks', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    await scene.dieAfterCommitPoint(b, 'new', U, X);
    await scene.store.dropTable('u');
    await scene.drop(a, 't');
    assert.deepEqual(await scene.tables(), []);
  });

  test('a drop goes on when another table is dropped while it looks for locks there', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    const held = scene.hold(a, (call) => call.kind === 'read' && call.table === 'u');
    const dropping = a.percolator.dropTable('t');
    await scene.run(held.reached);
    await scene.drop(b, 'u');
    held.release();
    await scene.run(dropping);
    assert.deepEqual(await scene.tables(), []);
  });

  test('a collector goes on while a table is dropped', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    await scene.set(a, 'old', X, U);
    await scene.dieAfterCommitPoint(b, 'new', X, U);
    const collecting = a.percolator.collectGarbage({ messageLifetimeMs: 100 });
    const held = scene.hold(a, (call) => call.kind === 'read' && call.table === 't');
    await scene.run(held.reached);
    const [c] = await scene.processes('c');
    await scene.drop(c, 't');
    held.release();
    const report = await scene.run(collecting);
    assert.equal(report.completed, true);
    assert.equal(await scene.get(a, U), 'new');
  });
});

test('P55: rows whose table is dropped between being read and being collected are ignored', async () => {
  const scene = new TableScene();
  const [a] = await scene.processes('a');
  await scene.create(a, 't');
  for (const value of ['1', '2', '3']) await scene.set(a, value, X);
  const held = scene.hold(a, ({ kind, table }) => kind === 'mutation' && table === 't');
  const collecting = a.percolator.collectGarbage({ messageLifetimeMs: 100 });
  await scene.run(held.reached);
  const [b] = await scene.processes('b');
  await scene.drop(b, 't');
  held.release();
  const { completed, cellsDeleted } = await scene.run(collecting);
  assert.deepEqual({ completed, cellsDeleted }, { completed: true, cellsDeleted: 0 });
});

test('a drop fails, and can be repeated, if a table without a definition cannot be read: it may have locks', async () => {
  const scene = new TableScene();
  const [a] = await scene.processes('a');
  await scene.create(a, 't');
  await scene.store.createTable('u', { families: TABLE_FAMILIES });
  await scene.store.createTable('u.notify', { families: NOTIFY_FAMILIES });
  a.store.beforeCall = ({ kind, table }) => {
    if (kind !== 'read' || table !== 'u') return;
    a.store.beforeCall = undefined;
    throw new PercolatorError('STORE_REFUSED', 'the credentials have just expired');
  };
  await assert.rejects(scene.drop(a, 't'), { code: 'STORE_REFUSED' });
  await scene.drop(a, 't');
});

test('a table of another program, which we may not read, stops neither a drop nor a collector', async () => {
  const scene = new TableScene();
  await scene.store.createTable('foreign', { families: ['foreign'] });
  const [a] = await scene.processes('a');
  await scene.create(a, 't', 'u');
  await scene.set(a, 'old', X, U);
  a.store.beforeCall = ({ kind, table }) => {
    if (kind === 'read' && table === 'foreign') {
      throw new PercolatorError('STORE_REFUSED', 'it belongs to another program');
    }
  };
  const report = await scene.run(a.percolator.collectGarbage({ messageLifetimeMs: 10 }));
  assert.ok(report.completed);
  await scene.drop(a, 't');
  assert.deepEqual(await scene.tables(), []);
});

describe('dropping a table without a definition', () => {
  for (const foreign of ['x', 'x.notify']) {
    test(`is refused, and stops nothing else, if ${foreign} is not of Percolator’s form`, async () => {
      const scene = new TableScene();
      await scene.store.createTable(foreign, { families: ['foreign'] });
      const [a] = await scene.processes('a');
      await scene.create(a, 't', 'u');
      await scene.set(a, 'old', X, U);
      await assert.rejects(scene.drop(a, 'x'), { code: 'TABLE_MISMATCH' });
      assert.equal(await scene.state('x'), undefined);
      await scene.drop(a, 't');
      await scene.run(a.percolator.collectGarbage({ messageLifetimeMs: 10 }));
      assert.ok((await scene.store.listTables()).includes(foreign));
    });
  }

  for (const [what, left] of [
    ['dropTable', []],
    ['createTable', ['t.i2', 't.i2.notify']],
  ] as const) {
    test(`may end while another process checks the table for ${what}`, async () => {
      const scene = new TableScene();
      await scene.store.createTable('t', { families: TABLE_FAMILIES });
      await scene.store.createTable('t.notify', { families: NOTIFY_FAMILIES });
      const [a, b] = await scene.processes('a', 'b');
      const held = scene.hold(b, ({ kind, table }) => kind === 'read' && table === 't');
      const working = b.percolator[what]('t');
      await scene.run(held.reached);
      await scene.drop(a, 't');
      held.release();
      await scene.run(working);
      assert.deepEqual(await scene.tables(), left);
      assert.equal(await scene.state('t'), what === 'dropTable' ? 'gone' : 'there');
    });
  }

  test('checks the companion even if another program deletes the table meanwhile', async () => {
    const scene = new TableScene();
    await scene.store.createTable('t', { families: TABLE_FAMILIES });
    await scene.store.createTable('t.notify', { families: ['foreign'] });
    const [a] = await scene.processes('a');
    const held = scene.hold(a, ({ kind, table }) => kind === 'read' && table === 't');
    const dropping = a.percolator.dropTable('t');
    await scene.run(held.reached);
    await scene.store.dropTable('t');
    held.release();
    await assert.rejects(scene.run(dropping), { code: 'TABLE_MISMATCH' });
    assert.deepEqual(await scene.tables(), ['t.notify']);
  });

  test('fails if the storage lists it and does not find it', async () => {
    const scene = new TableScene();
    await scene.store.createTable('t', { families: TABLE_FAMILIES });
    const [a] = await scene.processes('a');
    a.store.beforeCall = ({ kind, table }) => {
      if (kind === 'read' && table === 't') throw notFound();
    };
    await assert.rejects(scene.drop(a, 't'), { code: 'TABLE_NOT_FOUND' });
    assert.deepEqual(await scene.tables(), ['t']);
  });
});

describe('P55: an interrupted drop is continued', () => {
  for (const resume of ['dropTable', 'createTable'] as const) {
    test(`by the next ${resume}, after whichever mutation the first process died`, async () => {
      let steps = 1;
      for (let isDone = false; !isDone; steps++) {
        const scene = new TableScene();
        const [a, b, c] = await scene.processes('a', 'b', 'c');
        await scene.create(a, 't', 'u');
        await scene.set(a, 'old', X, U);
        await scene.dieAfterCommitPoint(b, 'new', X, U);
        c.store.crashAfter(c.store.mutationCount + steps);
        isDone = await scene.drop(c, 't').then(
          () => true,
          () => false,
        );
        scene.kill(c);
        await scene.run(a.percolator[resume]('t'));
        if (resume === 'dropTable') {
          assert.deepEqual(await scene.tables(), []);
          await scene.create(a, 't');
        }
        assert.equal(await scene.get(a, U), 'new', `died after ${steps} mutations`);
        assert.deepEqual(await scene.findings(), []);
      }
      assert.ok(steps > 4, `${steps} steps`);
    });
  }

  test('by two processes at the same time, and one that comes late harms nothing', async () => {
    const scene = new TableScene();
    const [a, b, c] = await scene.processes('a', 'b', 'c');
    await scene.create(a, 't', 'u');
    await scene.set(a, 'old', X, U);
    const held = scene.holdNext(c, 'dropTable');
    const late = c.percolator.dropTable('t');
    await scene.run(held.reached);
    await scene.run(Promise.all([a.percolator.dropTable('t'), b.percolator.dropTable('t')]));
    await scene.create(a, 't');
    await scene.set(a, 'new', X);
    held.release();
    await scene.run(late);
    assert.equal(await scene.get(b, X), 'new');
    assert.deepEqual(await scene.tables(), ['t.i2', 't.i2.notify']);
    assert.deepEqual(await scene.findings(), []);
  });

  test('also where the storage loses every answer about the definition', async () => {
    const scene = new TableScene();
    const [a] = await scene.processes('a');
    a.store.loseAnswer(({ table }) => table === 'percolator-tables');
    await scene.create(a, 't');
    await scene.set(a, '1', X);
    await scene.drop(a, 't');
    await scene.create(a, 't');
    await scene.set(a, '2', X);
    assert.equal(await scene.get(a, X), '2');
    assert.deepEqual(await scene.tables(), ['t.i2', 't.i2.notify']);
  });

  test('also where a request about the definition is lost, and comes again later', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    for (let i = 0; i < 4; i++) {
      delayNextStep(a);
      await scene.create(a, 't');
      await a.store.deliverDuplicates();
      await scene.set(b, String(i), X);
      delayNextStep(a);
      await scene.drop(a, 't');
      await a.store.deliverDuplicates();
    }
    assert.deepEqual(await scene.tables(), []);
    assert.deepEqual(await scene.findings(), []);
  });
});

describe('locks whose primary’s table was dropped by a version that resolved no locks', () => {
  async function stuck(): Promise<TableScene> {
    const scene = new TableScene();
    const [a] = await scene.processes('before');
    await scene.create(a, 'u');
    await scene.set(a, 'old', U);
    const transaction = await scene.run(a.percolator.begin());
    const { startTimestamp: timestamp } = transaction;
    transaction.discard();
    await scene.run(a.percolator.close());
    const value = Buffer.from(lockOf('t/p', 'dead'));
    await scene.store.mutateRows([
      {
        table: 'u',
        row: 'x',
        mutations: [
          { kind: 'set', ...placeOf('data', 'c'), timestamp, value: Buffer.from('lost') },
          { kind: 'set', ...placeOf('lock', 'c'), timestamp, value },
        ],
      },
    ]);
    return scene;
  }

  const WAYS: Readonly<Record<string, (scene: TableScene, a: SceneProcess) => Promise<unknown>>> = {
    'a read': (scene, a) => scene.get(a, U),
    'a scan': async (scene, a) => {
      await using snapshot = await scene.run(a.percolator.snapshot());
      const scan = snapshot.scan({ table: 'u', columns: ['c'] });
      await scene.run(Array.fromAsync(scan));
    },
    'a blind write': (scene, a) => scene.set(a, 'new', U),
    'a collector': async (scene, a) => {
      const report = await scene.run(a.percolator.collectGarbage({ messageLifetimeMs: 10 }));
      assert.equal(report.completed, true);
    },
    'fsck --repair': (scene) => scene.findings({ repair: true }),
  };
  for (const [who, meets] of Object.entries(WAYS)) {
    test(`are rolled back by ${who}`, async () => {
      const scene = await stuck();
      const [a] = await scene.processes('a');
      await meets(scene, a);
      const rows = await scene.store.readRange('u', { limit: 10 }, [everywhere('lock')]);
      assert.deepEqual(rows, []);
      assert.equal(await scene.get(a, U), who === 'a blind write' ? 'new' : 'old');
      assert.deepEqual(await scene.findings(), []);
    });
  }
});

function unavailable(): PercolatorError {
  return new PercolatorError('STORE_UNAVAILABLE', 'not now');
}

/** The next request about a definition is lost, and comes again when duplicates are delivered. */
function delayNextStep({ store }: SceneProcess): void {
  store.duplicate(once(({ table }) => table === TABLES_TABLE));
  store.loseRequest(once(({ table }) => table === TABLES_TABLE));
}

function notFound(): PercolatorError {
  return new PercolatorError('TABLE_NOT_FOUND', 'by mistake');
}
