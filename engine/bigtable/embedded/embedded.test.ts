/**
 * The embedded store is a Bigtable, and keeps its own promises about its folder: keys, reopening,
 * drops.
 */
import assert from 'node:assert/strict';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { open, type Database } from 'lmdb';
import type { Bigtable, RowMutation } from '../bigtable.ts';
import { conformanceSuite } from '../conformance.ts';
import { findTable, withDropping, type Catalog } from './catalog.ts';
import { openEmbedded } from './index.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';

/** The key of a cell with a plain row and qualifier has this many bytes besides them. */
const KEY_BYTES_FIXED = 17;
const ROW_LENGTH_MAX = 4026 - KEY_BYTES_FIXED - 'q'.length;

conformanceSuite('embedded', async () => openEmbedded({ folder: temporaryFolder() }));

conformanceSuite('embedded without fsync', async () =>
  openEmbedded({ folder: temporaryFolder(), fsync: false }),
);

// The cache has room for a few rows only, so that some are evicted and others not.
conformanceSuite('embedded with a cache of rows', async () =>
  openEmbedded({ folder: temporaryFolder(), fsync: false, rowCacheBytes: 5_000 }),
);

async function openWithTable(folder: string): Promise<Bigtable> {
  const store = await openEmbedded({ folder });
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

test('looking for a key that is too long to be stored finds nothing', async () => {
  await using store = await openWithTable(temporaryFolder());
  await store.mutateRows([setRow('r')]);
  const long = 'r'.repeat(20_000);
  const anyOf = [{ family: 'data', qualifier: 'q'.repeat(16_000) }];
  assert.equal(await store.readRow('t', long, [{ family: 'data' }]), undefined);
  assert.equal(await store.readRow('t', 'r', anyOf), undefined);
  const { mutations } = setRow('r');
  assert.equal(
    await store.checkAndMutateRow({ table: 't', row: 'r', anyOf, ifNotFound: mutations }),
    false,
  );
  const filters = [{ family: 'data' }];
  assert.equal((await store.readRange('t', { end: long, limit: 9 }, filters)).length, 1);
  assert.equal((await store.readRange('t', { start: long, limit: 9 }, filters)).length, 0);
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

test('one process may open a folder twice; closing one leaves the other', async () => {
  const folder = temporaryFolder();
  const first = await openWithTable(folder);
  await using second = await openEmbedded({ folder });
  await first.mutateRows([setRow('a')]);
  await second.mutateRows([setRow('b')]);
  assert.deepEqual(await keysOf(first), ['a', 'b']);
  await first.close();
  await second.mutateRows([setRow('c')]);
  assert.deepEqual(await keysOf(second), ['a', 'b', 'c']);
});

test('the map of the file does not move while the file grows', async () => {
  const folder = temporaryFolder();
  await using store = await openWithTable(folder);
  const watched = open({ path: folder, noSubdir: false, overlappingSync: false });
  const mapBytes = (): number => (watched.getStats() as { readonly mapSize: number }).mapSize;
  const before = mapBytes();
  const value = Buffer.alloc(2 ** 20);
  const mutations = [{ kind: 'set', family: 'data', qualifier: 'q', timestamp: 1, value }] as const;
  await store.mutateRows([{ table: 't', row: 'r', mutations }]);
  const { size } = await stat(join(folder, 'data.mdb'));
  assert.ok(size > value.length, 'the file has grown');
  // Two threads that remap at the same time corrupt the process (environment.ts).
  assert.equal(mapBytes(), before);
  await watched.close();
});

test('a folder that cannot be opened is named in one sentence', async () => {
  const file = join(temporaryFolder(), 'file');
  await writeFile(file, 'not a folder');
  await assert.rejects(openEmbedded({ folder: join(file, 'store') }), {
    code: 'STORE_UNAVAILABLE',
    message: /the embedded store in .*file.* cannot be opened/,
  });
});

test('the next process that opens the store finishes an interrupted drop', async () => {
  const folder = temporaryFolder();
  {
    await using store = await openWithTable(folder);
    await store.mutateRows(Array.from({ length: 500 }, (_, i) => setRow(`r${i}`)));
  }
  // The state left by a process that dies after marking the table and before purging its cells.
  await inside(folder, async (_cells, catalogs) => {
    await catalogs.put('catalog', withDropping(catalogOf(catalogs), 't'));
  });
  {
    await using store = await openEmbedded({ folder });
    assert.deepEqual(await store.listTables(), []);
  }
  await inside(folder, async (cells, catalogs) => {
    assert.equal(cells.getCount(), 0);
    assert.deepEqual(catalogOf(catalogs).tables, []);
  });
});

test('a mutation sent for a table that is dropped and recreated meanwhile is refused', async () => {
  await using store = await openWithTable(temporaryFolder());
  const dropped = store.dropTable('t');
  const made = store.createTable('t', { families: ['lock', 'data'] });
  // Checked against the old table, applied after the new one was created.
  const sent = store.mutateRows([setRow('r')]);
  await assert.rejects(sent, { code: 'TABLE_NOT_FOUND' });
  await Promise.all([dropped, made]);
  assert.deepEqual(await keysOf(store), []);
});

test('a recreated table does not reuse the id of the dropped one', async () => {
  const folder = temporaryFolder();
  const ids: (number | undefined)[] = [];
  for (let i = 0; i < 2; i++) {
    await using store = await openWithTable(folder);
    await inside(folder, async (_, catalogs) => {
      ids.push(findTable(catalogOf(catalogs), 't')?.id);
    });
    await store.dropTable('t');
  }
  assert.deepEqual(ids, [1, 2]);
});

/** Opens the lmdb databases of the store. */
async function inside(
  folder: string,
  look: (cells: Database, catalogs: Database<Catalog, string>) => Promise<void>,
): Promise<void> {
  const root = open({ path: folder, noSubdir: false, pageSize: 8192, maxDbs: 4 });
  const catalogs: Database<Catalog, string> = root.openDB({ name: 'catalog', encoding: 'json' });
  await look(root.openDB({ name: 'cells', keyEncoding: 'binary', encoding: 'binary' }), catalogs);
  await root.close();
}

function catalogOf(catalogs: Database<Catalog, string>): Catalog {
  const catalog = catalogs.get('catalog');
  assert.ok(catalog);
  return catalog;
}
