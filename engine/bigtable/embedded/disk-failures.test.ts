/**
 * Claims about a disk that fails: every caller receives the right error code, nothing acknowledged
 * is lost, and the store works again as soon as the disk does (P11, P58). Most tests make
 * operations of a simulated disk fail; in one, a real file meets the system's limit for the size of
 * files; the others kill a process, cut the power, or watch which folders are synced.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createRandom, type PercolatorError, systemClock } from '../../base/index.ts';
import { openPercolator } from '../../percolator.ts';
import { type DiskFailure, type DiskOperation, SimulatedDisk } from '../../testing/index.ts';
import type { Bigtable, ConditionalRowMutation, RowMutation } from '../bigtable.ts';
import type { Disk } from './disk.ts';
import { openEmbedded } from './index.ts';
import { openOnDisk } from './open-embedded.ts';
import { SIZES } from './log.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';

const WRITE = fileURLToPath(new URL('write.fixture.ts', import.meta.url));
const FILTERS = [{ family: 'f' }];
const COLUMN = { family: 'f', qualifier: 'q' } as const;
const SET = {
  ...COLUMN,
  kind: 'set',
  timestamp: 1,
  value: Buffer.alloc(99),
} as const;

function open(disk: Disk, sizes = SIZES): Promise<Bigtable> {
  return openOnDisk(disk, { fsync: true, readOnly: false, sizes });
}

function put(store: Bigtable, row: string, provisional = false): Promise<string> {
  return store.mutateRows([{ table: 't', row, mutations: [SET], provisional }]).then(
    () => 'done',
    (error: PercolatorError) => error.code,
  );
}

function lock(row: string): ConditionalRowMutation {
  return { table: 't', row, anyOf: FILTERS, ifNotFound: [SET] };
}

async function keysOf(store: Bigtable): Promise<string> {
  const rows = await store.readRange('t', { limit: 100 }, FILTERS);
  return rows.map(({ key }) => key).join();
}

const ERASE = { ...COLUMN, kind: 'erase', from: 1, to: 1 } as const;

/** Whatever the power cut leaves of what is not synced, the store has these rows. */
async function assertAfterCuts(disk: SimulatedDisk, keys: string, cuts = 20): Promise<void> {
  for (let cut = 0; cut < cuts; cut++) {
    const random = createRandom(cut).fork('cut');
    const found = new SimulatedDisk({ random }, disk.afterPowerCut(random));
    await using store = await open(found);
    assert.equal(await keysOf(store), keys);
  }
}

function newDisk(): SimulatedDisk {
  return new SimulatedDisk({ random: createRandom(1) });
}

async function diskWithTable(): Promise<{ disk: SimulatedDisk; store: Bigtable }> {
  const disk = newDisk();
  const store = await open(disk);
  await store.createTable('t', { families: ['f'] });
  await put(store, 'before');
  return { disk, store };
}

/** A store that was reopened, and a function that makes its disk refuse to read. */
async function reopenedStore(
  sizes = SIZES,
  rows: readonly RowMutation[] = [],
): Promise<{
  store: Bigtable;
  refuseReads: (isBroken: boolean) => void;
  disk: SimulatedDisk;
}> {
  const { disk, store } = await diskWithTable();
  if (rows.length > 0) await store.mutateRows(rows);
  await store.close();
  const broken = new SimulatedDisk({ random: createRandom(1) }, disk.files());
  const openFile = broken.open.bind(broken);
  let isBroken = false;
  broken.open = (name) => {
    const file = openFile(name);
    const read = (target: Uint8Array, position: number): number => {
      if (isBroken) throw new Error('EIO: simulated');
      return file.read(target, position);
    };
    return { ...file, read };
  };
  return {
    // Without memory for the log: opening reads a row, and would keep the whole file with it.
    store: await open(broken, { ...sizes, recentBytes: 0, readBytes: 0 }),
    refuseReads: (isRefused) => (isBroken = isRefused),
    disk: broken,
  };
}

/**
 * Makes the next operations of this kind fail: one, or as many as `times`. Returns a function that
 * tells whether all of them have failed.
 */
function failNext(
  disk: SimulatedDisk,
  kind: DiskOperation,
  failure: DiskFailure,
  times = 1,
): () => boolean {
  let left = times;
  disk.before = (operation) => (operation === kind && left-- > 0 ? failure : undefined);
  return () => left <= 0;
}

/** Makes the operations of this kind fail once the next file was created. */
function failInNewFile(disk: SimulatedDisk, kind: DiskOperation, failure: DiskFailure): void {
  let isCreated = false;
  disk.before = (operation) => {
    isCreated ||= operation === 'create';
    return isCreated && operation === kind ? failure : undefined;
  };
}

test('after a kill, a long value is written once, however often its row was changed since the last sync', async () => {
  const { disk, store } = await diskWithTable();
  const long = { ...SET, qualifier: 'long', value: Buffer.alloc(300_000, 1) };
  const provisional = true;
  await store.mutateRows([{ table: 't', row: 'r', mutations: [long], provisional }]);
  for (let timestamp = 1; timestamp <= 20; timestamp++) {
    const mutations = [{ ...SET, timestamp }];
    await store.mutateRows([{ table: 't', row: 'r', mutations, provisional }]);
  }
  const before = new Set(disk.names());
  await using again = await open(disk); // The first one was killed.
  const made = [...disk.files()].filter(([name]) => !before.has(name));
  assert.ok(made.every(([, { length }]) => length < 400_000));
  const row = await again.readRow('t', 'r', FILTERS);
  assert.equal(row?.cells.length, 21);
});

test('after a group has failed, the next one is written even if a page cannot be read', async () => {
  const value = Buffer.alloc(400, 1);
  const mutations = Array.from({ length: 40 }, (_, i) => ({ ...SET, value, timestamp: i + 1 }));
  const large = { table: 't', row: 'large', mutations };
  for (let to = 1; to <= 40; to++) {
    const { store, refuseReads, disk } = await reopenedStore(SIZES, [large]);
    await put(store, 'begins a file, and is synced');
    // The row has several pages; with one `to`, exactly the cells of its last page are erased.
    const erase = { ...ERASE, from: 1, to };
    await store.mutateRows([{ table: 't', row: 'large', mutations: [erase], provisional: true }]);
    refuseReads(true);
    failNext(disk, 'write', 'EIO');
    assert.equal(await put(store, 'refused'), 'STORE_UNAVAILABLE');
    assert.equal(await put(store, 'later'), 'done', `1 to ${to} erased`);
    refuseReads(false);
    await store.close();
  }
});

test('a mutation that changes nothing is durable, even if what it found was provisional', async () => {
  const { disk, store } = await diskWithTable();
  await put(store, 'after');
  const erased = { table: 't', row: 'before', mutations: [ERASE] };
  await store.mutateRows([{ ...erased, provisional: true }]);
  await store.mutateRows([erased]);
  await assertAfterCuts(disk, 'after');
  await store.close();
});

test('what is in doubt takes no space once the next group counts', async () => {
  const { disk, store } = await diskWithTable();
  const mutations = [{ ...SET, value: Buffer.alloc(500_000) }];
  for (let i = 0; i < 4; i++) {
    await put(store, 'before'); // The next group is not the first of its file.
    failNext(disk, 'sync', 'EIO');
    await assert.rejects(store.mutateRows([{ table: 't', row: 'long', mutations }]));
  }
  assert.equal(await keysOf(store), 'before');
  const bytes = [...disk.files().values()].reduce((sum, { length }) => sum + length, 0);
  assert.ok(bytes < 600_000, `${bytes} bytes`);
});

describe('on a disk that fails', () => {
  for (const failure of ['EIO', 'ENOSPC'] as const) {
    test(`P58: a group whose write failed (${failure}) was not applied, and the next one works`, async () => {
      const { disk, store } = await diskWithTable();
      failNext(disk, 'write', failure);
      const group = [put(store, 'a'), put(store, 'b')];
      await Promise.resolve();
      const gathered = put(store, 'c');
      const refused = failure === 'EIO' ? 'STORE_UNAVAILABLE' : 'STORE_FULL';
      assert.deepEqual(await Promise.all([...group, gathered]), [refused, refused, refused]);
      assert.equal(await keysOf(store), 'before');
      assert.equal(await put(store, 'later'), 'done');
      assert.equal(await keysOf(store), 'before,later');
      await store.close();
      await using again = await open(disk);
      assert.equal(await keysOf(again), 'before,later');
    });

    test(`P11, P58: a group whose sync failed (${failure}) is in doubt; nothing is served until it is known not to count`, async () => {
      const { disk, store } = await diskWithTable();
      failNext(disk, 'sync', failure, 2);
      assert.equal(await put(store, 'a'), 'STORE_IN_DOUBT');
      // The second sync fails, which would have made sure that the first group does not count.
      const refusal = { code: 'STORE_UNAVAILABLE', message: /nothing is served until a new file/ };
      const reads = [keysOf(store), store.listTables(), store.sampleRowKeys('t')];
      await Promise.all(reads.map((read) => assert.rejects(read, refusal)));
      assert.equal(await keysOf(store), 'before');
      assert.equal(await put(store, 'later'), 'done');
      await assertAfterCuts(disk, 'before,later');
      await store.close();
    });

    test(`P84: what waits until a commit is known not to count (${failure}) is refused if a fence comes first`, async () => {
      const { disk, store } = await diskWithTable();
      failNext(disk, 'sync', failure);
      assert.equal(await put(store, 'a'), 'STORE_IN_DOUBT');
      const fencing = store.fence?.(); // It begins in the next turn.
      const waiting = [
        put(store, 'b'),
        store.checkAndMutateRow(lock('c')).catch(({ code }: PercolatorError) => code),
        store.checkAndMutateRows([lock('d')]).then(([one]) => (one as PercolatorError).code),
        store.createTable('u', { families: ['f'] }).catch(({ code }: PercolatorError) => code),
      ];
      await fencing;
      assert.equal(await keysOf(store), 'before');
      assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['STORE_UNAVAILABLE']));
      assert.equal(await put(store, 'later'), 'done');
      assert.equal(await keysOf(store), 'before,later');
      assert.deepEqual(await store.listTables(), ['t']);
      await store.close();
    });

    for (const kind of ['sync', 'syncNames'] as const) {
      test(`P58: a group in doubt counts in the next process either for good or not at all: after a failed ${kind} (${failure})`, async () => {
        for (const isFirstOfFile of [true, false]) {
          const { disk, store } = await diskWithTable();
          await store.close(); // The next process begins a new file.
          const second = await open(disk);
          if (!isFirstOfFile) await put(second, 'before');
          if (!isFirstOfFile && kind === 'syncNames') continue; // Only a new file has a new name.
          for (let i = 0; i < 5; i++) {
            failNext(disk, kind, failure);
            assert.notEqual(await put(second, `a${i}`), 'done'); // The process is killed afterwards.
          }
          assert.ok(disk.names().length < 6, 'files in doubt do not add up');
          for (let i = 0; i < 5; i++) {
            failNext(disk, kind, failure);
            await assert.rejects(open(disk), /^Error: E[A-Z]+: simulated/); // It syncs what is there.
            failInNewFile(disk, kind, failure);
            await assert.rejects(open(disk), /failed to commit/);
          }
          assert.ok(disk.names().length < 6, 'copies of openings that failed do not add up');
          disk.before = () => undefined;
          const third = await open(disk);
          await assertAfterCuts(disk, await keysOf(third));
        }
      });
    }

    test(`a disk that fails (${failure}) keeps a store from being made, but not from being closed`, async () => {
      for (const kind of ['create', 'write', 'sync', 'syncNames'] as const) {
        const disk = new SimulatedDisk({ random: createRandom(1) });
        failNext(disk, kind, failure);
        await assert.rejects(
          open(disk),
          /failed to commit \((?:EIO|the disk is full: ENOSPC): simulated/,
        );
        const store = await open(disk);
        await store.createTable('t', { families: ['f'] });
        await put(store, 'row');
        const failed = failNext(disk, kind, failure);
        await store.close();
        assert.ok(failed(), `closing has a ${kind} that could fail: it writes the index`);
        await using again = await open(disk);
        assert.equal(await keysOf(again), 'row');
      }
    });
  }

  for (const failure of ['EIO', 'ENOSPC'] as const) {
    for (const kind of ['write', 'sync'] as const) {
      test(`after a failed ${kind} (${failure}), changes that waited for a sync are written again: a new row, an erased row`, async () => {
        const { disk, store } = await diskWithTable();
        assert.equal(await put(store, 'came', true), 'done');
        await store.mutateRows([
          { table: 't', row: 'before', mutations: [ERASE], provisional: true },
        ]);
        failNext(disk, kind, failure);
        assert.notEqual(await put(store, 'refused'), 'done');
        assert.equal(await keysOf(store), 'came');
        assert.equal(await put(store, 'later'), 'done');
        await assertAfterCuts(disk, 'came,later');
        await store.close();
      });
    }
  }

  test('an index that was begun before a sync failed shows nothing that the log has lost', async () => {
    const { disk, store } = await diskWithTable();
    await store.close();
    const again = await open(disk, { ...SIZES, hintBytes: 0 });
    for (let i = 0; i < 20; i++) {
      await put(again, `row ${i}`, true);
      if (i % 3 === 2) failNext(disk, 'sync', 'EIO');
      await put(again, 'later');
      disk.before = () => undefined;
      await assertAfterCuts(disk, await keysOf(again), 3);
    }
    await again.close();
  });

  test('an index that does not fit on the disk is removed, because groups need the space', async () => {
    const { disk, store } = await diskWithTable();
    let isFull = false;
    disk.before = (operation, name) => {
      isFull ||= operation === 'write' && name === 'index.new';
      return isFull && operation === 'write' ? 'ENOSPC' : undefined;
    };
    await store.close();
    assert.ok(isFull);
    assert.deepEqual(
      disk.names().filter((name) => name.startsWith('index')),
      [],
    );
  });

  test('an index that could not be written is written when the store is closed', async () => {
    const disk = newDisk();
    const failed: string[] = [];
    disk.before = (operation, name) => {
      if (operation !== 'write' || name !== 'index.new') return undefined;
      failed.push(name);
      return 'EIO';
    };
    const store = await open(disk, { ...SIZES, hintBytes: 0 });
    await store.createTable('t', { families: ['f'] });
    const before = failed.length;
    // The log grows no more after the failure.
    for (let i = 0; i < 1000 && failed.length === before; i++) await put(store, 'row');
    assert.ok(failed.length > before, 'an index was begun');
    assert.ok(!disk.names().includes('index'));
    disk.before = () => undefined;
    await store.close();
    assert.ok(disk.names().includes('index'));
  });

  test('a store whose files cannot be closed still ends what serves it', async () => {
    const { disk, store } = await diskWithTable();
    await store.close();
    let isBroken = false;
    const close = (): void => {
      if (isBroken) throw new Error('EIO: simulated');
    };
    const opened = disk.open.bind(disk);
    disk.open = (name) => ({ ...opened(name), close });
    let isEnded = false;
    const end = async (): Promise<void> => {
      isEnded = true;
    };
    const again = await openOnDisk(disk, { fsync: true, readOnly: false, sizes: SIZES, end });
    isBroken = true;
    await assert.rejects(again.close(), /EIO: simulated/);
    assert.ok(isEnded);
  });

  test('what cannot be read is an error of that call, and names the file', async () => {
    const { store: again, refuseReads } = await reopenedStore();
    refuseReads(true);
    const refusal = {
      code: 'STORE_UNAVAILABLE',
      message: '0000000001.log cannot be read: EIO: simulated',
    };
    await assert.rejects(again.readRow('t', 'before', FILTERS), refusal);
    assert.equal(await put(again, 'before'), 'STORE_UNAVAILABLE');
    refuseReads(false);
    assert.equal(await put(again, 'later'), 'done');
    assert.equal(await keysOf(again), 'before,later');
    await again.close();
  });

  test('a file that could not be read once, when its space was to be given back, is read again', async () => {
    const { store, refuseReads } = await reopenedStore({ ...SIZES, fileBytes: 1, files: 0 });
    assert.equal(await put(store, 'one'), 'done'); // Now there is a file before the newest one.
    refuseReads(true);
    assert.equal(await put(store, 'two'), 'STORE_UNAVAILABLE');
    refuseReads(false);
    assert.equal(await put(store, 'three'), 'done');
    assert.equal(await keysOf(store), 'before,one,three');
    await store.close();
  });

  test('P61: a change whose row cannot be read fails with all changes of its turn; later changes are applied', async () => {
    const { store, refuseReads } = await reopenedStore();
    refuseReads(true);
    const marks = [put(store, 'mark'), put(store, 'before')];
    const commit = store
      .checkAndMutateRow({ table: 't', row: 'commit', anyOf: FILTERS, ifNotFound: [SET] })
      .catch((error: PercolatorError) => error.code);
    const refused = 'STORE_UNAVAILABLE';
    assert.deepEqual(await Promise.all([...marks, commit]), [refused, refused, refused]);
    assert.equal(await put(store, 'before'), refused); // Alone in its turn.
    assert.equal(await put(store, 'later'), 'done');
    refuseReads(false);
    assert.equal(await keysOf(store), 'before,later');
    await store.close();
  });
});

/** The disk as seen by a process that is killed in its first sync. */
function killedInSync(disk: SimulatedDisk): Disk {
  const killed = withSync(disk, () => new Promise(() => {}));
  return { ...killed, open: (name) => disk.open(name), sync: () => disk.sync() };
}

/** The same disk with another `sync`, of files and of names. */
function withSync(disk: SimulatedDisk, sync: () => Promise<void>): Disk {
  return {
    names: () => disk.names(),
    open: (name) => ({ ...disk.open(name), sync }),
    create: (name) => ({ ...disk.create(name), sync }),
    rename: (from, to) => disk.rename(from, to),
    remove: (name) => disk.remove(name),
    sync,
    lost: () => undefined,
    close: () => {},
  };
}

test('what was written without fsync is on the disk before what a later process writes with it', async () => {
  const disk = newDisk();
  const store = await open(withSync(disk, () => Promise.resolve())); // As without fsync.
  await store.createTable('t', { families: ['f'] });
  for (const key of ['a', 'before']) assert.equal(await put(store, key), 'done');
  await store.close();
  await using later = await open(disk);
  assert.equal(await put(later, 'later'), 'done');
  await assertAfterCuts(disk, 'a,before,later');
});

for (const [found, rows] of [
  ['a new store', 'later'],
  ['a store', 'a,before,later'],
] as const) {
  test(`what a killed process had begun to sync of ${found} is written again, so that no power cut loses it`, async () => {
    const isNew = found === 'a new store';
    const { disk, store } = isNew ? { disk: newDisk(), store: undefined } : await diskWithTable();
    await store?.close();
    const killed = open(killedInSync(disk));
    if (!isNew) void put(await killed, 'a');
    for (let i = 0; i < 5; i++) await systemClock.yield();
    const next = await open(disk);
    if (isNew) await next.createTable('t', { families: ['f'] });
    assert.equal(await put(next, 'later'), 'done');
    for (let cut = 0; cut < 20; cut++) {
      const files = disk.afterPowerCut(createRandom(cut));
      await using after = await open(new SimulatedDisk({ random: createRandom(cut) }, files));
      assert.equal(await keysOf(after), rows);
    }
    await next.close();
  });
}

test('a last group without rows is written again too: files are removed on its word', async () => {
  const disk = newDisk();
  void open(killedInSync(disk));
  for (let i = 0; i < 5; i++) await systemClock.yield();
  assert.deepEqual(disk.names(), ['0000000001.log']);
  await using _ = await open(disk);
  assert.deepEqual(disk.names(), ['0000000002.log']);
});

for (const [kind, expected] of [
  ['write', { heard: 'committed', outcome: 'committed', value: '1' }],
  ['sync', { heard: 'COMMIT_UNKNOWN', outcome: 'rolled back', value: 'nothing' }],
] as const) {
  test(`P11: a transaction whose ${kind} failed at the commit point hears ${expected.heard}, which is true`, async () => {
    const disk = new SimulatedDisk({ random: createRandom(1) });
    const embedded = await open(disk);
    const x = { table: 't', row: 'x', column: 'c' };
    let isArmed = false;
    const store = new Proxy(embedded, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        if (name !== 'checkAndMutateRow') return value.bind(target) as unknown;
        return (conditional: Parameters<Bigtable['checkAndMutateRow']>[0]) => {
          const commits = conditional.ifFound?.some(
            (mutation) => mutation.kind === 'set' && mutation.qualifier.endsWith(':write'),
          );
          if (isArmed && commits === true) {
            isArmed = false;
            // While the store serves nothing, no caller can find out how the commit ended.
            failNext(disk, kind, 'EIO', kind === 'sync' ? 1_000 : 1);
          }
          return target.checkAndMutateRow(conditional);
        };
      },
    });
    const percolator = await openPercolator({ store });
    await percolator.createTable('t');
    await percolator.transact(async (transaction) => transaction.set({ ...x, row: 'warm' }, '1'));
    isArmed = true;
    const answer = await percolator
      .transact(async (transaction) => transaction.set(x, '1'))
      .then(() => ({ heard: 'committed', name: undefined }))
      .catch((error: PercolatorError) => ({ heard: error.code, name: error.transaction }));
    disk.before = () => undefined;
    const outcome =
      answer.name === undefined ? 'committed' : await percolator.outcomeOf(answer.name);
    await using snapshot = await percolator.snapshot();
    const value = String((await snapshot.get(x)) ?? 'nothing');
    assert.deepEqual({ heard: answer.heard, outcome, value }, expected);
    await percolator.close();
    await embedded.close();
  });
}

test('a writer whose files may not grow any more is told so, is not killed, and loses nothing', async () => {
  const folder = temporaryFolder();
  const store = await openEmbedded({ folder });
  await store.createTable('t', { families: ['data', 'lock'] });
  await store.close();
  // 64 blocks of 512 or 1,024 bytes. Node ignores the signal that the system sends at the limit.
  const limited = 'ulimit -f 64 && exec "$0" "$@"';
  const args = ['-c', limited, process.execPath, WRITE, folder, 'row '];
  const { status, stdout, stderr } = spawnSync('sh', args, { timeout: 600_000, encoding: 'utf8' });
  assert.equal(status, 1, stderr);
  assert.match(stderr, /STORE_UNAVAILABLE/);
  assert.match(stderr, /the embedded store failed to commit \(EFBIG: .*\); nothing was applied/);
  const acknowledged = stdout.split('\n').filter(Boolean);
  assert.ok(acknowledged.length > 10);
  await using again = await openEmbedded({ folder });
  const rows = await again.readRange('t', { limit: 1_000_000 }, [{ family: 'data' }]);
  const present = new Set(rows.map(({ key }) => key));
  assert.deepEqual(
    acknowledged.filter((row) => !present.has(row)),
    [],
  );
});

for (const found of ['.', 'one']) {
  test(`the names of all folders made for a store are synced, and of the folder "${found}" that was there before`, async (t) => {
    // The process that made that folder may have died before it synced the name.
    const folder = temporaryFolder();
    fs.mkdirSync(join(folder, found), { recursive: true });
    const synced: string[] = [];
    const original = fs.promises.open;
    t.mock.method(fs.promises, 'open', async (...args: Parameters<typeof original>) => {
      const handle = await original(...args);
      const sync = handle.sync.bind(handle);
      handle.sync = async () => {
        await sync();
        synced.push(String(args[0]));
      };
      return handle;
    });
    await (await openEmbedded({ folder: join(folder, 'one/two/store') })).close();
    const parentOfFound = join(folder, found, '..');
    const folders = ['one', 'one/two', 'one/two/store'].map((path) => join(folder, path));
    for (const path of [parentOfFound, folder, ...folders]) {
      assert.ok(synced.includes(path), `${path} among ${synced.join(', ')}`);
    }
  });
}

test('P84: a fence ends when all that was taken before it is seen', async () => {
  const { store } = await diskWithTable();
  const written = put(store, 'a', true);
  await store.fence?.();
  assert.equal(await keysOf(store), 'a,before');
  assert.equal(await written, 'done');
  await store.close();
  await assert.rejects(store.fence?.() ?? Promise.resolve(), { code: 'STORE_CLOSED' });
});
