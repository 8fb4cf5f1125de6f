/**
 * The row cache has nothing that its snapshot lacks, whichever process has written, and however
 * that ended.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Bigtable } from '../bigtable.ts';
import { type CachedRow, wholeRow } from './cached-row.ts';
import type { TableEntry } from './catalog.ts';
import { openEmbedded } from './index.ts';
import { cellKey, columnPrefix, familyPrefix, rowPrefix, tablePrefix } from './keys.ts';
import { RowCache } from './row-cache.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';

const TABLE: TableEntry = { id: 1, name: 't', families: ['f'], splits: [], dropping: false };
const ROWS = ['a', 'b', 'c'] as const;
const MUCH = 1_000_000;

function whole(row: string, bytes = 1): CachedRow {
  const prefix = rowPrefix(tablePrefix(TABLE.id), row);
  const keys = [cellKey(columnPrefix(familyPrefix(prefix, 0), 'q'), 1)];
  const cached = wholeRow(TABLE, { prefix, keys, values: [Buffer.alloc(bytes, row)] });
  assert.ok(cached);
  return cached;
}

/** A cache as of five groups, with every row. */
function filled(): RowCache {
  const cache = new RowCache(MUCH);
  assert.ok(cache.follow(5));
  for (const row of ROWS) cache.put(TABLE, row, whole(row));
  return cache;
}

function kept(cache: RowCache): string {
  return ROWS.filter((row) => cache.get(TABLE, row) !== undefined).join('');
}

function writeGroup(cache: RowCache, group: number, ...rows: readonly string[]): void {
  cache.begin(group);
  for (const row of rows) cache.write(TABLE, row);
}

test('our own groups remove the rows they wrote from the cache when they are committed', () => {
  const cache = filled();
  writeGroup(cache, 6, 'a');
  assert.equal(kept(cache), 'abc');
  cache.committed();
  assert.equal(kept(cache), 'bc');
  writeGroup(cache, 7, 'c');
  cache.committed();
  assert.ok(cache.follow(7));
  assert.equal(kept(cache), 'b');
});

test('a group of another process clears the cache, at any place among ours', () => {
  for (const ours of [6, 7, 8]) {
    const cache = filled();
    for (const group of [6, 7, 8]) {
      if (group === ours) continue;
      writeGroup(cache, group, 'a');
      cache.committed();
    }
    assert.ok(cache.follow(8));
    assert.equal(kept(cache), '', `${ours} was another process's`);
    cache.put(TABLE, 'a', whole('a'));
    assert.equal(kept(cache), 'a');
  }
});

test('a read bypasses the cache while it is unknown whether the newest group is ours', () => {
  const cache = filled();
  writeGroup(cache, 6, 'a');
  assert.ok(cache.follow(5));
  assert.ok(!cache.follow(6));
  assert.equal(kept(cache), 'abc');
  cache.committed();
  assert.ok(cache.follow(6));
  assert.equal(kept(cache), 'bc');
});

test('if our group has failed, a group with the same number belongs to another process', () => {
  const cache = filled();
  writeGroup(cache, 6, 'a');
  cache.failed();
  assert.equal(kept(cache), '');
  assert.ok(cache.follow(6));
  assert.equal(kept(cache), '');
});

test('a group that is overtaken before it is known to be committed leaves no rows', () => {
  const cache = filled();
  writeGroup(cache, 7, 'a');
  assert.ok(cache.follow(7), '6 belongs to another process, so the cache restarts empty');
  cache.put(TABLE, 'a', whole('a'));
  cache.committed();
  assert.ok(cache.follow(7));
  assert.equal(kept(cache), 'a');
  assert.ok(cache.follow(8));
  assert.equal(kept(cache), '');
});

test('it evicts the least recently used row, and never exceeds its size', () => {
  const cache = new RowCache(3_000);
  assert.ok(cache.follow(1));
  for (const row of ROWS) cache.put(TABLE, row, whole(row, 500));
  assert.equal(kept(cache), 'bc');
  cache.get(TABLE, 'b');
  cache.put(TABLE, 'a', whole('a', 500));
  assert.equal(kept(cache), 'ab');
  cache.put(TABLE, 'c', whole('c', 5_000));
  assert.equal(kept(cache), 'ab');
});

for (const otherBytes of [0, MUCH]) {
  test(`two stores of one folder always see what the other has resolved, the other with ${otherBytes} bytes`, () =>
    takeTurns(otherBytes));
}

async function takeTurns(otherBytes: number): Promise<void> {
  const folder = temporaryFolder();
  const open = (rowCacheBytes: number): Promise<Bigtable> =>
    openEmbedded({ folder, fsync: false, rowCacheBytes });
  await using other = await open(otherBytes);
  await using caching = await open(MUCH);
  await caching.createTable('t', { families: ['f'] });
  const read = async (store: Bigtable, row: string): Promise<number> => {
    const found = await store.readRow('t', row, [{ family: 'f', qualifier: 'q', versions: 1 }]);
    return Number(Buffer.from(found?.cells[0]?.value ?? '').toString());
  };
  for (let n = 1; n <= 300; n++) {
    const [writer, row] = [n % 7 < 2 ? other : caching, ROWS[n % 3] ?? 'a'];
    const value = Buffer.from(String(n));
    const set = { kind: 'set', family: 'f', qualifier: 'q', timestamp: n, value } as const;
    const writing = writer.mutateRows([{ table: 't', row, mutations: [set] }]);
    let isWritten = false;
    void writing.then(() => (isWritten = true));
    // Turn by turn until the write is resolved, and two turns after it.
    for (let after = 0; after < 2; after += isWritten ? 1 : 0) {
      const isBefore = !isWritten;
      const found = await Promise.all([read(caching, row), read(other, row)]);
      for (const one of found) assert.ok(one === n || (isBefore && one === Math.max(0, n - 3)));
      await new Promise(setImmediate);
    }
  }
}

test('a read-only store uses a cache once a process counts groups, and not before', async () => {
  const folder = temporaryFolder();
  const value = Buffer.from('new');
  const set = { kind: 'set', family: 'f', qualifier: 'q', timestamp: 1, value } as const;
  const filters = [{ family: 'f' }];
  await using writer = await openEmbedded({ folder, fsync: false });
  await writer.createTable('t', { families: ['f'] });
  await using reader = await openEmbedded({ folder, readOnly: true, rowCacheBytes: MUCH });
  assert.equal(await reader.readRow('t', 'a', filters), undefined);
  await writer.mutateRows([{ table: 't', row: 'a', mutations: [set] }]);
  assert.equal((await reader.readRow('t', 'a', filters))?.cells.length, 1);
  await using caching = await openEmbedded({ folder, fsync: false, rowCacheBytes: MUCH });
  for (let timestamp = 2; timestamp < 9; timestamp++) {
    await writer.mutateRows([{ table: 't', row: 'a', mutations: [{ ...set, timestamp }] }]);
    for (const store of [reader, caching]) {
      assert.equal((await store.readRow('t', 'a', filters))?.cells.length, timestamp);
    }
  }
});

test('a cache size that is no number of bytes is refused in a sentence', async () => {
  const folder = temporaryFolder();
  for (const rowCacheBytes of [-1, 0.5, Number.NaN]) {
    await assert.rejects(openEmbedded({ folder, rowCacheBytes }), {
      code: 'INVALID_ARGUMENT',
      message: `rowCacheBytes must be a whole number of at least 0, not ${rowCacheBytes}`,
    });
  }
});
