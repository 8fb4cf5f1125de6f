/**
 * The claims about tables that are dropped and created again:
 * which process uses which incarnation (P52, P53).
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom, PercolatorError } from '../base/index.ts';
import { decorate } from '../bigtable/index.ts';
import { openBulkLoader } from '../bulk-load.ts';
import { openPercolator } from '../percolator.ts';
import { cell, createMemoryBigtable, VirtualClock } from '../testing/index.ts';
import { TableScene } from '../testing/table-scene.ts';
import { StoredCatalog } from './catalog.ts';

const X = cell('t/x');

describe('P52: a table that was created again is not mistaken for the one before', () => {
  test('a process that knew the old incarnation notifies observers of the new one', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't', 'u');
    await scene.set(b, '1', X);
    await scene.drop(a, 't');
    await scene.run(a.percolator.createTable('t', { observedColumns: ['c'] }));
    await scene.set(b, '2', cell('t/y'));
    assert.deepEqual(await scene.observe(a, 't'), ['y']);
    assert.deepEqual(await scene.findings(), []);
  });

  test('each incarnation has a name of its own in the storage; the first has the user’s', async () => {
    const scene = new TableScene();
    const [a] = await scene.processes('a');
    await scene.create(a, 't');
    assert.equal(await a.percolator.storedName('t'), 't');
    for (const stored of ['t.i2', 't.i3']) {
      await scene.set(a, 'old', X);
      await scene.drop(a, 't');
      for (const use of [
        () => a.percolator.storedName('t'),
        () => scene.get(a, X),
        () => scene.set(a, 'lost', X),
      ]) {
        await assert.rejects(use(), { code: 'TABLE_NOT_FOUND' });
      }
      await scene.create(a, 't');
      assert.equal(await a.percolator.storedName('t'), stored);
      assert.equal(await scene.get(a, X), undefined);
    }
    assert.deepEqual(await scene.tables(), ['t.i3', 't.i3.notify']);
    assert.deepEqual(await scene.findings(), []);
  });

  test('the storage’s name is the present one, whatever this process knew', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't');
    assert.equal(await b.percolator.storedName('t'), 't');
    await scene.drop(a, 't');
    await assert.rejects(b.percolator.storedName('t'), { code: 'TABLE_NOT_FOUND' });
    await scene.create(a, 't');
    assert.equal(await b.percolator.storedName('t'), 't.i2');
  });

  test('a worker continues with the new incarnation, and so does a list of parked cells', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.run(a.percolator.createTable('t', { observedColumns: ['c'] }));
    const runs: string[] = [];
    const run = async (_: unknown, { row }: { readonly row: string }): Promise<void> => {
      runs.push(row);
      if (row === 'bad') throw new Error('cannot digest it');
    };
    const observer = { name: 'o', table: 't', column: 'c', run };
    const worker = a.percolator.startWorker([observer], { failuresMax: 1 });
    await scene.set(b, '1', X);
    await scene.run(worker.idle());
    await scene.drop(b, 't');
    await scene.run(b.percolator.createTable('t', { observedColumns: ['c'] }));
    await scene.set(b, '2', cell('t/y'), cell('t/bad'));
    await scene.run(worker.idle());
    await scene.run(worker.stop());
    assert.deepEqual(runs.toSorted(), ['bad', 'x', 'y']);
    const parked = await scene.run(a.percolator.listParked('t'));
    assert.deepEqual(
      parked.map(({ table, row }) => `${table}/${row}`),
      ['t/bad'],
    );
    const [bad] = parked;
    assert.ok(bad);
    await scene.run(a.percolator.replayParked(bad));
    assert.deepEqual((await scene.observe(a, 't')).toSorted(), ['bad']);
  });

  test('a cell whose observer fails after its table was created again is not parked in the new one', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    const create = (): Promise<void> =>
      scene.run(b.percolator.createTable('t', { observedColumns: ['c'] }));
    await create();
    const [reached, created] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const run = async (): Promise<never> => {
      reached.resolve();
      await created.promise;
      throw new Error('cannot digest it');
    };
    const observer = { name: 'o', table: 't', column: 'c', run };
    const worker = a.percolator.startWorker([observer], { failuresMax: 1 });
    await scene.set(b, '1', X);
    await scene.run(reached.promise);
    await scene.drop(b, 't');
    await create();
    created.resolve();
    await scene.run(worker.idle());
    await scene.run(worker.stop());
    assert.deepEqual([worker.counters.failures, worker.counters.parked], [1, 0]);
    assert.deepEqual(await scene.run(b.percolator.listParked('t')), []);
  });

  test('a bulk load does not continue in the new incarnation', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't');
    const loader = await scene.run(openBulkLoader(a.percolator));
    const row = (key: string): Parameters<typeof loader.add>[0] => ({
      table: 't',
      row: key,
      cells: [{ column: 'c', value: Buffer.from('loaded') }],
    });
    await loader.add(row('1'));
    await scene.drop(b, 't');
    await scene.create(b, 't');
    await loader.add(row('2'));
    await assert.rejects(loader.finish(), { code: 'TABLE_NOT_FOUND' });
    assert.equal(await scene.get(b, cell('t/2')), undefined);
  });

  test('processes that create a table at the same time create one, even if their definitions differ', async () => {
    const scene = new TableScene();
    const processes = await scene.processes('a', 'b', 'c');
    await scene.run(Promise.all(processes.map(({ percolator }) => percolator.createTable('t'))));
    assert.deepEqual(await scene.tables(), ['t', 't.notify']);
    const [a, b] = processes;
    assert.ok(a !== undefined && b !== undefined);
    await scene.drop(a, 't');
    const definitions = [['one'], ['two']].map((observedColumns) => ({ observedColumns }));
    const outcomes = await scene.run(
      Promise.allSettled([
        a.percolator.createTable('t', definitions[0]),
        b.percolator.createTable('t', definitions[1]),
      ]),
    );
    const codes = outcomes.map((outcome) =>
      outcome.status === 'rejected' ? (outcome.reason as PercolatorError).code : 'created',
    );
    assert.deepEqual(codes.toSorted(), ['TABLE_MISMATCH', 'created']);
    assert.deepEqual(await scene.tables(), ['t.i2', 't.i2.notify']);
  });

  test('a creator that was presumed dead makes nothing that is used', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    const held = scene.holdNext(a, 'createTable');
    const late = a.percolator.createTable('t');
    await scene.run(held.reached);
    await scene.create(b, 't'); // After some minutes.
    await scene.set(b, 'kept', X);
    held.release();
    await scene.run(late);
    assert.deepEqual(await scene.tables(), ['t.i2', 't.i2.notify']);
    assert.equal(await scene.get(a, X), 'kept');
    assert.deepEqual(await scene.findings(), []);
  });

  test('a caller stops waiting for a slow creator, even if its own calls fail in between', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    const held = scene.holdNext(a, 'createTable');
    const late = a.percolator.createTable('t');
    await scene.run(held.reached);
    // Once a minute a read of the definition fails, and the caller tries again.
    for (let minute = 0; minute < 3; minute++) {
      const failsAtMs = scene.clock.monotonicMs() + 60_000;
      b.store.beforeCall = ({ kind, table }) => {
        if (kind !== 'read' || table !== 'percolator-tables') return;
        if (scene.clock.monotonicMs() < failsAtMs) return;
        throw new PercolatorError('STORE_UNAVAILABLE', 'for a moment');
      };
      const isCreated = b.percolator.createTable('t').then(
        () => true,
        () => false,
      );
      if (await scene.run(isCreated)) break;
    }
    b.store.beforeCall = undefined;
    assert.equal(await scene.state('t'), 'there');
    held.release();
    await scene.run(late);
    assert.deepEqual(await scene.tables(), ['t.i2', 't.i2.notify']);
  });

  test('processes that create a table at the same time finish, although it takes longer than they wait at first', async () => {
    const scene = new TableScene();
    const processes = await scene.processes('a', 'b', 'c');
    // At first they wait for 120 s (administration.ts).
    for (const { before } of processes) before.createTable = () => scene.clock.sleep(150_000);
    const created = Promise.all(processes.map(({ percolator }) => percolator.createTable('t')));
    const isCreated = created.then(() => true);
    const isLate = scene.clock.sleep(3_600_000).then(() => false);
    assert.equal(await scene.run(Promise.race([isCreated, isLate])), true);
    assert.equal(await scene.state('t'), 'there');
  });

  test('P60: a process whose token contains # knows its own failed attempt, and does not wait for it', async () => {
    const scene = new TableScene();
    const [a] = await scene.processes('a#1');
    let steps = 0;
    a.store.beforeCall = ({ kind, table }) => {
      if (kind !== 'mutation' || table !== 'percolator-tables') return;
      steps++;
      if (steps === 2) throw new PercolatorError('STORE_UNAVAILABLE', 'for a moment');
    };
    await assert.rejects(scene.create(a, 't'), { code: 'STORE_UNAVAILABLE' });
    assert.equal(await scene.state('t'), 'creating');
    const beforeMs = scene.clock.monotonicMs();
    await scene.create(a, 't');
    assert.equal(await scene.state('t'), 'there');
    const waitedMs = scene.clock.monotonicMs() - beforeMs;
    assert.ok(waitedMs < 1_000, `waited ${waitedMs} ms`);
  });

  test('two databases with one liveness token create one table, and the second waits for the first', async () => {
    const clock = new VirtualClock();
    const memory = createMemoryBigtable();
    const made: string[] = [];
    const release = Promise.withResolvers<void>();
    const store = decorate(memory, {
      createTable: async (table, schema) => {
        if (table.startsWith('t.') || table === 't') {
          made.push(table);
          await release.promise;
        }
        await memory.createTable(table, schema);
      },
    });
    const liveness = { self: 'a', isDead: () => false };
    const options = { store, clock, liveness, random: createRandom(1) };
    const databases = [await openPercolator(options), await openPercolator(options)];
    const created = Promise.all(databases.map((database) => database.createTable('t')));
    await clock.advance(60_000);
    assert.deepEqual(made, ['t']);
    release.resolve();
    await clock.runUntil(created);
    assert.deepEqual(made, ['t', 't.notify']);
  });

  test('a creator that dies late leaves tables that fsck finds and removes', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    const held = scene.holdNext(a, 'createTable');
    void a.percolator.createTable('t').catch(() => {});
    await scene.run(held.reached);
    await scene.create(b, 't');
    scene.kill(a);
    held.release();
    await scene.clock.advance(1);
    assert.deepEqual(await scene.tables(), ['t', 't.i2', 't.i2.notify']);
    assert.deepEqual(await scene.findings(), ['warning table-left-over t']);
    await scene.findings({ repair: true });
    assert.deepEqual(await scene.findings(), []);
    assert.deepEqual(await scene.tables(), ['t.i2', 't.i2.notify']);
  });

  test('impossible names, and those that could be mistaken for another table’s, are refused', async () => {
    const scene = new TableScene();
    const [a] = await scene.processes('a');
    for (const name of [
      't.notify',
      't.i2',
      't.i10',
      'percolator-tables',
      'percolator-mine',
      'timestamp-oracle',
      '',
      'a b',
      'ä',
      'x'.repeat(38),
    ]) {
      const refused = { code: 'INVALID_ARGUMENT', message: /cannot be the name of a table/ };
      await assert.rejects(scene.create(a, name), refused, name);
      if (name.includes('.') || name.includes('-')) {
        await assert.rejects(scene.drop(a, name), refused, name);
      }
    }
    for (const name of ['-t', '.t']) {
      await assert.rejects(scene.create(a, name), /not begin with - or \./);
    }
    for (const name of ['t.i1x', 'i2', 't.i', 't.i02', 'notify', 'x'.repeat(37)]) {
      await scene.create(a, name);
      await scene.drop(a, name);
      await scene.create(a, name);
    }
    assert.deepEqual(await scene.findings(), []);
  });

  test('a table whose name begins with - or ., from before such names were refused, is used on', async () => {
    const scene = new TableScene();
    await scene.plantTable('-t', { observedColumns: [] });
    const [a] = await scene.processes('a');
    await scene.create(a, '-t');
    assert.deepEqual(await scene.findings(), []);
  });

  test('a table named like an incarnation, before such names were refused, keeps its name', async () => {
    const scene = new TableScene();
    await scene.plantTable('t.i2', { observedColumns: [] });
    const [a] = await scene.processes('a');
    const old = cell('t.i2/x');
    await scene.set(a, 'old', old);
    await scene.create(a, 't');
    await scene.drop(a, 't');
    await scene.create(a, 't');
    assert.equal(await a.percolator.storedName('t'), 't.i3');
    assert.equal(await scene.get(a, old), 'old');
    await scene.drop(a, 't.i2');
    assert.deepEqual(await scene.tables(), ['t.i3', 't.i3.notify']);
  });

  test('a database from before there were incarnations is used as it is', async () => {
    const scene = new TableScene();
    await scene.plantTable('t', { observedColumns: ['c'] });
    const [a] = await scene.processes('a');
    await scene.set(a, '1', X);
    assert.equal(await a.percolator.storedName('t'), 't');
    assert.deepEqual(await scene.observe(a, 't'), ['x']);
    await scene.run(a.percolator.createTable('t', { observedColumns: ['c'], splits: ['m'] }));
    await scene.drop(a, 't');
    await scene.create(a, 't');
    assert.equal(await a.percolator.storedName('t'), 't.i2');
  });

  test('observed columns are compared one by one', async () => {
    const scene = new TableScene();
    const [a] = await scene.processes('a');
    await scene.run(a.percolator.createTable('t', { observedColumns: ['a', 'b'] }));
    for (const observedColumns of [['a\0b'], ['a'], ['a', 'b', 'c'], []]) {
      const mismatch = { code: 'TABLE_MISMATCH' };
      await assert.rejects(a.percolator.createTable('t', { observedColumns }), mismatch);
    }
    await a.percolator.createTable('t', { observedColumns: ['b', 'a', 'a'] });
  });

  test('a table of the same name that is not of Percolator’s form is left alone', async () => {
    for (const foreign of ['t', 't.notify']) {
      const scene = new TableScene();
      await scene.store.createTable(foreign, { families: ['foreign'] });
      const [a] = await scene.processes('a');
      for (let i = 0; i < 2; i++) {
        await assert.rejects(scene.create(a, 't'), { code: 'TABLE_MISMATCH' });
      }
      assert.deepEqual(await scene.tables(), [foreign]);
    }
  });

  test('a table with impossible splits takes no number', async () => {
    const scene = new TableScene();
    const [a] = await scene.processes('a');
    const impossible = a.percolator.createTable('t', { splits: [''] });
    await assert.rejects(scene.run(impossible), { code: 'INVALID_ARGUMENT' });
    assert.equal(await scene.state('t'), undefined);
    await scene.create(a, 't');
    assert.equal(await a.percolator.storedName('t'), 't');
  });

  test('a table whose next incarnation would have too long a name is refused, and takes no number', async () => {
    const scene = new TableScene();
    const table = 't'.repeat(37);
    const last = { state: 'gone', incarnation: 9_999, observedColumns: [], createdAt: 1 };
    await scene.plantTable(table, last);
    const [a] = await scene.processes('a');
    const refusal = { code: 'INVALID_ARGUMENT', message: /cannot be created again/ };
    await assert.rejects(scene.create(a, table), refusal);
    assert.equal(await scene.state(table), 'gone');
  });

  test('a process does not remember the names of tables that never existed', async () => {
    const scene = new TableScene();
    const [a] = await scene.processes('a');
    await scene.create(a, 't');
    const catalog = new StoredCatalog(scene.store, { drops: 0 });
    await catalog.look(['t', 'missing']);
    assert.deepEqual(
      ['t', 'missing'].map((table) => catalog.isCurrent(table)),
      [true, false],
    );
  });

  test('an old definition that is read late does not replace a newer one', () => {
    const catalog = new StoredCatalog(createMemoryBigtable(), { drops: 0 });
    const definition = { state: 'there', observedColumns: [], createdAt: 1 } as const;
    catalog.note('t', { ...definition, incarnation: 2, version: 7 });
    catalog.note('t', { ...definition, incarnation: 1, version: 2 });
    catalog.note('t', undefined);
    assert.equal(catalog.known('t')?.stored, 't.i2');
  });
});

describe('P53: a snapshot older than a table sees nothing of it and is refused', () => {
  for (const knows of [true, false]) {
    const who = knows ? 'that knew the old incarnation' : 'that did not know it';
    test(`in a process ${who}`, async () => {
      const scene = new TableScene();
      const [a, b] = await scene.processes('a', 'b');
      await scene.create(a, 't');
      await scene.set(a, 'old', X);
      if (knows) await scene.get(b, X);
      await using snapshot = await scene.run(b.percolator.snapshot());
      const transaction = await scene.run(b.percolator.begin());
      await scene.drop(a, 't');
      await scene.create(a, 't');
      await scene.set(a, 'new', X);
      const range = { table: 't', columns: ['c'] };
      for (const read of [
        () => snapshot.get(X),
        () => snapshot.getMany([X, cell('t/y')]),
        () => Array.fromAsync(snapshot.scan(range)),
        () => a.percolator.snapshot(snapshot.startTimestamp).then((again) => again.get(X)),
      ]) {
        const reading: Promise<unknown> = read();
        await assert.rejects(scene.run(reading), { code: 'STALE_SNAPSHOT', message: /table t/ });
      }
      transaction.set(X, 'stale');
      await assert.rejects(scene.run(transaction.commit()), { code: 'STALE_SNAPSHOT' });
      assert.equal(await scene.get(b, X), 'new');
    });
  }

  test('a snapshot that has read the old incarnation is not shown the new one', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't');
    await scene.set(a, 'old', X, cell('t/y'));
    await using snapshot = await scene.run(b.percolator.snapshot());
    assert.equal(String(await snapshot.get(X)), 'old');
    await scene.drop(a, 't');
    await assert.rejects(snapshot.get(cell('t/y')), { code: 'TABLE_NOT_FOUND' });
    await scene.create(a, 't');
    await assert.rejects(snapshot.get(cell('t/y')), { code: 'STALE_SNAPSHOT' });
    assert.equal(String(await snapshot.get(X)), 'old'); // It has been read.
  });

  test('a commit to the old incarnation fails, although a read of its transaction finds the new one meanwhile', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't');
    const transaction = await scene.run(b.percolator.begin());
    await scene.run(transaction.get(cell('t/y')));
    const read = scene.hold(b, ({ kind, table }) => kind === 'read' && table === 't');
    const reading = transaction.get(X);
    await scene.run(read.reached);
    await scene.drop(a, 't');
    await scene.create(a, 't');
    transaction.set(X, 'new');
    const prewrite = scene.hold(b, ({ kind, table }) => kind === 'mutation' && table === 't');
    const committing = transaction.commit();
    await scene.run(prewrite.reached);
    read.release();
    await assert.rejects(scene.run(reading), { code: 'STALE_SNAPSHOT' });
    prewrite.release();
    await assert.rejects(scene.run(committing), { code: 'STALE_SNAPSHOT' });
  });

  test('a new snapshot sees the new incarnation, also in a process that knew the old one', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't');
    await scene.get(b, X);
    await scene.drop(a, 't');
    await scene.create(a, 't');
    await scene.set(a, 'new', X, cell('t/y'));
    await using snapshot = await scene.run(b.percolator.snapshot());
    const values = await snapshot.getMany([X, cell('t/y')]);
    assert.deepEqual(values.map(String), ['new', 'new']);
  });

  test('a transaction that finds its table younger than its snapshot is run again', async () => {
    const scene = new TableScene();
    const [a, b] = await scene.processes('a', 'b');
    await scene.create(a, 't');
    await scene.set(b, 'old', X);
    let runs = 0;
    await scene.run(
      b.percolator.transact(async (transaction) => {
        if (++runs === 1) {
          await a.percolator.dropTable('t');
          await a.percolator.createTable('t');
        }
        transaction.set(X, `${String(await transaction.get(X))} ${runs}`);
      }),
    );
    assert.equal(runs, 2);
    assert.equal(await scene.get(a, X), 'undefined 2');
  });
});
