/**
 * Claims of the log that need a simulated file: offsets and data larger than a test can write,
 * files that fail to close, and reading ahead.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cleaner } from './cleaner.ts';
import type { Disk, DiskFile } from './disk.ts';
import type { Place } from './leaf.ts';
import { Log, SIZES } from './log.ts';
import { GroupWriter, type Mark } from './record.ts';
import { SortedIndex } from './sorted-index.ts';

/** A disk that forgets what is written. */
function nowhere(): Disk {
  const file: DiskFile = {
    size: () => 0,
    read: () => 0,
    write: () => undefined,
    sync: async () => undefined,
    truncate: () => undefined,
    close: () => undefined,
  };
  return {
    names: () => [],
    open: () => file,
    create: () => file,
    rename: () => undefined,
    remove: () => undefined,
    sync: async () => undefined,
    lost: () => undefined,
    close: () => undefined,
  };
}

test('a file ends before its offsets need more than 32 bits, however much data there is', async () => {
  const end = { file: 0, offset: 0 };
  const state = { store: 1, files: new Map(), end, sequence: 0, oldest: 0, newest: 0 };
  const log = new Log(nowhere(), state, SIZES);
  const dataBytes = 2 ** 40;
  let at: Mark = log.next(dataBytes);
  await log.append(Buffer.alloc(100), at);
  at = log.next(dataBytes);
  assert.deepEqual(at, { file: 1, offset: 100 }, 'a small file goes on');
  // As if the groups between had been written.
  await log.append(Buffer.alloc(100), { file: 1, offset: 2 ** 32 - 200 });
  at = log.next(dataBytes);
  assert.deepEqual(at, { file: 2, offset: 0 });
  const writer = new GroupWriter();
  writer.begin(at);
  assert.doesNotThrow(
    () => writer.finish(log.header(at, 1)),
    'the header holds where the file ends',
  );
});

test('data that fills many of the largest files is not cleaned because of their number', () => {
  const unreadable = nowhere().open('');
  const [newest, size] = [200, 2 ** 31];
  const files = new Map(
    Array.from({ length: newest }, (_, i) => [i + 1, { file: unreadable, size }] as const),
  );
  const end = { file: newest, offset: size };
  const log = new Log(nowhere(), { store: 1, files, end, sequence: 1, oldest: 1, newest }, SIZES);
  const index = new SortedIndex();
  const rewrite = (): never => assert.fail('nothing is written again');
  const cleaner = new Cleaner({ index, log, pendingRow: rewrite, rewrite });
  // A cleaner at work reads the oldest file, and fails.
  assert.throws(() => cleaner.clean(), /ends too early/);
  const entry = { file: 1, offset: 0, length: 10, footprint: 2 ** 32 - 1, newest: 1 };
  for (let i = 0; i < 40; i++) index.set(Buffer.from(`row ${i}`), entry); // 160 GiB of data.
  assert.doesNotThrow(() => new Cleaner({ index, log, pendingRow: rewrite, rewrite }).clean());
});

test('a file that cannot be closed does not leave the others open, and is reported', () => {
  const closed: number[] = [];
  const fileOf = (number: number): DiskFile => ({
    ...nowhere().open(''),
    close: () => {
      closed.push(number);
      if (number < 3) throw new Error(`file ${number}`);
    },
  });
  const files = new Map([1, 2, 3].map((number) => [number, { file: fileOf(number), size: 0 }]));
  const end = { file: 3, offset: 0 };
  const log = new Log(
    nowhere(),
    { store: 1, files, end, sequence: 0, oldest: 1, newest: 3 },
    SIZES,
  );
  assert.throws(() => log.close(), /file 1/);
  assert.deepEqual(closed, [1, 2, 3]);
});

/** A log of one group with a hundred records, none of which stays in memory. */
function recordsOnDisk(): {
  readonly log: Log;
  readonly places: readonly Place[];
  readonly bytes: Buffer;
  readonly reads: () => number;
} {
  const writer = new GroupWriter();
  writer.begin({ file: 1, offset: 0 });
  const places = Array.from({ length: 100 }, (_, i) =>
    writer.add('page', Buffer.from(`row ${i}`), Buffer.alloc(300, i), 0),
  );
  const base = { file: 0, offset: 0 };
  const header = { store: 1, sequence: 1, base, oldest: 1, unsynced: 0 };
  const bytes = Buffer.from(writer.finish(header));
  let reads = 0;
  const file: DiskFile = {
    ...nowhere().open(''),
    read: (target, offset) => {
      reads++;
      return bytes.copy(target, 0, offset);
    },
  };
  const files = new Map([[1, { file, size: bytes.length }]]);
  const end = { file: 2, offset: 0 };
  const state = { store: 1, files, end, sequence: 1, oldest: 1, newest: 1 };
  const log = new Log(nowhere(), state, { ...SIZES, recentBytes: 0, readBytes: 0 });
  return { log, places, bytes, reads: () => reads };
}

test('records that are read in the order of the log ask the disk for many at a time', () => {
  const { log, places, reads } = recordsOnDisk();
  for (const [i, place] of places.entries()) {
    assert.deepEqual(log.readBody(place), Buffer.alloc(300, i));
  }
  assert.ok(reads() < 10, `${reads()} reads`);
});

test('a damaged record that was read ahead is noticed, and the others are read', () => {
  const { log, places, bytes } = recordsOnDisk();
  const damaged = places[50] as Place;
  bytes[damaged.offset + 100] = 255;
  for (const place of places) {
    if (place === damaged) assert.throws(() => log.readBody(place), /has the wrong checksum/);
    else assert.equal(log.readBody(place).length, 300);
  }
});

test('the long values of a page may have more bytes than 32 bits count', () => {
  const writer = new GroupWriter();
  writer.begin({ file: 1, offset: 0 });
  assert.doesNotThrow(() => writer.add('page', Buffer.from('k'), Buffer.from('b'), 2 ** 32));
});
