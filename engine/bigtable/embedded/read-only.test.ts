/** A read-only store shows the writes of other processes, writes nothing, and creates nothing. */
import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { open } from 'lmdb';
import { PercolatorError } from '../../base/index.ts';
import { openEmbedded } from './index.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';

const CELL = { family: 'data', qualifier: 'q', timestamp: 1 } as const;
const ROW = {
  table: 't',
  row: 'r',
  mutations: [{ kind: 'set', ...CELL, value: Buffer.from('x') }],
} as const;

test('it shows tables and cells that another process creates meanwhile', async () => {
  const folder = temporaryFolder();
  await using store = await openEmbedded({ folder });
  await using reading = await openEmbedded({ folder, readOnly: true });
  assert.deepEqual(await reading.listTables(), []);
  await store.createTable('t', { families: ['data'] });
  assert.equal(await reading.readRow('t', 'r', [{ family: 'data' }]), undefined);
  await store.mutateRows([ROW]);
  assert.equal((await reading.readRow('t', 'r', [{ family: 'data' }]))?.cells.length, 1);
});

test('it refuses every mutation with READ_ONLY', async () => {
  const folder = temporaryFolder();
  await using store = await openEmbedded({ folder });
  await store.createTable('t', { families: ['data'] });
  await using reading = await openEmbedded({ folder, readOnly: true });
  const refused = { code: 'READ_ONLY' };
  const conditional = { ...ROW, anyOf: [], ifNotFound: ROW.mutations };
  await assert.rejects(reading.mutateRows([ROW]), refused);
  await assert.rejects(reading.checkAndMutateRow(conditional), refused);
  const [answer] = await reading.checkAndMutateRows([conditional]);
  assert.ok(answer instanceof PercolatorError && answer.code === 'READ_ONLY');
  await assert.rejects(reading.createTable('u', { families: ['data'] }), refused);
  await assert.rejects(reading.dropTable('t'), refused);
  assert.deepEqual(await reading.listTables(), ['t']);
});

test('a folder that is missing, empty, or not a store is refused, and left unchanged', async () => {
  const folder = temporaryFolder();
  const broken = join(folder, 'broken');
  const short = join(folder, 'short');
  const foreign = join(folder, 'foreign');
  for (const made of [broken, short]) await mkdir(made);
  await writeFile(join(broken, 'data.mdb'), 'not a page of lmdb '.repeat(1_000));
  await writeFile(join(short, 'data.mdb'), '');
  await open({ path: foreign, noSubdir: false }).close();
  const before = await readdir(folder, { recursive: true });
  for (const name of ['missing', '.', 'broken', 'short', 'foreign']) {
    const opening = openEmbedded({ folder: join(folder, name), readOnly: true });
    await assert.rejects(opening, { code: 'STORE_UNAVAILABLE' }, name);
  }
  assert.deepEqual(await readdir(folder, { recursive: true }), before);
});
