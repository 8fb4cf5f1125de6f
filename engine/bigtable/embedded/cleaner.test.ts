/** The claims of cleaner.ts: it takes small steps, whatever it finds, and keeps up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../../base/index.ts';
import { SimulatedDisk } from '../../testing/index.ts';
import type { Bigtable } from '../bigtable.ts';
import type { DiskFile } from './disk.ts';
import { openOnDisk } from './open-embedded.ts';
import { SIZES } from './log.ts';

const ROWS = 500;
const VALUE_BYTES = 1_000;
const SMALL = { ...SIZES, fileBytes: 64_000, garbageBytes: 0, recentBytes: 0, readBytes: 0 };
const FILTERS = [{ family: 'f' }];

class WatchedDisk extends SimulatedDisk {
  /** Bytes of each write to the log. */
  readonly writes: number[] = [];

  override create(name: string): DiskFile {
    const file = super.create(name);
    const write = file.write.bind(file);
    file.write = (bytes, position) => {
      if (name.endsWith('.log')) this.writes.push(bytes.length);
      return write(bytes, position);
    };
    return file;
  }
}

function setting(qualifier: string, value: Buffer) {
  return { kind: 'set', family: 'f', qualifier, timestamp: 1, value } as const;
}

async function load(store: Bigtable): Promise<void> {
  await store.createTable('t', { families: ['f'] });
  const value = Buffer.alloc(200, 'needed');
  const rows = Array.from({ length: ROWS }, (_, i) => `row ${i}`);
  await store.mutateRows(
    rows.map((row) => ({ table: 't', row, mutations: [setting('q', value)] })),
  );
}

/** Long values in one file, and their pages, which were changed since, in the next ones. */
async function loadLongValues(store: Bigtable): Promise<void> {
  await store.createTable('t', { families: ['f'] });
  const cells = [setting('long', Buffer.alloc(600)), setting('small', Buffer.alloc(500))];
  const rows = Array.from({ length: ROWS }, (_, i) => `row ${i}`);
  await store.mutateRows(rows.map((row) => ({ table: 't', row, mutations: cells })));
  for (const row of rows) {
    await store.mutateRows([{ table: 't', row, mutations: [setting('flag', Buffer.alloc(1))] }]);
  }
}

test('values whose pages are elsewhere are cleaned in small steps', async () => {
  const disk = new WatchedDisk({ random: createRandom(1) });
  await using store = await openOnDisk(disk, { fsync: true, readOnly: false, sizes: SMALL });
  await loadLongValues(store);
  const first = disk.names().find((name) => name.endsWith('.log'));
  const loaded = disk.writes.length;
  for (let i = 0; i < 3_000; i++) {
    const mutations = [setting('q', Buffer.alloc(VALUE_BYTES, `${i} `))];
    await store.mutateRows([{ table: 't', row: 'hot', mutations }]);
  }
  const largest = Math.max(...disk.writes.slice(loaded));
  // The value of the caller, and four times as much that the cleaner reads: values, which are
  // written again with their pages.
  assert.ok(largest < 14 * VALUE_BYTES, `a step of ${largest} bytes`);
  assert.ok(first !== undefined && !disk.names().includes(first), 'the first file was cleaned');
});

test('a file that is needed as a whole is cleaned in small steps', async () => {
  const disk = new WatchedDisk({ random: createRandom(1) });
  await using store = await openOnDisk(disk, { fsync: true, readOnly: false, sizes: SMALL });
  await load(store);
  const first = disk.names().find((name) => name.endsWith('.log'));
  const loaded = disk.writes.length;
  for (let i = 0; i < 1_000; i++) {
    const mutations = [setting('q', Buffer.alloc(VALUE_BYTES, `${i} `))];
    await store.mutateRows([{ table: 't', row: 'hot', mutations }]);
  }
  const largest = Math.max(...disk.writes.slice(loaded));
  // The value of the caller, and four times as much that the cleaner reads.
  assert.ok(largest < 8 * VALUE_BYTES, `a step of ${largest} bytes`);
  assert.ok(first !== undefined && !disk.names().includes(first), 'the first file was cleaned');
  const logs = disk.names().filter((name) => name.endsWith('.log'));
  assert.ok(logs.length < 10, `${logs.length} files for two files of data`);
  const rows = await store.readRange('t', { start: '', limit: 2 * ROWS }, FILTERS);
  assert.equal(rows.length, ROWS + 1);
});
