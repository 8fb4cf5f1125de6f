/** A backup restored is what a snapshot saw, in any store, at any timestamp that it covers. */
import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { createRandom } from '../base/index.ts';
import type { Bigtable } from '../bigtable/index.ts';
import { openDatabase, type Percolator } from '../database.ts';
import { fsck } from '../fsck.ts';
import type { Observer } from '../observer/index.ts';
import { openPercolator } from '../percolator.ts';
import { cell, createMemoryBigtable, put, temporaryFolder } from '../testing/index.ts';
import { backup, restore, type RestoreReport } from './index.ts';

type Content = Readonly<Record<string, string>>;

async function open(t: TestContext, store: Bigtable = createMemoryBigtable()): Promise<Percolator> {
  const percolator = await openDatabase({ store });
  t.after(() => percolator.close());
  return percolator;
}

/** `table/row:column` and its value, of all tables that are named. */
async function contentOf(
  percolator: Percolator,
  tables: readonly string[],
  at?: number,
): Promise<Content> {
  await using snapshot = await percolator.snapshot(at);
  const found: [string, string][] = [];
  for (const table of tables) {
    for await (const { row, values } of snapshot.scan({ table })) {
      for (const [column, value] of values) {
        found.push([`${table}/${row}:${column}`, Buffer.from(value).toString('latin1')]);
      }
    }
  }
  return Object.fromEntries(found.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const write = (percolator: Percolator, values: Parameters<typeof put>[1]): Promise<void> =>
  percolator.transact(async (transaction) => put(transaction, values));

async function restored(
  t: TestContext,
  from: string,
  options: { readonly at?: number | undefined; readonly observers?: 'again' } = {},
): Promise<{ readonly percolator: Percolator; readonly report: RestoreReport }> {
  const percolator = await open(t);
  const report = await restore(percolator, { from, ...options });
  return { percolator, report };
}

test('a full backup is what its snapshot sees, whatever is written meanwhile', async (t) => {
  const source = await open(t);
  await source.createTable('t', { splits: ['m'] });
  await source.createTable('u');
  await write(source, { a: '1', 'a:d': 'é\u2028\n😀', z: '', 'u/x': 'other' });
  await write(source, { a: '2', z: undefined });
  await source.transact(async (transaction) =>
    transaction.set(cell('bytes'), new Uint8Array([0, 255, 10])),
  );
  const writing = Promise.all(
    Array.from({ length: 20 }, (_, i) => write(source, { a: `later ${i}` })),
  );
  const file = path.join(temporaryFolder(), 'one.backup');
  const { to, cells, from } = await backup(source, { to: file });
  await writing;
  assert.equal(from, 0);
  const { percolator, report } = await restored(t, file);
  assert.deepEqual(
    await contentOf(percolator, ['t', 'u']),
    await contentOf(source, ['t', 'u'], to),
  );
  assert.deepEqual(report, { at: to, tables: ['t', 'u'], cells, pending: 0 });
  for await (const finding of await fsck(percolator.store)) assert.fail(finding.sentence);
  await assert.rejects(backup(source, { to: file }), {
    code: 'INVALID_ARGUMENT',
    message: /replaces no file/,
  });
});

test('a series is restored to any timestamp that it covers', async (t) => {
  const random = createRandom(7);
  const source = await open(t);
  await source.createTable('t');
  await source.createTable('u');
  const folder = temporaryFolder();
  const timestamps: number[] = [];
  for (let i = 0; i < 4; i++) {
    for (let j = 0; j < 15; j++) {
      const table = random.pick(['', 'u/']);
      const [one, two] = [random.integer(0, 8), random.integer(0, 8)];
      const value = random.fraction() < 0.3 ? undefined : `${i} ${j}`;
      await write(source, { [`${table}row ${one}`]: value, [`row ${two}:d`]: `${i} ${j}` });
      await using snapshot = await source.snapshot();
      timestamps.push(snapshot.startTimestamp);
    }
    const report = await backup(source, { to: folder });
    timestamps.push(report.to);
    assert.equal(report.from === 0, i === 0);
  }
  const [first = 0] = timestamps.slice(15);
  for (const at of timestamps.filter((one, i) => one >= first && i % 3 === 0)) {
    const { percolator } = await restored(t, folder, { at });
    assert.deepEqual(
      await contentOf(percolator, ['t', 'u']),
      await contentOf(source, ['t', 'u'], at),
      `at ${at}`,
    );
  }
  const { percolator, report } = await restored(t, folder);
  assert.equal(report.at, timestamps.at(-1));
  assert.deepEqual(await contentOf(percolator, ['t', 'u']), await contentOf(source, ['t', 'u']));
  for (const at of [1, (timestamps.at(-1) ?? 0) + 1]) {
    await assert.rejects(
      restored(t, folder, { at }),
      /cannot be restored to \d+: its backups are /,
    );
  }
});

test('tables that are created, dropped, or created again between two backups', async (t) => {
  const source = await open(t);
  const folder = temporaryFolder();
  for (const table of ['t', 'u', 'v']) await source.createTable(table);
  await write(source, { a: '1', 'u/a': '1', 'v/a': '1' });
  const first = await backup(source, { to: folder });
  await source.dropTable('u');
  await source.dropTable('v');
  await source.createTable('v');
  await source.createTable('w', { observedColumns: ['seen'] });
  await write(source, { b: '2', 'v/b': '2', 'w/b': '2' });
  await using between = await source.snapshot();
  await write(source, { b: '3', 'v/c': '3' });
  await backup(source, { to: folder });
  await write(source, { 'v/b': '4', c: '4' });
  await backup(source, { to: folder });
  const { percolator, report } = await restored(t, folder);
  assert.deepEqual(report.tables.toSorted(), ['t', 'v', 'w']);
  const tables = ['t', 'v', 'w'];
  assert.deepEqual(await contentOf(percolator, tables), await contentOf(source, tables));
  const earlier = await restored(t, folder, { at: first.to });
  assert.deepEqual(await contentOf(earlier.percolator, ['t', 'u', 'v']), {
    't/a:c': '1',
    'u/a:c': '1',
    'v/a:c': '1',
  });
  const at = between.startTimestamp;
  await assert.rejects(restored(t, folder, { at }), /a table was created or dropped/);
});

test('what a backup cannot be restored to, or from, is said in a sentence', async (t) => {
  const source = await open(t);
  await source.createTable('t');
  const folder = temporaryFolder();
  const refused = (from: string, message: string, at?: number): Promise<void> =>
    assert.rejects(restored(t, from, { at }), { code: 'INVALID_ARGUMENT', message });
  await refused(folder, `${folder} has no backup`);
  const full = await backup(source, { to: folder });
  const since = await backup(source, { to: folder });
  await refused(
    full.path,
    `${full.path} is a full backup, as of ${full.to} alone: it cannot be restored to 1`,
    1,
  );
  await refused(
    since.path,
    `${since.path} has only what has changed since ${full.to}: restore from its folder`,
  );
  rmSync(full.path);
  await refused(
    folder,
    `${folder} cannot be restored, without the full backup that the others go on from: its backups are ${full.to}-${since.to}`,
  );
});

test('a table that another process creates at the same time is not dropped by a restore', async (t) => {
  const source = await open(t);
  await source.createTable('t');
  const file = path.join(temporaryFolder(), 'one.backup');
  await backup(source, { to: file });
  const target = await open(t);
  const create = target.createTable.bind(target);
  t.mock.method(target, 'createTable', async (...given: Parameters<typeof create>) => {
    await create('t', { observedColumns: ['mine'] });
    await write(target, { x: 'mine' });
    return create(...given);
  });
  await assert.rejects(restore(target, { from: file }), { code: 'TABLE_MISMATCH' });
  assert.deepEqual(await contentOf(target, ['t']), { 't/x:c': 'mine' });
});

test('backup and restore are given up by a signal, and nothing is left of them', async (t) => {
  const source = await open(t);
  await source.createTable('t');
  await write(source, { x: '1', y: '2' });
  const folder = temporaryFolder();
  const cells = source.cells.bind(source);
  const givingUp = new AbortController();
  const reason = new Error('enough');
  const { mock } = t.mock.method(source, 'cells', async function* abort(table: string, at: object) {
    for await (const one of cells(table, at)) {
      yield one;
      givingUp.abort(reason);
    }
  });
  const { signal } = givingUp;
  await assert.rejects(backup(source, { to: folder, signal }), reason);
  assert.deepEqual(readdirSync(folder), []);
  mock.restore();
  await backup(source, { to: folder });
  const target = await open(t);
  const create = target.createTable.bind(target);
  const later = new AbortController();
  t.mock.method(target, 'createTable', async (...given: Parameters<typeof create>) => {
    await create(...given);
    later.abort(reason);
  });
  await assert.rejects(restore(target, { from: folder, signal: later.signal }), reason);
  await assert.rejects(target.storedName('t'), { code: 'TABLE_NOT_FOUND' });
});

test('a single file keeps nothing for a next backup, and says so', async (t) => {
  const source = await open(t);
  const to = path.join(temporaryFolder(), 'one.backup');
  await assert.rejects(backup(source, { to, keepMs: 1 }), {
    code: 'INVALID_ARGUMENT',
    message: `keepMs keeps what the next backup into a folder needs, and ${to} is a single file`,
  });
  assert.ok(!existsSync(to));
});

test('after a collection the next backup is a full one, unless what it needs is kept', async (t) => {
  const source = await open(t);
  await source.createTable('t');
  const folder = temporaryFolder();
  const report = async (keepMs?: number): Promise<string> => {
    for (const value of ['1', '2', '3']) await write(source, { x: value });
    await source.collectGarbage({ messageLifetimeMs: 1 });
    const { from, whyFull = '' } = await backup(source, { to: folder, keepMs });
    return `${from === 0 ? 'full' : 'changes'} ${whyFull.replace(/\d+/, 'S')}`.trim();
  };
  assert.deepEqual(
    [await report(), await report(60_000), await report(60_000), await report()],
    ['full', 'full changes since S have been collected', 'changes', 'changes'],
  );
  await backup(source, { to: folder, full: true });
  const { percolator } = await restored(t, folder);
  assert.deepEqual(await contentOf(percolator, ['t']), { 't/x:c': '3' });
});

test('a damaged file is refused in a sentence, and nothing is written', async (t) => {
  const source = await open(t);
  await source.createTable('t');
  const folder = temporaryFolder();
  for (const value of ['first', 'second', 'third']) {
    await write(source, { x: value, y: value });
    await backup(source, { to: folder });
  }
  const files = readdirSync(folder).toSorted();
  assert.equal(files.length, 3);
  const harm: [string, (file: string) => void, RegExp][] = [
    ['a bit', flipOneBit, /cannot be used: line 3 is not what was written/],
    [
      'its end',
      (file) => truncateSync(file, readFileSync(file).length - 5),
      /has no end: it was cut off/,
    ],
    [
      'a line',
      (file) => edit(file, (lines) => lines.toSpliced(2, 1)),
      /line 3 is not what was written/,
    ],
    [
      'the order',
      (file) => edit(file, ([a = '', b = '', ...c]) => [b, a, ...c]),
      /line 1 is not what was/,
    ],
    [
      'all',
      (file) => writeFileSync(file, ''),
      /has no end: it was cut off after 0 lines|is no backup/,
    ],
    [
      'another file',
      (file) => copyFileSync(path.join(import.meta.dirname, 'index.ts'), file),
      /line 1 is not/,
    ],
    [
      'its name',
      (file) => renameSync(file, `${file}.old`),
      /cannot be restored|does not go on|no backup/,
    ],
  ];
  for (const name of files) {
    for (const [what, damage, sentence] of harm) {
      const copy = temporaryFolder();
      for (const one of files) copyFileSync(path.join(folder, one), path.join(copy, one));
      damage(path.join(copy, name));
      const target = await open(t);
      const wanted = name === files.at(-1) && what === 'its name' ? { at: 1e9 } : {};
      const ask = restore(target, { from: copy, ...wanted });
      if (what === 'its name' && name !== files[0] && name !== files.at(-1)) {
        // The series ends before the missing file: that is a backup, too, if it is asked for.
        const [, last = ''] = /^0+-0*(\d+)\.backup$/.exec(files[0] ?? '') ?? [];
        await assert.rejects(ask, {
          code: 'INVALID_ARGUMENT',
          message: new RegExp(
            `cannot be restored to its last backup, up to \\d+: one that leads to it is missing, and ${last} is as far as the others reach$`,
          ),
        });
        const at = Number(last);
        assert.deepEqual((await restore(target, { from: copy, at })).tables, ['t']);
        continue;
      }
      await assert.rejects(ask, sentence, `${what} of ${name}`);
      await assert.rejects(target.storedName('t'), { code: 'TABLE_NOT_FOUND' });
    }
  }
});

function flipOneBit(file: string): void {
  const bytes = readFileSync(file);
  const at = bytes.indexOf('"value"');
  const target = at < 0 ? bytes.length - 1 : at + 9;
  bytes.writeUInt8(bytes.readUInt8(target) ^ 1, target);
  writeFileSync(file, bytes);
}

function edit(file: string, change: (lines: readonly string[]) => readonly string[]): void {
  writeFileSync(file, change(readFileSync(file, 'utf8').split('\n')).join('\n'));
}

test('a backup that fails leaves no file, and one that restores into a table in use nothing', async (t) => {
  const source = await open(t);
  await source.createTable('t');
  await source.createTable('u');
  await write(source, { x: '1' });
  const folder = temporaryFolder();
  const file = path.join(folder, 'one.backup');
  await backup(source, { to: file });
  const target = await open(t);
  await target.createTable('u');
  await assert.rejects(
    restore(target, { from: file }),
    /table u exists: restore into another database/,
  );
  await assert.rejects(target.storedName('t'), { code: 'TABLE_NOT_FOUND' });
  await assert.rejects(backup(target, { to: path.join(folder, 'missing', 'x.backup') }), {
    code: 'STORE_REFUSED',
  });
  await assert.rejects(
    restore(target, { from: path.join(folder, 'missing') }),
    /there is no backup/,
  );
  await source.close();
  await assert.rejects(backup(source, { to: path.join(folder, 'two.backup') }), {
    code: 'STORE_CLOSED',
  });
  assert.deepEqual(readdirSync(folder), ['one.backup']);
  const series = temporaryFolder();
  await backup(target, { to: series });
  const other = await open(t);
  await assert.rejects(backup(other, { to: series }), /is of the database .* give another folder/);
});

/** Counts its runs, and copies what it sees. */
function copier(name: string, runs: string[]): Observer {
  return {
    name,
    table: 't',
    column: 'seen',
    run: async (transaction, { row }) => {
      const value = await transaction.get({ table: 't', row, column: 'seen' });
      runs.push(
        `${name} ${row} ${value === undefined ? 'deleted' : Buffer.from(value).toString()}`,
      );
      transaction.set({ table: 't', row, column: name }, value ?? 'deleted');
    },
  };
}

async function runAll(
  percolator: Percolator,
  names: readonly string[],
): Promise<readonly string[]> {
  const runs: string[] = [];
  const worker = percolator.startWorker(names.map((name) => copier(name, runs)));
  await worker.idle();
  await worker.stop();
  return runs.toSorted();
}

test('observers go on with what they had yet to see, deletes included, and with nothing else', async (t) => {
  const source = await open(t);
  await source.createTable('t', { observedColumns: ['seen'] });
  await write(source, { 'a:seen': '1', 'b:seen': '1', 'c:seen': '1', 'd:seen': '1' });
  assert.equal((await runAll(source, ['one', 'two'])).length, 8);
  const folder = temporaryFolder();
  await backup(source, { to: folder });
  const quiet = await restored(t, folder);
  assert.deepEqual(await runAll(quiet.percolator, ['one', 'two']), []);
  assert.equal(quiet.report.pending, 0);
  for await (const finding of await fsck(quiet.percolator.store)) assert.fail(finding.sentence);
  await write(source, { 'b:seen': '2', 'c:seen': undefined, 'e:seen': '2' });
  await backup(source, { to: folder });
  const late = await restored(t, folder);
  const wanted = ['b 2', 'c deleted', 'e 2'].flatMap((one) => [`one ${one}`, `two ${one}`]);
  assert.equal(late.report.pending, 3);
  assert.deepEqual(await runAll(late.percolator, ['one', 'two']), wanted.toSorted());
  const again = await restored(t, folder, { observers: 'again' });
  assert.equal((await runAll(again.percolator, ['one'])).length, 4);
  const content = await contentOf(late.percolator, ['t']);
  await runAll(source, ['one', 'two']);
  assert.deepEqual(content, await contentOf(source, ['t']));
});

test('of two observers, the one whose run was not committed runs, also if it was meanwhile', async (t) => {
  const source = await open(t);
  await source.createTable('t', { observedColumns: ['seen'] });
  await write(source, { 'a:seen': '1' });
  const hold = Promise.withResolvers<void>();
  const runs: string[] = [];
  const slow = copier('two', runs);
  const worker = source.startWorker([
    copier('one', runs),
    {
      ...slow,
      run: async (...given) => {
        await hold.promise;
        await slow.run(...given);
      },
    },
  ]);
  while (!runs.includes('one a 1')) await new Promise((resolve) => setTimeout(resolve, 5));
  await source.settled();
  while ((await contentOf(source, ['t']))['t/a:one'] === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const folder = temporaryFolder();
  // The run of the second observer ends between the snapshot and the look at notifications.
  const read = source.cells.bind(source);
  Object.defineProperty(source, 'cells', {
    value: async function* late(...given: Parameters<typeof read>) {
      yield* read(...given);
      hold.resolve();
      await worker.idle();
    },
  });
  await backup(source, { to: folder });
  await worker.stop();
  assert.ok(runs.includes('two a 1'));
  const { percolator, report } = await restored(t, folder);
  assert.equal(report.pending, 1);
  assert.ok((await runAll(percolator, ['one', 'two'])).includes('two a 1'));
});

test('a folder moves to another store, and back', async (t) => {
  const folder = temporaryFolder();
  await using source = await openPercolator({ folder: path.join(folder, 'data') });
  await source.createTable('t', { observedColumns: ['seen'], splits: ['row 5'] });
  for (let i = 0; i < 10; i++) {
    await source.transact(async (transaction) => {
      for (let j = 0; j < 100; j++) transaction.set(cell(`row ${i} ${j}:seen`), `${i} ${j}`);
    });
  }
  await backup(source, { to: path.join(folder, 'backups') });
  const { percolator } = await restored(t, path.join(folder, 'backups'));
  await backup(percolator, { to: path.join(folder, 'back') });
  await using back = await openPercolator({ folder: path.join(folder, 'again') });
  await restore(back, { from: path.join(folder, 'back') });
  assert.deepEqual(await contentOf(back, ['t']), await contentOf(source, ['t']));
  assert.ok(existsSync(path.join(folder, 'backups')));
  rmSync(path.join(folder, 'backups'), { recursive: true });
});

test('of two backups into one file at once, one is that file, and the other one is refused', async (t) => {
  const source = await open(t);
  await source.createTable('t');
  await write(source, { x: 'x'.repeat(2 ** 19), y: '1' });
  const folder = temporaryFolder();
  const file = path.join(folder, 'one.backup');
  const both = await Promise.allSettled([1, 2].map(() => backup(source, { to: file })));
  const refused = both.find((one) => one.status === 'rejected');
  assert.equal(both.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.match(String(refused?.reason), /replaces no file/);
  const { percolator } = await restored(t, file);
  assert.deepEqual(await contentOf(percolator, ['t']), await contentOf(source, ['t']));
  assert.deepEqual(readdirSync(folder), ['one.backup']);
});

test('of two backups into one folder at once, the later one is restored, and gone on from', async (t) => {
  const source = await open(t);
  await source.createTable('t');
  const folder = temporaryFolder();
  await write(source, { x: '1' });
  await backup(source, { to: folder });
  await write(source, { x: '2' });
  const cellsOf = source.changes.bind(source);
  let last = 0;
  Object.defineProperty(source, 'changes', {
    configurable: true,
    value: async function* slow(...given: Parameters<typeof cellsOf>) {
      Object.defineProperty(source, 'changes', { value: cellsOf });
      await write(source, { x: '3' });
      ({ to: last } = await backup(source, { to: folder })); // Begun, and ended, meanwhile.
      yield* cellsOf(...given);
    },
  });
  const { to: first } = await backup(source, { to: folder });
  assert.ok(first < last);
  const { percolator, report } = await restored(t, folder);
  assert.equal(report.at, last);
  assert.deepEqual(await contentOf(percolator, ['t']), { 't/x:c': '3' });
  const earlier = await restored(t, folder, { at: first });
  assert.deepEqual(await contentOf(earlier.percolator, ['t']), { 't/x:c': '2' });
  assert.equal((await backup(source, { to: folder })).from, last);
});

test('a full backup that takes the place of changes ends what was kept for these', async (t) => {
  const source = await open(t);
  await source.createTable('t');
  const folder = temporaryFolder();
  await backup(source, { to: folder, keepMs: 60_000 });
  const changesOf = source.changes.bind(source);
  Object.defineProperty(source, 'changes', {
    configurable: true,
    value: async function* again(...given: Parameters<typeof changesOf>) {
      Object.defineProperty(source, 'changes', { value: changesOf });
      await source.dropTable('t');
      await source.createTable('t');
      yield* changesOf(...given);
    },
  });
  const { to: before } = await backup(source, { to: folder });
  const { heldBackBy, horizon } = await source.collectGarbage({ messageLifetimeMs: 1 });
  assert.deepEqual([heldBackBy, horizon > before], [undefined, true]);
});

test('a file that another program has put there ends nothing', async (t) => {
  const source = await open(t);
  await source.createTable('t');
  const folder = temporaryFolder();
  const { to } = await backup(source, { to: folder });
  const digits = String(to).padStart(16, '0');
  for (const name of [`${digits}-${digits}`, `${digits}-${'0'.repeat(16)}`]) {
    writeFileSync(path.join(folder, `${name}.backup`), 'not ours');
  }
  assert.equal((await restored(t, folder)).report.at, to);
  assert.equal((await backup(source, { to: folder })).from, to);
});

test('what a killed backup has left is removed once its moment has been collected', async (t) => {
  const source = await open(t);
  await source.createTable('t');
  const folder = temporaryFolder();
  const { to } = await backup(source, { to: folder });
  const left = (name: string): string => path.join(folder, name);
  const file = (from: number, timestamp: number): string =>
    left([from, timestamp].map((one) => String(one).padStart(16, '0')).join('-'));
  for (const value of ['1', '2']) await write(source, { x: value });
  const now = await source.snapshot();
  const killed = `${file(to, to + 1)}.backup.${to + 1}.partial`;
  const going = `${file(to, now.startTimestamp)}.backup.${now.startTimestamp}.partial`;
  const others = [left('download.partial'), left(`notes.${to}.partial`)];
  for (const one of [killed, going, ...others]) writeFileSync(one, '');
  await source.collectGarbage({ messageLifetimeMs: 1 });
  await backup(source, { to: folder });
  assert.deepEqual([killed, going, ...others].map(existsSync), [false, true, true, true]);
  await now.close();
  const single = left('one.backup');
  writeFileSync(`${single}.${to}.partial`, '');
  writeFileSync(left(`other.backup.${to}.partial`), '');
  await backup(source, { to: single });
  assert.ok(!existsSync(`${single}.${to}.partial`));
});

test('a disk that is full or refuses says so in a sentence, and nothing is left', async (t) => {
  const source = await open(t);
  await source.createTable('t');
  const file = path.join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  for (const to of [file, path.join(file, 'x.backup'), path.join(file, 'missing', 'x.backup')]) {
    await assert.rejects(backup(source, { to }), {
      name: 'PercolatorError',
      code: 'STORE_REFUSED',
      message: /the backup .* cannot be written: /,
    });
  }
});
