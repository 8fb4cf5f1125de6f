/**
 * The embedded store is a Bigtable, and keeps its own promises about long keys, its folder,
 * reopening, drops and listeners.
 */
import assert from 'node:assert/strict';
import fs, { readdirSync } from 'node:fs';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Bigtable, RowMutation } from '../bigtable.ts';
import { conformanceSuite } from '../conformance.ts';
import { decorate } from '../decorate.ts';
import { type EmbeddedOptions, openEmbedded } from './index.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';

/** Bytes of a cell's key besides its row and qualifier, if these have no zero byte (keys.ts). */
const KEY_BYTES_FIXED = 17;
const ROW_LENGTH_MAX = 4026 - KEY_BYTES_FIXED - 'q'.length;

conformanceSuite('embedded', async () => openEmbedded({ folder: temporaryFolder() }));

conformanceSuite('embedded without fsync', async () =>
  openEmbedded({ folder: temporaryFolder(), fsync: false }),
);

conformanceSuite('a client of an embedded store', async () => {
  const folder = temporaryFolder();
  const owner = await openEmbedded({ folder });
  return closingBoth(await openEmbedded({ folder }), owner);
});

conformanceSuite('a client that has taken an embedded store over', async () => {
  const folder = temporaryFolder();
  const owner = await openEmbedded({ folder });
  const client = await openEmbedded({ folder });
  await owner.close();
  return client;
});

function closingBoth(store: Bigtable, owner: Bigtable): Bigtable {
  return decorate(store, {
    close: async () => {
      await store.close();
      await owner.close();
    },
  });
}

async function openWithTable(
  folder: string,
  options?: Pick<EmbeddedOptions, 'fsync'>,
): Promise<Bigtable> {
  const store = await openEmbedded({ folder, ...options });
  await store.createTable('t', { families: ['data'] });
  return store;
}

function setRow(row: string): RowMutation {
  const value = Buffer.from('x');
  return {
    table: 't',
    row,
    mutations: [{ kind: 'set', family: 'data', qualifier: 'q', timestamp: 1, value }],
  };
}

async function keysOf(store: Bigtable): Promise<string[]> {
  const rows = await store.readRange('t', { limit: 100_000 }, [{ family: 'data' }]);
  return rows.map((row) => row.key);
}

test('a key of 4,026 bytes is stored, read, checked, scanned and erased', async () => {
  await using store = await openWithTable(temporaryFolder());
  const row = 'r'.repeat(ROW_LENGTH_MAX);
  await store.mutateRows([setRow(row)]);
  for (const qualifier of ['q', undefined]) {
    const found = await store.readRow('t', row, [{ family: 'data', qualifier }]);
    assert.equal(found?.cells.length, 1);
  }
  assert.deepEqual(await keysOf(store), [row]);
  const erase = { kind: 'erase', family: 'data', qualifier: 'q', from: 0, to: 5 } as const;
  const anyOf = [{ family: 'data' }];
  assert.ok(await store.checkAndMutateRow({ table: 't', row, anyOf, ifFound: [erase] }));
  assert.deepEqual(await keysOf(store), []);
});

test('a key of 4,027 bytes is refused with a sentence, and none of its call is applied', async () => {
  await using store = await openWithTable(temporaryFolder());
  const tooLong = setRow('r'.repeat(ROW_LENGTH_MAX + 1));
  const refusal = { code: 'INVALID_ARGUMENT', message: /has 4027 bytes; .* at most 4026 bytes/ };
  await assert.rejects(store.mutateRows([setRow('a'), tooLong]), refusal);
  await assert.rejects(
    store.checkAndMutateRow({ ...tooLong, anyOf: [], ifNotFound: tooLong.mutations }),
    refusal,
  );
  assert.deepEqual(await keysOf(store), []);
});

test('reading a key that is too long to be stored finds nothing; a check of it is refused', async () => {
  await using store = await openWithTable(temporaryFolder());
  await store.mutateRows([setRow('r')]);
  const long = 'r'.repeat(20_000);
  const anyOf = [{ family: 'data', qualifier: 'q'.repeat(16_000) }];
  assert.equal(await store.readRow('t', long, [{ family: 'data' }]), undefined);
  assert.equal(await store.readRow('t', 'r', anyOf), undefined);
  // A transaction whose prewrite looks for a record that cannot be written could not be committed.
  const { mutations } = setRow('r');
  await assert.rejects(
    store.checkAndMutateRow({ table: 't', row: 'r', anyOf, ifNotFound: mutations }),
    { code: 'INVALID_ARGUMENT' },
  );
  const filters = [{ family: 'data' }];
  assert.equal((await store.readRange('t', { end: long, limit: 9 }, filters)).length, 1);
  assert.equal((await store.readRange('t', { start: long, limit: 9 }, filters)).length, 0);
});

test('a range has a limit that is a whole number, or none', async () => {
  await using store = await openWithTable(temporaryFolder());
  await store.mutateRows([setRow('a'), setRow('b'), setRow('c')]);
  const filters = [{ family: 'data' }];
  await assert.rejects(store.readRange('t', { limit: 1.5 }, filters), { code: 'INVALID_ARGUMENT' });
  assert.equal((await store.readRange('t', { limit: Infinity }, filters)).length, 3);
});

test('written data exists after reopening, with tables and splits', async () => {
  const folder = temporaryFolder();
  {
    await using store = await openWithTable(folder);
    await store.createTable('split', { families: ['data'], splits: ['n', 'c'] });
    await store.mutateRows([setRow('r')]);
  }
  await using store = await openEmbedded({ folder });
  assert.deepEqual(await store.listTables(), ['t', 'split']);
  assert.deepEqual(await store.sampleRowKeys('split'), ['c', 'n']);
  assert.deepEqual(await keysOf(store), ['r']);
});

test('a table that is there with other splits is refused, in a sentence with both lists', async () => {
  await using store = await openWithTable(temporaryFolder());
  const splits = Array.from({ length: 12 }, (_, i) => String.fromCodePoint(97 + i));
  await assert.rejects(store.createTable('t', { families: ['data'], splits }), {
    code: 'TABLE_MISMATCH',
    message:
      'table t exists with families data and no splits; asked for families data and splits at ' +
      '"a", "b", "c", "d", "e", "f", "g", "h", "i", "j" and 2 more',
  });
});

test('a store whose folder was given relative to the working directory stays where it was opened', async () => {
  const [home, elsewhere] = [temporaryFolder(), temporaryFolder()];
  const before = process.cwd();
  process.chdir(home);
  try {
    await (await openWithTable('store')).close();
    await using store = await openEmbedded({ folder: 'store' });
    process.chdir(elsewhere);
    await store.mutateRows([setRow('r')]); // Begins a new file.
    await using client = await openEmbedded({ folder: join(home, 'store') });
    assert.deepEqual(await keysOf(client), ['r']);
  } finally {
    process.chdir(before);
  }
  assert.deepEqual(readdirSync(elsewhere), []);
  await using again = await openEmbedded({ folder: join(home, 'store') });
  assert.deepEqual(await keysOf(again), ['r']);
});

test('a folder that cannot be opened is named in one sentence', async () => {
  const file = join(temporaryFolder(), 'file');
  await writeFile(file, 'not a folder');
  await assert.rejects(openEmbedded({ folder: join(file, 'store') }), {
    code: 'STORE_REFUSED',
    message: /the embedded store in .*file.* cannot be opened/,
  });
});

test('a file, a dangling link and a folder without permission are refused in words', async () => {
  const home = temporaryFolder();
  await writeFile(join(home, 'file'), 'not a folder');
  await symlink(join(home, 'nowhere'), join(home, 'link'));
  await mkdir(join(home, 'closed'), { mode: 0o000 });
  await mkdir(join(home, 'inner', 'lock'), { recursive: true });
  await writeFile(join(home, 'lock'), 'not an empty database '.repeat(1_000));
  await chmod(home, 0o755);
  const isRoot = process.geteuid?.() === 0; // Permissions do not bind root.
  for (const [name, reason, readOnly] of [
    ['file', /: it is a file and no folder$/],
    ['file', /: it is a file and no folder$/, true],
    ['link', /: it is a link to .*nowhere, which does not exist$/],
    ['link', /: it is a link to .*nowhere, which does not exist$/, true],
    ['closed', /: this process must be able to read and write .*lock, but has no permission$/],
    ['inner', /lock must be a file, but is a folder$/],
    ['closed', /: EACCES: permission denied, scandir/, true],
    ['.', /lock is not the empty file that it must be: remove it while no process has the store/],
  ] as const) {
    if (isRoot && name === 'closed') process.seteuid?.(65_534);
    try {
      const opening = openEmbedded({ folder: join(home, name), readOnly: readOnly === true });
      await assert.rejects(opening, { message: reason }, name);
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  }
});

test('mutations apply in the order sent, also around a drop', async () => {
  await using store = await openWithTable(temporaryFolder());
  const answers = await Promise.allSettled([
    store.mutateRows([setRow('before')]),
    store.dropTable('t'),
    store.mutateRows([setRow('between')]),
    store.createTable('t', { families: ['lock', 'data'] }),
    store.mutateRows([setRow('after')]),
  ]);
  const codes = answers.map((answer) =>
    answer.status === 'rejected' ? (answer.reason as { code: unknown }).code : 'done',
  );
  assert.deepEqual(codes, ['done', 'done', 'TABLE_NOT_FOUND', 'done', 'done']);
  assert.deepEqual(await keysOf(store), ['after']);
});

test('rows of a dropped table are in no later table, also after reopening', async () => {
  const folder = temporaryFolder();
  for (let life = 0; life < 3; life++) {
    await using store = await openWithTable(folder);
    assert.deepEqual(await keysOf(store), []);
    await store.mutateRows([setRow(`life ${life}`)]);
    await store.dropTable('t');
  }
});

test('without fsync, a small group is written at once, and only a large one by a thread', async (t) => {
  await using store = await openWithTable(temporaryFolder(), { fsync: false });
  const [here, elsewhere] = [t.mock.method(fs, 'writeSync'), t.mock.method(fs, 'write')];
  await store.mutateRows([setRow('a')]);
  assert.deepEqual([here.mock.callCount(), elsewhere.mock.callCount()], [1, 0]);
  const set = { kind: 'set', family: 'data', qualifier: 'q', timestamp: 1 } as const;
  const value = Buffer.alloc(1_000_000, 1);
  await store.mutateRows([{ table: 't', row: 'b', mutations: [{ ...set, value }] }]);
  assert.equal(here.mock.callCount(), 1);
  assert.ok(elsewhere.mock.callCount() >= 1);
});

test('onChange tells of each durable change, until the listening ends', async () => {
  await using store = await openWithTable(temporaryFolder());
  let [first, second] = [0, 0];
  const endFirst = store.onChange?.(() => first++);
  store.onChange?.(() => second++);
  await store.mutateRows([setRow('a')]);
  assert.deepEqual([first, second], [1, 1]);
  endFirst?.();
  endFirst?.(); // Twice is harmless.
  await store.mutateRows([setRow('b')]);
  assert.deepEqual([first, second], [1, 2]);
});

test('a listener is told of the tables in which cells were set, and not of those in which they were erased', async () => {
  const folder = temporaryFolder();
  await using store = await openWithTable(folder);
  await using client = await openEmbedded({ folder });
  await store.createTable('u', { families: ['data'] });
  await store.mutateRows([setRow('a')]);
  const told: (readonly string[] | undefined)[] = [];
  store.onChange?.((tables) => told.push(tables && [...tables]));
  const heard = Promise.withResolvers<ReadonlySet<string> | undefined>();
  client.onChange?.((tables) => heard.resolve(tables));
  await client.listTables(); // Then the owner knows of the client's listener.
  const erase = { kind: 'erase', family: 'data', qualifier: 'q', from: 0, to: 9 } as const;
  await Promise.all([
    store.mutateRows([{ table: 't', row: 'a', mutations: [erase] }]),
    store.mutateRows([{ ...setRow('b'), table: 'u' }]),
  ]);
  await store.mutateRows([{ ...setRow('b'), mutations: [erase] }]);
  await store.mutateRows([setRow('c'), { ...setRow('c'), table: 'u' }]);
  assert.deepEqual(told, [['u'], ['t', 'u']]);
  assert.deepEqual(await heard.promise, new Set(['u']));
});

test('no listener of any process is told of what was set silently', async () => {
  const folder = temporaryFolder();
  await using store = await openWithTable(folder);
  await using client = await openEmbedded({ folder });
  await store.createTable('u', { families: ['data'] });
  const told: (readonly string[] | undefined)[] = [];
  store.onChange?.((tables) => told.push(tables && [...tables]));
  const heard = Promise.withResolvers<ReadonlySet<string> | undefined>();
  client.onChange?.((tables) => heard.resolve(tables));
  await client.listTables(); // Then the owner knows of the client's listener.
  await store.mutateRows([{ ...setRow('a'), silent: true }]);
  await client.mutateRows([{ ...setRow('b'), silent: true }]);
  await store.mutateRows([
    { ...setRow('c'), silent: true },
    { ...setRow('c'), table: 'u' },
  ]);
  assert.deepEqual(told, [[], [], ['u']]);
  assert.deepEqual(await heard.promise, new Set(['u']));
});

test('listeners are not told of mutations that change nothing of an absent row', async () => {
  await using store = await openWithTable(temporaryFolder());
  let told = 0;
  store.onChange?.(() => told++);
  const { table, row, mutations } = setRow('absent');
  const anyOf = [{ family: 'data' }];
  assert.ok(!(await store.checkAndMutateRow({ table, row, anyOf, ifFound: mutations })));
  await store.mutateRows([{ table, row, mutations: [] }]);
  assert.equal(told, 0);
});

test('a listener that ends itself and listens anew is told of each change once, and one that it has ended is not told', async () => {
  await using store = await openWithTable(temporaryFolder());
  let [told, other] = [0, 0];
  const listen = (): void => {
    if (told > 8) return; // Otherwise the test would hang instead of failing.
    const end: (() => void) | undefined = store.onChange?.(() => {
      told++;
      end?.();
      endOther?.();
      listen();
    });
  };
  listen();
  const endOther = store.onChange?.(() => other++);
  await store.mutateRows([setRow('a')]);
  assert.deepEqual([told, other], [1, 0]);
  await store.mutateRows([setRow('b')]);
  assert.deepEqual([told, other], [2, 0]);
});

test('a listener that throws costs neither the change that it is told of, nor other listeners', async () => {
  const folder = temporaryFolder();
  {
    await using store = await openEmbedded({ folder });
    await using client = await openEmbedded({ folder });
    for (const one of [store, client]) {
      one.onChange?.(() => {
        throw new Error('mine');
      });
    }
    let told = 0;
    const isTold = Promise.withResolvers<void>();
    store.onChange?.(() => told++);
    client.onChange?.(() => isTold.resolve());
    await client.listTables(); // Then the owner knows of the client's listener.
    await store.createTable('a', { families: ['f'] });
    await store.createTable('b', { families: ['f'] });
    assert.equal(told, 2);
    await isTold.promise;
    assert.deepEqual(await client.listTables(), ['a', 'b']);
  }
  await using again = await openEmbedded({ folder });
  assert.deepEqual(await again.listTables(), ['a', 'b']);
});
