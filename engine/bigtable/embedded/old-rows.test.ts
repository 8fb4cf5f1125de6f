/** A scan passes over rows that are too old without reading them, and lets other callers go on. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom } from '../../base/index.ts';
import { SimulatedDisk } from '../../testing/index.ts';
import type { Bigtable, Timestamp } from '../bigtable.ts';
import type { DiskFile } from './disk.ts';
import { openOnDisk } from './open-embedded.ts';
import { SIZES } from './log.ts';

const ROWS = 10_000;
/** Nothing that was written or read before is found in memory. */
const FORGETFUL = { ...SIZES, recentBytes: 0, readBytes: 0 };
/** The log is cleaned all the time. */
const CLEANED = { ...FORGETFUL, fileBytes: 64_000, files: 1 };

class WatchedDisk extends SimulatedDisk {
  reads = 0;

  override create(name: string): DiskFile {
    return this.#watched(super.create(name));
  }

  override open(name: string): DiskFile {
    return this.#watched(super.open(name));
  }

  #watched(file: DiskFile): DiskFile {
    const read = file.read.bind(file);
    file.read = (target, position) => {
      this.reads++;
      return read(target, position);
    };
    return file;
  }
}

function open(disk: WatchedDisk, sizes = FORGETFUL): Promise<Bigtable> {
  return openOnDisk(disk, { fsync: true, readOnly: false, sizes });
}

function nameOf(row: number): string {
  return `row ${String(row).padStart(5, '0')}`;
}

async function set(
  store: Bigtable,
  rows: readonly number[],
  timestamp: Timestamp,
  qualifier = 'q',
): Promise<void> {
  const cell = { family: 'f', qualifier, timestamp, value: Buffer.alloc(100) };
  await store.mutateRows(
    rows.map((row) => ({ table: 't', row: nameOf(row), mutations: [{ kind: 'set', ...cell }] })),
  );
}

async function load(store: Bigtable, length: number = ROWS): Promise<void> {
  await store.createTable('t', { families: ['f', 'g'] });
  const rows = Array.from({ length }, (_, i) => i);
  await set(store, rows, 10);
}

/** In key order, wherever the scan begins. */
async function newerThan(
  store: Bigtable,
  from: Timestamp,
  { reverse = false } = {},
): Promise<readonly string[]> {
  const rows = await store.readRange('t', { limit: Infinity, reverse }, [
    { family: 'f', from },
    { family: 'g', from: from + 1 },
  ]);
  const keys = rows.map(({ key }) => key);
  return reverse ? keys.toReversed() : keys;
}

/** A scan gives way after each 4,096 keys (row-pages.ts). */
const CHANGED = [17, 4_095, 4_096, 9_999];

describe('rows without a cell as new as a scan wants are not read', () => {
  async function assertSkipped(disk: WatchedDisk, store: Bigtable): Promise<void> {
    for (const reverse of [false, true]) {
      disk.reads = 0;
      assert.deepEqual(await newerThan(store, 20, { reverse }), CHANGED.map(nameOf));
      assert.ok(disk.reads <= CHANGED.length, `${disk.reads} reads`);
      assert.deepEqual(await newerThan(store, 21, { reverse }), []);
      assert.equal((await newerThan(store, 10, { reverse })).length, ROWS);
    }
  }

  for (const [how, sizes, hasHint] of [
    ['in the store that wrote them', FORGETFUL, undefined],
    ['nor if the store was closed, and opened again', FORGETFUL, true],
    ['nor if it was opened without its hint', FORGETFUL, false],
    ['nor if they were cleaned, which writes them again', CLEANED, undefined],
  ] as const) {
    test(how, async () => {
      const disk = new WatchedDisk({ random: createRandom(1) });
      let store = await open(disk, sizes);
      await load(store);
      await set(store, CHANGED, 20);
      if (sizes === CLEANED) {
        const first = disk.names().find((name) => name.endsWith('.log')) ?? 'no log';
        assert.match(first, /\.log$/);
        for (let i = 0; i < 2_000; i++) await set(store, [CHANGED[i % 4] as number], 20);
        assert.ok(!disk.names().includes(first), 'what was loaded was written again');
      }
      if (hasHint !== undefined) {
        await store.close();
        assert.ok(disk.names().includes('index'));
        if (!hasHint) disk.remove('index');
        store = await open(disk);
      }
      await assertSkipped(disk, store);
      await store.close();
    });
  }

  test('but a row is read whole if any of its pages has such a cell', async () => {
    const disk = new WatchedDisk({ random: createRandom(1) });
    await using store = await open(disk);
    await load(store);
    const columns = Array.from({ length: 100 }, (_, i) => `column ${String(i).padStart(2, '0')}`);
    for (const column of columns) await set(store, [5], 10, column);
    await set(store, [5], 20, columns.at(-1));
    const [row] = await store.readRange('t', { limit: 1 }, [
      { family: 'f', qualifier: columns.at(-1), from: 15 },
      { family: 'f', from: 20, to: 30 },
    ]);
    assert.deepEqual([row?.key, row?.cells.length], [nameOf(5), 2]);
    await set(store, [5], 30, columns[0]);
    for (const reverse of [false, true]) {
      assert.deepEqual(await newerThan(store, 20, { reverse }), [nameOf(5)]);
      assert.deepEqual(await newerThan(store, 25, { reverse }), [nameOf(5)]);
      assert.deepEqual(await newerThan(store, 31, { reverse }), []);
    }
  });

  test('and a row is old again when its newest cell was erased', async () => {
    const disk = new WatchedDisk({ random: createRandom(1) });
    await using store = await open(disk);
    await load(store);
    await set(store, [5], 20);
    const erase = { kind: 'erase', family: 'f', qualifier: 'q', from: 20, to: 20 } as const;
    await store.mutateRows([{ table: 't', row: nameOf(5), mutations: [erase] }]);
    disk.reads = 0;
    assert.deepEqual(await newerThan(store, 20), []);
    assert.equal(disk.reads, 0);
  });
});

describe('a scan of many rows', () => {
  test('lets other callers go first, and sees what they change further on', async () => {
    await using store = await open(new WatchedDisk({ random: createRandom(1) }));
    await load(store);
    const scanning = newerThan(store, 20);
    await set(store, CHANGED, 20);
    const found = await scanning;
    assert.ok(found.length < CHANGED.length && found.includes(nameOf(9_999)), `${found.length}`);
  });

  test('in reverse lets other callers go first, too, and sees what they change further on', async () => {
    await using store = await open(new WatchedDisk({ random: createRandom(1) }));
    await load(store);
    const scanning = newerThan(store, 20, { reverse: true });
    await set(store, CHANGED, 20);
    const found = await scanning;
    assert.ok(found.length < CHANGED.length && found.includes(nameOf(17)), `${found.length}`);
  });

  test('in reverse finds each row once, whatever pages and rows come and go where it gives way', async () => {
    await using store = await open(new WatchedDisk({ random: createRandom(1) }));
    const rows = 2 * 4_096;
    await load(store, rows);
    const edges = [4_094, 4_095, 4_096, 4_097];
    const columns = Array.from({ length: 40 }, (_, i) => `column ${String(i).padStart(2, '0')}`);
    for (const column of columns) await set(store, edges, 10, column);
    const filter = { family: 'f', qualifier: 'q' };
    const range = { limit: Infinity, reverse: true };
    const scanning = store.readRange('t', range, [filter]);
    // Pages that become one, and pages that become several; all rows stay.
    const erases = columns.map((qualifier) => {
      return { kind: 'erase', family: 'f', qualifier, from: 0, to: 20 } as const;
    });
    await store.mutateRows(
      edges.slice(0, 3).map((row) => ({ table: 't', row: nameOf(row), mutations: erases })),
    );
    const found = (await scanning).map(({ key }) => key);
    assert.deepEqual(
      found,
      Array.from({ length: rows }, (_, i) => nameOf(rows - 1 - i)),
    );
  });

  /**
   * A row of two pages, of which the first is small, or gone. A small page is joined with the next
   * one, and both are found at the place of the first, when a cell of the first page is set.
   */
  async function addLargeRow(store: Bigtable, row: number, hasFirst: boolean): Promise<void> {
    const columns = Array.from({ length: 20 }, (_, i) => `column ${String(i).padStart(2, '0')}`);
    for (const column of columns) await set(store, [row], 10, column);
    const erases = columns.slice(hasFirst ? 1 : 0, -1).map((qualifier) => {
      return { kind: 'erase', family: 'f', qualifier, from: 0, to: 20 } as const;
    });
    // All at once, the first page is empty, and so is not joined. One by one, the second page is
    // too large to be joined with the first one when that changes.
    for (const mutations of hasFirst ? erases.map((one) => [one]) : [erases]) {
      await store.mutateRows([{ table: 't', row: nameOf(row), mutations }]);
    }
    if (hasFirst) await set(store, [row], 20, columns.at(-1));
  }

  for (const [pages, rows, from] of [
    ['both pages', 2 * 4_096 - 1, 20],
    ['its second page alone', 2 * 4_096, 0],
  ] as const) {
    test(`finds a row that had ${pages} and is moved where the scan gives way`, async () => {
      await using store = await open(new WatchedDisk({ random: createRandom(1) }));
      await load(store, rows);
      await addLargeRow(store, rows, from > 0);
      const filter = { family: 'f', qualifier: 'column 19', from };
      const scanning = store.readRange('t', { limit: Infinity }, [filter]);
      await set(store, [rows], 10, 'column 00');
      assert.deepEqual(
        (await scanning).map(({ key }) => key),
        [nameOf(rows)],
      );
    });
  }

  test('ends before the store is closed', async () => {
    const store = await open(new WatchedDisk({ random: createRandom(1) }));
    await load(store);
    const scanning = newerThan(store, 10);
    await store.close();
    assert.equal((await scanning).length, ROWS);
  });

  for (const next of ['gone', 'made again'] as const) {
    test(`fails if its table is dropped meanwhile, and then ${next}`, async () => {
      await using store = await open(new WatchedDisk({ random: createRandom(1) }));
      await load(store, 50_000);
      const scanning = newerThan(store, 20);
      const failing = assert.rejects(scanning, { code: 'TABLE_NOT_FOUND' });
      const changes = [store.dropTable('t')];
      if (next === 'made again') changes.push(store.createTable('t', { families: ['f', 'g'] }));
      await Promise.all([failing, ...changes]);
    });
  }
});
