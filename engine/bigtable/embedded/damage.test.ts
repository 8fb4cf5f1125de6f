/**
 * Damaged files of a store that was closed: each is found, when the store is opened or when the
 * rows are read, and named in one sentence; or it does no harm, and every row is right. A row that
 * can be read stays readable, whatever the cleaner meets.
 */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { crc32 } from 'node:zlib';
import { createRandom, PercolatorError, type Random, systemClock } from '../../base/index.ts';
import { SimulatedDisk } from '../../testing/index.ts';
import type { Bigtable, RowMutation } from '../bigtable.ts';
import {
  closedStore,
  DAMAGES,
  type Files,
  FILTERS,
  LATER_ROW,
  open,
  rowsOf,
  SMALL,
  textOf,
} from './damage.fixture.ts';
import { openOnDisk } from './open-embedded.ts';
import { GROUP_BYTES, GroupWriter } from './record.ts';

/** Writes one row so often that the cleaner comes to every file, unless it meets damage. */
async function overwrite(store: Bigtable): Promise<void> {
  const value = Buffer.alloc(16_000);
  const set = { kind: 'set', family: 'f', qualifier: 'q', timestamp: 1, value } as const;
  for (let i = 0; i < 10; i++) {
    const write = { table: 't', row: LATER_ROW, mutations: [set] };
    await isUndamaged(() => store.mutateRows([write]));
  }
}

/** The keys of the rows that can be read; each of these rows is right. */
async function legibleRows(store: Bigtable): Promise<readonly string[]> {
  const areAll = await isUndamaged(async () => {
    assert.deepEqual(await rowsOf(store), healthy.rows);
  });
  if (areAll) return healthy.rows.map(([key]) => key);
  const legible: string[] = [];
  for (const [key, text] of healthy.rows) {
    const isLegible = await isUndamaged(async () => {
      assert.equal(textOf(await store.readRow('t', key, FILTERS)), text);
    }, key);
    if (isLegible) legible.push(key);
  }
  return legible;
}

/** Whether the action, on that row, succeeds; it may fail only by damage, which the error names. */
async function isUndamaged(action: () => Promise<void>, row?: string): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    if (!(error instanceof PercolatorError)) throw error;
    assert.equal(error.code, 'STORE_DAMAGED');
    assert.match(
      error.message,
      /^(?:row ".*" of table t cannot be read: )?the embedded store is damaged: (?:\d{10}\.log|index), byte \d+: /,
    );
    assert.equal(error.damagedRow !== undefined, error.message.startsWith('row '));
    if (row !== undefined) assert.equal(error.damagedRow?.row, row);
    return false;
  }
}

const healthy = await closedStore();
const names = [...healthy.files.keys()];

test('the store has several log files, and an index', () => {
  assert.ok(names.filter((name) => name.endsWith('.log')).length >= 4, names.join());
  assert.ok(names.includes('index'));
});

test('a writer that overwrites one row makes the cleaner come to every file', async () => {
  const disk = new SimulatedDisk({ random: createRandom(7) }, healthy.files);
  await using store = await open(disk);
  await overwrite(store);
  const left = disk.names().filter((name) => name.endsWith('.log') && names.includes(name));
  assert.deepEqual(left, []);
  assert.deepEqual(await rowsOf(store), healthy.rows);
});

for (const [kind, damage] of Object.entries(DAMAGES)) {
  test(`a file that is ${kind} is found and named, or does no harm`, async () => {
    const random = createRandom(2).fork(kind);
    let found = 0;
    for (const name of names) {
      for (let i = 0; i < 10; i++) {
        const files = new Map(healthy.files);
        const changed = damage(files.get(name) as Buffer, random, files);
        if (changed === undefined) files.delete(name);
        else files.set(name, changed);
        if (await isFound(files, random)) found++;
      }
    }
    if (!kind.startsWith('longer')) assert.ok(found > 0, 'some damage does harm');
  });
}

function refuseIndex(disk: SimulatedDisk, { mock }: TestContext): void {
  const openFile = disk.open.bind(disk);
  mock.method(disk, 'open', (name: string) => {
    if (name === 'index') throw new Error('EACCES: permission denied');
    return openFile(name);
  });
}

test('without an index that can be opened, the log is enough', async (context) => {
  const disk = new SimulatedDisk({ random: createRandom(3) }, healthy.files);
  refuseIndex(disk, context);
  for (const readOnly of [true, false]) {
    assert.deepEqual(disk.names(), names, 'reading changes nothing');
    await using store = await open(disk, readOnly);
    assert.deepEqual(await rowsOf(store), healthy.rows);
  }
});

test('an index that one process could not open does no harm later, whenever the power failed in that process', async (context) => {
  const random = createRandom(6);
  const disk = new SimulatedDisk({ random }, healthy.files);
  refuseIndex(disk, context);
  const left: Files[] = [];
  disk.before = () => {
    for (let cut = 0; cut < 10; cut++) left.push(disk.afterPowerCut(random));
    return undefined;
  };
  // This process writes no index.
  await openOnDisk(disk, { fsync: true, readOnly: false, sizes: { ...SMALL, hintBytes: 1e9 } });
  for (const files of [...left, disk.files()]) {
    await using store = await open(new SimulatedDisk({ random }, files));
    assert.deepEqual(await rowsOf(store), healthy.rows);
  }
});

/**
 * Whether the damage was reported; if not, all rows must be right. What a reader can read, a writer
 * can read after its cleaner has come to the damage, and so can the next reader.
 */
async function isFound(files: Files, random: Random): Promise<boolean> {
  const disk = new SimulatedDisk({ random }, files);
  const recentBytes = random.pick([0, 1e6]); // With 1e6, log-memory.ts reads the log in pieces.
  let found = false;
  let legible: readonly string[] = [];
  for (const readOnly of [true, false, true]) {
    let now: readonly string[] = [];
    await isUndamaged(async () => {
      await using store = await open(disk, readOnly, recentBytes);
      if (!readOnly) await overwrite(store);
      now = await legibleRows(store);
    });
    found ||= now.length < healthy.rows.length;
    const lost = legible.filter((key) => !now.includes(key));
    assert.deepEqual(lost, [], 'these rows could be read before');
    legible = now;
  }
  return found;
}

test('a log of which no group is intact is refused, and each of its files is closed once', async ({
  mock,
}) => {
  const disk = new SimulatedDisk({ random: createRandom(3) }, [
    ['0000000001.log', Buffer.alloc(1)],
    ['0000000002.log', Buffer.alloc(GROUP_BYTES + 1)],
  ]);
  const openFile = disk.open.bind(disk);
  const opened = new Set<string>();
  mock.method(disk, 'open', (name: string) => {
    const file = openFile(name);
    opened.add(name);
    return { ...file, close: () => assert.ok(opened.delete(name), `EBADF: ${name}`) };
  });
  await assert.rejects(open(disk), {
    code: 'STORE_DAMAGED',
    message:
      /: 0000000002\.log, byte 0: its first group is not intact; restore the folder from a backup$/,
  });
  assert.deepEqual([...opened], []);
});

test('a damaged group that the index shows is reported, even if it was provisional', async () => {
  const disk = new SimulatedDisk({ random: createRandom(4) });
  await (await open(disk)).close();
  const store = await openOnDisk(disk, {
    fsync: true,
    readOnly: false,
    sizes: { ...SMALL, hintBytes: 0 },
  });
  await store.createTable('t', { families: ['f'] });
  const cell = { family: 'f', qualifier: 'q', timestamp: 1, value: Buffer.alloc(400, 1) } as const;
  const mutations = [{ kind: 'set', ...cell }] as const;
  await store.mutateRows([{ table: 't', row: 'durable', mutations }]);
  for (let i = 0; i < 20; i++) await systemClock.yield();
  await store.mutateRows([{ table: 't', row: 'provisional', mutations, provisional: true }]);
  for (let i = 0; i < 50; i++) await systemClock.yield(); // The index was written meanwhile.
  const files = disk.files();
  const newest = [...files.keys()].findLast((name) => name.endsWith('.log')) as string;
  const log = files.get(newest) as Buffer;
  const end = log.length - GROUP_BYTES; // There the index was flushed, by a group without records.
  // Byte 44 of a group (record.ts): how many bytes before it were not synced.
  for (let at = end - log.readUInt32LE(end + 44); at < log.length; at++) {
    const damaged = Buffer.from(log);
    damaged.writeUInt8((damaged[at] as number) ^ 1, at);
    const copy = new SimulatedDisk({ random: createRandom(4) }, files.set(newest, damaged));
    const found = await open(copy)
      .then((opened) => opened.readRange('t', { limit: 9 }, FILTERS))
      .then(({ length }) => length)
      .catch((error: PercolatorError) => error.message);
    assert.match(String(found), /is damaged/, `byte ${at} of ${log.length}`);
  }
});

test('a group that does not follow the one before it is reported if a later one shows that it was synced', async () => {
  const writer = new GroupWriter();
  const groups = [1, 3, 4].map((sequence, i) => {
    const at = { file: 1, offset: i * GROUP_BYTES };
    writer.begin(at);
    const base = i === 0 ? { file: 0, offset: 0 } : at;
    return Buffer.from(writer.finish({ store: 1, sequence, base, oldest: 1, unsynced: 0 }));
  });
  const disk = new SimulatedDisk({ random: createRandom(8) }, [
    ['0000000001.log', Buffer.concat(groups)],
  ]);
  await assert.rejects(open(disk), {
    code: 'STORE_DAMAGED',
    message:
      /: 0000000001\.log, byte 48: a group does not follow the one before it; restore the folder from a backup$/,
  });
});

test('a store of format 1, whose groups were all synced, is read, and goes on in format 2', async () => {
  const disk = new SimulatedDisk({ random: createRandom(5) });
  const first = await open(disk);
  await first.createTable('t', { families: ['f'] });
  const cell = { family: 'f', qualifier: 'q', timestamp: 1, value: Buffer.from('value') } as const;
  const put = (store: Bigtable, row: string): Promise<void> =>
    store.mutateRows([{ table: 't', row, mutations: [{ kind: 'set', ...cell }] }]);
  for (const row of ['a', 'b', 'c']) await put(first, row);
  await first.close();
  const old = Buffer.from(disk.files().get('0000000001.log') ?? []);
  // In a group (record.ts): its checksum at byte 4, its format at 8, its records' length at 36.
  for (let at = 0; at < old.length;) {
    const group = old.subarray(at);
    group.writeUInt32LE(1, 8);
    group.writeUInt32LE(crc32(group.subarray(8, GROUP_BYTES), (0x9e37_79b1 ^ at) >>> 0), 4);
    at += GROUP_BYTES + group.readUInt32LE(36);
  }
  const copy = new SimulatedDisk({ random: createRandom(5) }, [['0000000001.log', old]]);
  for (const added of ['d', 'e']) {
    await using store = await open(copy);
    await put(store, added);
  }
  await using store = await open(copy);
  const rows = await store.readRange('t', { limit: 9 }, [{ family: 'f' }]);
  assert.equal(rows.map(({ key }) => key).join(''), 'abcde');
  const newest = [...copy.files()].findLast(([name]) => name.endsWith('.log'));
  assert.equal(newest?.[1].readUInt32LE(8), 2);
});

test('a log of another format is refused in one sentence', async () => {
  const disk = new SimulatedDisk({ random: createRandom(3) });
  await (await open(disk)).close();
  const log = Buffer.from(disk.files().get('0000000001.log') ?? []);
  log.writeUInt32LE(3, 8);
  log.writeUInt32LE(crc32(log.subarray(8, GROUP_BYTES), 0x9e37_79b1), 4); // In file 1, at byte 0.
  const other = new SimulatedDisk({ random: createRandom(3) }, [['0000000001.log', log]]);
  for (const readOnly of [true, false]) {
    await assert.rejects(open(other, readOnly), {
      code: 'STORE_REFUSED',
      message: /^it has format 3, and this version reads 1 and 2; use the version that wrote it$/,
    });
  }
  assert.deepEqual(other.files().get('0000000001.log'), log);
});

test('a damaged record is told to the one who asks for it; what else was asked at that moment may be tried again', async () => {
  const disk = new SimulatedDisk({ random: createRandom(9) });
  const first = await open(disk);
  await first.createTable('t', { families: ['f'] });
  const cell = { family: 'f', qualifier: 'q', timestamp: 1, value: Buffer.from('value') } as const;
  const put = (row: string): RowMutation => {
    return { table: 't', row, mutations: [{ kind: 'set', ...cell }] };
  };
  await first.mutateRows([put('damaged')]);
  await first.close();
  const log = Buffer.from(disk.files().get('0000000001.log') ?? []);
  const at = log.indexOf('value');
  log.writeUInt8(log.readUInt8(at) ^ 1, at);
  const files = [...disk.files().set('0000000001.log', log)];
  await using store = await open(new SimulatedDisk({ random: createRandom(9) }, files));
  const asks: readonly Promise<unknown>[] = [
    store.readRow('t', 'damaged', FILTERS),
    store.checkAndMutateRow({ ...put('damaged'), anyOf: FILTERS, ifFound: put('x').mutations }),
    store.mutateRows([put('damaged')]),
    store.mutateRows([put('other')]),
  ];
  const answers = await Promise.allSettled(asks);
  const codes = answers.map((one) => one.status === 'rejected' && one.reason.code);
  const refused = 'STORE_DAMAGED';
  assert.deepEqual(codes, [refused, refused, refused, 'STORE_UNAVAILABLE']);
  await store.mutateRows([put('other')]);
  assert.equal((await store.readRow('t', 'other', FILTERS))?.key, 'other');
});

/** A store whose index is not written when it is closed: what was added is small next to it. */
async function closedWithoutIndex(isClosed: boolean): Promise<Map<string, Buffer>> {
  const disk = new SimulatedDisk({ random: createRandom(10) }, healthy.files);
  const sizes = { ...SMALL, hintBytes: 1e9 };
  const store = await openOnDisk(disk, { fsync: true, readOnly: false, sizes });
  const value = Buffer.from('the last one');
  const set = { kind: 'set', family: 'f', qualifier: 'q', timestamp: 9, value } as const;
  await store.mutateRows([{ table: 't', row: 'a', mutations: [set] }]);
  if (isClosed) await store.close();
  return disk.files();
}

for (const readOnly of [true, false]) {
  const mode = readOnly ? 'a reader' : 'a writer';
  test(`after a clean close, ${mode} finds any loss of the last group, though no index was written`, async () => {
    const files = await closedWithoutIndex(true);
    assert.deepEqual(files.get('index'), healthy.files.get('index'));
    const newest = [...files.keys()].findLast((name) => name.endsWith('.log')) as string;
    const log = files.get(newest) as Buffer;
    const flipped = Array.from(log, (_, at) => {
      const bytes = Buffer.from(log);
      bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
      return bytes;
    });
    for (const harmed of [undefined, Buffer.alloc(0), log.subarray(0, -1), ...flipped]) {
      const copy = new Map(files);
      if (harmed === undefined) copy.delete(newest);
      else copy.set(newest, harmed);
      const disk = new SimulatedDisk({ random: createRandom(10) }, copy);
      await assert.rejects(open(disk, readOnly), { code: 'STORE_DAMAGED' });
    }
  });
}

test('after a kill, what is left of a last group that is damaged is told by an opening that salvages', async () => {
  const files = await closedWithoutIndex(false);
  const newest = [...files.keys()].findLast((name) => name.endsWith('.log')) as string;
  const log = Buffer.from(files.get(newest) ?? []);
  log.writeUInt8(log.readUInt8(log.length - 1) ^ 1, log.length - 1);
  const disk = new SimulatedDisk({ random: createRandom(10) }, files.set(newest, log));
  const settings = { fsync: true, readOnly: true, sizes: SMALL };
  await using store = await openOnDisk(disk, { ...settings, salvage: true });
  const sentence = `the last ${log.length} bytes of ${newest} are no whole group: a write that was cut off, or damage`;
  assert.deepEqual(store.damage, [{ severity: 'warning', sentence }]);
});
