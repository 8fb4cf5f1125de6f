/**
 * Where the owner of a folder listens when its path is long, or its disk holds no private socket;
 * and what a power cut, a copy of the folder or a clone of its volume leaves in the file that says
 * where.
 */
import assert from 'node:assert/strict';
import fs, {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { mock, test } from 'node:test';
import type { Bigtable } from '../../bigtable.ts';
import { lockFolder, storeIn } from '../folder.ts';
import { openEmbedded } from '../index.ts';
import { openPatiently } from '../open-embedded.ts';
import { temporaryFolder } from '../../../testing/temporary-folder.ts';
import { openWithTable, setRow } from '../../../testing/small-rows.ts';
import { OtherProcess } from './other-process.fixture.ts';
import { ownerOf } from './connection.ts';
import { listenIn, socketOf } from './socket-place.ts';

const IMPATIENT = { attachMs: 300, requestMs: 300 };

test('a folder whose path is too long for a socket is shared too', async () => {
  const folder = folderWithLongPath();
  let path: string;
  {
    await using store = await openWithTable(folder);
    path = socketOf(storeOf(folder));
    await using other = await OtherProcess.open(folder);
    await other.call('mutateRows', [setRow('r')]);
    assert.equal((await store.readRow('t', 'r', [{ family: 'data' }]))?.key, 'r');
  }
  assert.ok(!readdirSync(storeOf(folder)).some((name) => name.startsWith('socket')));
  assert.ok(!existsSync(dirname(path)));
});

test('a folder whose path is too long for a socket is shared too if TMPDIR is relative', async () => {
  const folder = folderWithLongPath();
  const before = process.cwd();
  const { TMPDIR } = process.env;
  process.chdir(temporaryFolder());
  process.env['TMPDIR'] = '.';
  await using _ = await openWithTable(folder).finally(() => {
    process.chdir(before);
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
  });
  await using client = await openEmbedded({ folder, own: false });
  assert.deepEqual(await client.listTables(), ['t']);
});

test('the owner of a folder whose sockets cannot be made private listens elsewhere', async (t) => {
  const folder = temporaryFolder();
  const server = createServer();
  t.after(() => server.close());
  // As if the file system refused `chmod`, which some do for sockets.
  server.once('listening', () => rmSync(join(folder, 'socket')));
  const remove = await listenIn(folder, server);
  const path = socketOf(folder);
  assert.notEqual(path, join(folder, 'socket'));
  assert.equal(server.address(), path);
  server.close();
  remove();
  assert.deepEqual(readdirSync(folder), []);
  assert.ok(!existsSync(dirname(path)));
});

test('an owner that finds socket-at emptied by a power cut removes nothing from its working folder', async () => {
  const folder = await newStore();
  writeFileSync(join(storeOf(folder), 'socket-at'), '');
  const workplace = temporaryFolder();
  writeFileSync(join(workplace, 'precious'), '');
  const before = process.cwd();
  process.chdir(workplace);
  try {
    await (await openEmbedded({ folder })).close();
  } finally {
    process.chdir(before);
  }
  assert.deepEqual(readdirSync(workplace), ['precious']);
  assert.ok(!existsSync(join(storeOf(folder), 'socket-at')));
});

test('a client that finds socket-at emptied by a power cut waits for an owner', async () => {
  const folder = await newStore();
  writeFileSync(join(storeOf(folder), 'socket-at'), '');
  await assert.rejects(openPatiently({ folder, own: false }, IMPATIENT), {
    code: 'STORE_UNAVAILABLE',
    message: /no process that owns it answers/,
  });
});

test('a socket-at that cannot be read costs no data, and the error names it', async () => {
  const folder = await newStore();
  mkdirSync(join(storeOf(folder), 'socket-at'));
  await assert.rejects(openEmbedded({ folder }), {
    code: 'STORE_UNAVAILABLE',
    message: /cannot be opened: .*socket-at/,
  });
  rmSync(join(storeOf(folder), 'socket-at'), { recursive: true });
  await using store = await openEmbedded({ folder });
  assert.deepEqual(await store.listTables(), ['t']);
});

test('a socket-at that cannot be written leaves no temporary folder', async (t) => {
  const folder = folderWithLongPath();
  mkdirSync(join(folder, 'socket-at.new'), { recursive: true });
  const elsewhere = temporaryFolder();
  const before = process.env['TMPDIR'];
  t.after(() => {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  });
  process.env['TMPDIR'] = elsewhere;
  const server = createServer();
  t.after(() => server.close());
  await assert.rejects(listenIn(folder, server), { code: 'EISDIR' });
  assert.deepEqual(readdirSync(elsewhere), []);
});

test('an owner whose socket cannot be removed gives the folder up', async () => {
  const folder = await newStore();
  const store = await openEmbedded({ folder });
  mkdirSync(join(storeOf(folder), 'socket-at'));
  await assert.rejects(store.close(), /socket-at/);
  const unlock = lockFolder(folder, { readOnly: false });
  assert.ok(unlock !== undefined);
  unlock();
});

test("a copy of an open store's folder leaves the socket of the original's owner alone", async () => {
  const { original, folder, copy } = await copyOfOpenStore();
  await using store = original;
  await (await openEmbedded({ folder: copy })).close();
  await using other = await OtherProcess.open(folder);
  await other.call('mutateRows', [setRow('r')]);
  assert.equal((await store.readRow('t', 'r', [{ family: 'data' }]))?.key, 'r');
});

test("a process that opens a copy of an open store's folder does not reach the original", async () => {
  const { original, copy } = await copyOfOpenStore();
  await using _ = original;
  const opening = openPatiently({ folder: copy, own: false }, IMPATIENT);
  await assert.rejects(opening, { code: 'STORE_UNAVAILABLE' });
  assert.equal(await ownerOf(copy), undefined);
});

test("a clone of an open store's volume leaves the socket of the original's owner alone", async () => {
  const { original, folder, copy } = await copyOfOpenStore();
  await using _ = original;
  const { ino, dev } = lstatSync(storeOf(folder));
  const { lstatSync: real } = fs;
  const stat = mock.method(fs, 'lstatSync', (path: string, options?: fs.StatSyncOptions) =>
    dirname(path) === copy ? { ino, dev: dev + 1 } : real(path, options),
  );
  syncBuiltinESMExports();
  try {
    assert.equal(await ownerOf(copy), undefined);
    await (await openEmbedded({ folder: copy })).close();
  } finally {
    stat.mock.restore();
    syncBuiltinESMExports();
  }
  let owner: number | undefined;
  // A process that was stalled for a moment takes the owner for stopped.
  for (let asked = 0; owner === undefined && asked < 20; asked++) owner = await ownerOf(folder);
  assert.equal(owner, process.pid);
});

function folderWithLongPath(): string {
  const folder = join(temporaryFolder(), 'a-very-long-name'.repeat(10));
  mkdirSync(folder);
  return folder;
}

function storeOf(folder: string): string {
  const store = storeIn(folder);
  assert.ok(store !== undefined);
  return store;
}

async function newStore(): Promise<string> {
  const folder = temporaryFolder();
  await (await openWithTable(folder)).close();
  return folder;
}

/** The socket of the original is elsewhere, and the copy has its `socket-at`. */
async function copyOfOpenStore(): Promise<{
  readonly original: Bigtable;
  readonly folder: string;
  readonly copy: string;
}> {
  const parent = temporaryFolder();
  const folder = join(parent, 'a-very-long-name'.repeat(10));
  mkdirSync(folder);
  const original = await openWithTable(folder);
  const copy = join(parent, 'copy');
  cpSync(folder, copy, { recursive: true }); // Ends the owner's lock, which is not needed (P69).
  assert.equal(readFileSync(join(storeOf(copy), 'socket-at'), 'utf8'), socketOf(storeOf(folder)));
  return { original, folder, copy };
}
