/**
 * A read-only store refuses mutations, writes nothing, and creates nothing. A writer that may not
 * write the lock is refused.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { hasCode } from '../../base/index.ts';
import { lockFolder } from './folder.ts';
import { openEmbedded } from './index.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';

const OTHER_USER = 65_534;
const CELL = { family: 'data', qualifier: 'q', timestamp: 1 } as const;
const ROW = {
  table: 't',
  row: 'r',
  mutations: [{ kind: 'set', ...CELL, value: Buffer.from('x') }],
} as const;

async function storeWithRow(): Promise<string> {
  const folder = temporaryFolder();
  await using store = await openEmbedded({ folder });
  await store.createTable('t', { families: ['data'] });
  await store.mutateRows([ROW]);
  return folder;
}

test('it refuses every mutation with READ_ONLY, and shows what there is', async () => {
  await using reading = await openEmbedded({ folder: await storeWithRow(), readOnly: true });
  const refused = { code: 'READ_ONLY' };
  const conditional = { ...ROW, anyOf: [], ifNotFound: ROW.mutations };
  await assert.rejects(reading.mutateRows([ROW]), refused);
  await assert.rejects(reading.checkAndMutateRow(conditional), refused);
  const [answer] = await reading.checkAndMutateRows([conditional]);
  assert.ok(hasCode(answer, 'READ_ONLY'));
  await assert.rejects(reading.createTable('u', { families: ['data'] }), refused);
  await assert.rejects(reading.dropTable('t'), refused);
  assert.deepEqual(await reading.listTables(), ['t']);
  assert.equal((await reading.readRow('t', 'r', [{ family: 'data' }]))?.cells.length, 1);
});

test('it changes no byte, of a store that was closed and of one that was killed', async () => {
  const folder = await storeWithRow();
  for (const isKilled of [false, true]) {
    if (isKilled) await rm(join(folder, 'store', 'index')); // What only a close is certain to write.
    const before = await bytesOf(folder);
    await using reading = await openEmbedded({ folder, readOnly: true });
    assert.equal((await reading.readRow('t', 'r', [{ family: 'data' }]))?.cells.length, 1);
    await reading.close();
    assert.deepEqual(await bytesOf(folder), before);
  }
});

test('a copy without the lock file can be read', async () => {
  const folder = await storeWithRow();
  await rm(join(folder, 'lock'));
  await using reading = await openEmbedded({ folder, readOnly: true });
  assert.deepEqual(await reading.listTables(), ['t']);
  assert.ok(!(await readdir(folder)).includes('lock'));
});

test('a folder that is missing, empty, or not a store is refused, and left unchanged', async () => {
  const folder = temporaryFolder();
  for (const [name, file, text] of [
    ['broken', '0000000001.log', 'not a group of a log '.repeat(1_000)],
    ['short', '0000000001.log', ''],
    ['locked', 'lock', 'not an empty database '.repeat(1_000)],
    ['old', 'data.mdb', 'pages of lmdb'],
  ] as const) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, file), text);
  }
  const before = await bytesOf(folder);
  const codes = { broken: 'STORE_DAMAGED' } as Record<string, string>;
  for (const name of ['missing', '.', 'broken', 'short', 'locked', 'old']) {
    const opening = openEmbedded({ folder: join(folder, name), readOnly: true });
    const code = codes[name] ?? 'STORE_REFUSED';
    await assert.rejects(opening, { code, message: /^the embedded store in/ }, name);
  }
  assert.deepEqual(await bytesOf(folder), before);
  // Nor does a writer take these three for an empty folder.
  for (const name of ['broken', 'locked', 'old']) {
    const opening = openEmbedded({ folder: join(folder, name) });
    await assert.rejects(opening, { code: codes[name] ?? 'STORE_REFUSED' }, name);
  }
});

async function bytesOf(folder: string): Promise<Map<string, string>> {
  const names = (await readdir(folder, { recursive: true })).toSorted();
  const files = names.map(async (name): Promise<[string, string]> => {
    const path = join(folder, name);
    if ((await stat(path)).isDirectory()) return [name, 'a folder'];
    return [name, (await readFile(path)).toString('hex')];
  });
  return new Map(await Promise.all(files));
}

test('a writer that may not write the lock is refused: its lock would not exclude another such writer', async (t) => {
  const folder = await storeWithRow();
  await chmod(folder, 0o755);
  await chmod(join(folder, 'lock'), 0o444);
  const canBeAsked = asUser(() => {
    if (!existsSync(join(folder, 'lock'))) return false;
    assert.throws(() => lockFolder(folder, { readOnly: false }), /lock cannot be written/);
    const unlock = lockFolder(folder, { readOnly: true });
    assert.ok(unlock !== undefined, 'it may read');
    unlock();
    return true;
  });
  if (!canBeAsked) t.skip('another user cannot reach the folder for temporary files');
});

/** Calls `run` as a user that file permissions bind: they do not bind root. */
function asUser(run: () => boolean): boolean {
  if (process.geteuid?.() !== 0) return run();
  process.seteuid?.(OTHER_USER);
  try {
    return run();
  } finally {
    process.seteuid?.(0);
  }
}
