/**
 * One owner, whatever other programs, or the owner's own process, do to the folder (P69). The
 * simulated owners (workloads/verification/simulation/disk/owners-run.ts) stand still at every
 * moment; these tests are about what a real folder and the system's locks do.
 */
import assert from 'node:assert/strict';
import fs, {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { mock, test } from 'node:test';
import { systemClock } from '../../base/index.ts';
import { openWithTable, setRow } from '../../testing/small-rows.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import type { Bigtable } from '../bigtable.ts';
import { claimStore, storeIn, TAKE_OVER_MS } from './folder.ts';
import { openEmbedded } from './index.ts';
import { openPatiently } from './open-embedded.ts';
import { OtherProcess } from './sharing/other-process.fixture.ts';
import { isServed } from './sharing/socket-place.ts';

const SETTINGS = { readOnly: false, mustExist: false, fsync: true };
const FILTERS = [{ family: 'data' }];

/** What the owner's process, or another program, may do without meaning harm. */
const HARMLESS: Readonly<Record<string, (folder: string) => void>> = {
  'is copied by its owner': (folder) => {
    const filter = (path: string): boolean => !statSync(path).isSocket();
    cpSync(folder, `${folder}-copy`, { recursive: true, filter });
  },
  'is read as a whole by its owner': (folder) => {
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      const path = join(folder, name);
      if (statSync(path).isFile()) readFileSync(path);
    }
  },
  'loses its lock file': (folder) => rmSync(join(folder, 'lock')),
  'loses its lock file to another one': (folder) => {
    rmSync(join(folder, 'lock'));
    writeFileSync(join(folder, 'lock'), '');
  },
  'loses its socket': (folder) => rmSync(join(storeIn(folder) ?? '', 'socket')),
};

for (const [what, harm] of Object.entries(HARMLESS)) {
  test(`a store that ${what} keeps its owner, and others go through it`, async () => {
    const folder = join(temporaryFolder(), 'data');
    {
      await using owner = await openWithTable(folder);
      harm(folder);
      await using other = await OtherProcess.open(folder);
      await other.call('mutateRows', [setRow('theirs')]);
      await owner.mutateRows([setRow('ours')]);
      assert.deepEqual(await keysOf(owner), ['ours', 'theirs']);
    }
    await using again = await openEmbedded({ folder });
    assert.deepEqual(await keysOf(again), ['ours', 'theirs']);
  });
}

test('a reader goes through the owner, also if the lock file is gone', async () => {
  const folder = temporaryFolder();
  await using owner = await openWithTable(folder);
  rmSync(join(folder, 'lock'));
  await using reader = await openEmbedded({ folder, readOnly: true });
  await owner.mutateRows([setRow('later')]);
  assert.deepEqual(await keysOf(reader), ['later']);
});

/** What moves the folder under its owner; the path then leads to another store. */
const HARMFUL: Readonly<Record<string, (folder: string) => void>> = {
  'was moved': (folder) => renameSync(folder, `${folder}-moved`),
  'was removed': (folder) => rmSync(folder, { recursive: true }),
  'was emptied': (folder) => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  },
  'was replaced by a copy of itself': (folder) => {
    const filter = (path: string): boolean => !statSync(path).isSocket();
    cpSync(folder, `${folder}-copy`, { recursive: true, filter });
    renameSync(folder, `${folder}-moved`);
    renameSync(`${folder}-copy`, folder);
  },
  'was restored in its place': (folder) => {
    const filter = (path: string): boolean => !statSync(path).isSocket();
    cpSync(folder, `${folder}-copy`, { recursive: true, filter });
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
    cpSync(`${folder}-copy`, folder, { recursive: true });
  },
  'is another one by now, by way of a symbolic link': (folder) => {
    renameSync(folder, `${folder}-moved`);
    mkdirSync(`${folder}-other`);
    symlinkSync(`${folder}-other`, folder);
  },
};

for (const [what, harm] of Object.entries(HARMFUL)) {
  test(`an owner whose folder ${what} stops, and harms nothing there`, async () => {
    const folder = join(temporaryFolder(), 'data');
    const owner = await openWithTable(folder);
    await owner.mutateRows([setRow('before')]);
    harm(folder);
    await systemClock.sleep(TAKE_OVER_MS); // No look counts any more.
    await using next = await openEmbedded({ folder });
    if ((await next.listTables()).length === 0) {
      await next.createTable('t', { families: ['data', 'lock'] });
    }
    await next.mutateRows([setRow('next')]);
    await assert.rejects(owner.mutateRows([setRow('lost')]), {
      code: 'STORE_CLOSED',
      message: /^the embedded store was closed, because .* open it again to go on/,
    });
    await assert.rejects(owner.readRow('t', 'before', FILTERS), { code: 'STORE_CLOSED' });
    await owner.close();
    await next.mutateRows([setRow('after')]);
    const keys = await keysOf(next);
    assert.ok(
      keys.includes('next') && keys.includes('after') && !keys.includes('lost'),
      keys.join(),
    );
    await next.close();
    await using again = await openEmbedded({ folder });
    assert.deepEqual(await keysOf(again), keys);
  });
}

test('a store whose folder was moved under its owner is found where it is now', async () => {
  const folder = join(temporaryFolder(), 'data');
  const owner = await openWithTable(folder);
  await owner.mutateRows([setRow('r')]);
  renameSync(folder, `${folder}-moved`);
  await systemClock.sleep(TAKE_OVER_MS); // No look counts, or it could end while it serves `there`.
  await using there = await openEmbedded({ folder: `${folder}-moved` });
  assert.deepEqual(await keysOf(there), ['r']);
  await there.mutateRows([setRow('s')]);
  assert.deepEqual(await keysOf(there), ['r', 's']);
  await owner.close();
});

test("a file of the log that another program removed ends the owner's service", async () => {
  const folder = temporaryFolder();
  const owner = await openWithTable(folder);
  const store = storeIn(folder) ?? '';
  rmSync(join(store, '0000000001.log'));
  await systemClock.sleep(TAKE_OVER_MS); // No look counts any more.
  await assert.rejects(owner.mutateRows([setRow('r')]), {
    code: 'STORE_CLOSED',
    message: /another program removed or replaced .*0000000001\.log; /,
  });
  await owner.close();
});

test('an owner of which nothing is asked notices within seconds, and its clients leave it', async () => {
  const folder = join(temporaryFolder(), 'data');
  const owner = await openWithTable(folder);
  await using other = await OtherProcess.open(folder);
  await other.call('mutateRows', [setRow('r')]);
  cpSync(folder, `${folder}-copy`, {
    recursive: true,
    filter: (path) => !statSync(path).isSocket(),
  });
  renameSync(folder, `${folder}-moved`);
  renameSync(`${folder}-copy`, folder);
  while (await isServed(storeIn(`${folder}-moved`) ?? '')) await systemClock.sleep(20);
  await other.call('mutateRows', [setRow('s')]); // It owns the copy now.
  await owner.close();
  await using next = await openEmbedded({ folder });
  assert.deepEqual(await keysOf(next), ['r', 's']);
});

test('a process that takes a store over while another one opens it is the only owner', async () => {
  const folder = temporaryFolder();
  await (await openWithTable(folder)).close();
  const claims = await Promise.all(Array.from({ length: 4 }, () => claimStore(folder, SETTINGS)));
  assert.equal(claims.filter((claim) => claim !== undefined).length, 1);
  for (const claim of claims) claim?.end();
});

test('an owner that loses its folder before it serves it makes way, and the opening goes on', async () => {
  const folder = join(temporaryFolder(), 'data');
  const { chmodSync: real } = fs;
  const moving = mock.method(fs, 'chmodSync', (path: string, mode: number) => {
    if (!existsSync(`${folder}-moved`)) renameSync(folder, `${folder}-moved`); // It listens now.
    real(path, mode);
  });
  syncBuiltinESMExports();
  try {
    await using store = await openEmbedded({ folder });
    assert.deepEqual(await store.listTables(), []);
    assert.equal(await isServed(storeIn(`${folder}-moved`) ?? ''), false);
  } finally {
    moving.mock.restore();
    syncBuiltinESMExports();
  }
});

test('a folder with two stores is refused, and both are named', async () => {
  const folder = temporaryFolder();
  await (await openWithTable(folder)).close();
  cpSync(join(folder, 'store'), join(folder, 'store.other'), { recursive: true });
  await assert.rejects(openPatiently({ folder }, { attachMs: 300, requestMs: 300 }), {
    code: 'STORE_REFUSED',
    message: /it holds two stores, store and store\.other: move one of them elsewhere$/,
  });
});

test('a store of an earlier version, whose files are next to the lock, is opened', async () => {
  const folder = temporaryFolder();
  const store = await openWithTable(folder);
  await store.mutateRows([setRow('r')]);
  await store.close();
  for (const name of readdirSync(join(folder, 'store'))) {
    renameSync(join(folder, 'store', name), join(folder, name));
  }
  rmSync(join(folder, 'store'), { recursive: true });
  {
    await using reader = await openEmbedded({ folder, readOnly: true });
    assert.deepEqual(await keysOf(reader), ['r']);
  }
  await using again = await openEmbedded({ folder });
  assert.deepEqual(await keysOf(again), ['r']);
});

async function keysOf(store: Bigtable): Promise<readonly string[]> {
  const rows = await store.readRange('t', { limit: 100 }, FILTERS);
  return rows.map(({ key }) => key);
}
