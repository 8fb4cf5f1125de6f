/**
 * The claims of log-memory.ts. First of `Recent`: which pieces of the log are in memory, and which
 * records are checked.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Place } from './leaf.ts';
import { ReadAhead, Recent, RecentlyRead } from './log-memory.ts';
import type { Mark } from './record.ts';

const MB = 2 ** 20;
const LENGTH = 100;

/** A file whose bytes say in which megabyte they are; counts how often it is read. */
function fileOf(size: number): {
  readonly read: (from: Mark, bytesMax: number) => Buffer;
  readonly reads: Mark[];
} {
  const reads: Mark[] = [];
  const read = (from: Mark, bytesMax: number): Buffer => {
    reads.push(from);
    return Buffer.alloc(Math.min(bytesMax, size - from.offset), from.offset / MB);
  };
  return { read, reads };
}

function placeAt(offset: number, file = 1) {
  return { file, offset, length: LENGTH };
}

test('an older piece is loaded once, as a whole, and its records are to be checked', () => {
  const recent = new Recent(4 * MB);
  const { read, reads } = fileOf(8 * MB);
  assert.equal(recent.find(placeAt(2 * MB + 5)), undefined);
  const loaded = recent.load(placeAt(2 * MB + 5), read);
  assert.equal(loaded?.isLoaded, true);
  assert.equal(loaded.bytes[recent.startOf(placeAt(2 * MB + 5))], 2);
  assert.equal(recent.find(placeAt(3 * MB - LENGTH)), loaded);
  assert.deepEqual(reads, [{ file: 1, offset: 2 * MB }]);
});

test('what was written needs no check', () => {
  const recent = new Recent(4 * MB);
  recent.add(Buffer.alloc(LENGTH, 7), { file: 2, offset: 0 });
  const piece = recent.find(placeAt(0, 2));
  assert.equal(piece?.isLoaded, false);
  assert.equal(piece.bytes[0], 7);
});

test('the newest pieces of the log stay, in whatever order they are read', () => {
  const recent = new Recent(2 * MB);
  const { read } = fileOf(8 * MB);
  for (const piece of [5, 1, 3, 0]) recent.load(placeAt(piece * MB), read);
  const kept = [0, 1, 3, 5].filter((piece) => recent.find(placeAt(piece * MB)) !== undefined);
  assert.deepEqual(kept, [3, 5]);
  recent.add(Buffer.alloc(LENGTH), { file: 2, offset: 0 });
  assert.equal(recent.find(placeAt(3 * MB)), undefined);
  assert.equal(recent.load(placeAt(3 * MB), read), undefined, 'it would push out a newer one');
});

test('without memory nothing is loaded, and what is being written stays', () => {
  const recent = new Recent(0);
  const { read, reads } = fileOf(8 * MB);
  assert.equal(recent.load(placeAt(0), read), undefined);
  assert.deepEqual(reads, []);
  recent.add(Buffer.alloc(LENGTH), { file: 2, offset: 0 });
  assert.notEqual(recent.find(placeAt(0, 2)), undefined);
});

test('a record that lies in two pieces, or beyond what could be read, is not found', () => {
  const recent = new Recent(4 * MB);
  const { read } = fileOf(MB + 2 * LENGTH);
  assert.equal(recent.load(placeAt(MB - 1), read), undefined);
  assert.notEqual(recent.load(placeAt(MB), read), undefined);
  assert.notEqual(recent.find(placeAt(MB + LENGTH)), undefined);
  assert.equal(recent.find(placeAt(MB + LENGTH + 1)), undefined);
});

test('a piece of which nothing could be read is read again', () => {
  const recent = new Recent(4 * MB);
  const { read, reads } = fileOf(MB);
  assert.equal(
    recent.load(placeAt(0), () => Buffer.alloc(0)),
    undefined,
  );
  assert.notEqual(recent.load(placeAt(0), read), undefined);
  assert.equal(reads.length, 1);
});

test('a piece that ends before a record is read once, however many records it lacks', () => {
  const recent = new Recent(4 * MB);
  const { read, reads } = fileOf(MB + LENGTH);
  for (let record = 1; record < 10; record++) {
    assert.equal(recent.load(placeAt(MB + record * LENGTH), read), undefined);
  }
  assert.equal(reads.length, 1);
  assert.notEqual(recent.find(placeAt(MB)), undefined, 'what it has is found');
});

/* `RecentlyRead`: which records stay in memory, and that they are found whole. */

/** Sixteen records fill a chunk. */
const SIXTEENTH = MB / 16;

function numbered(number: number, length = SIXTEENTH): Place {
  return { file: 1 + Math.floor(number / 100), offset: (number % 100) * SIXTEENTH, length };
}

function recordOf({ length }: Place, content: number): Buffer {
  return Buffer.alloc(length, content);
}

/** Reads a record from the disk twice. */
function readTwice(records: RecentlyRead, at: Place, record: Buffer): void {
  records.add(at, record);
  records.add(at, record);
}

/** What is found there; undefined if nothing is. */
function contentOf(records: RecentlyRead, at: Place): number | undefined {
  const record = records.find(at);
  if (record === undefined) return undefined;
  const { bytes, start } = record;
  const content = bytes[start] as number;
  assert.deepEqual(bytes.subarray(start, start + at.length), recordOf(at, content));
  return content;
}

test('each record is found at its place, and only there', () => {
  const records = new RecentlyRead(8 * MB);
  const places = [numbered(0), numbered(1, 100), numbered(100), numbered(101, 7)];
  places.forEach((at, i) => readTwice(records, at, recordOf(at, i + 1)));
  assert.deepEqual(
    places.map((at) => contentOf(records, at)),
    [1, 2, 3, 4],
  );
  assert.equal(records.find(numbered(2)), undefined);
});

test('what is read again stays while others come and go', () => {
  const records = new RecentlyRead(2 * MB); // Each half has one chunk, of sixteen records.
  readTwice(records, numbered(0), recordOf(numbered(0), 1));
  for (let number = 1; number <= 200; number++) {
    readTwice(records, numbered(number), recordOf(numbered(number), 2));
    if (number % 10 > 0) continue;
    assert.equal(contentOf(records, numbered(0)), 1, `after ${number} others`);
  }
  assert.equal(records.find(numbered(1)), undefined, 'what was not read again has gone');
});

test('what is not read again goes after others have filled at most the whole memory', () => {
  const records = new RecentlyRead(2 * MB);
  readTwice(records, numbered(0), recordOf(numbered(0), 1));
  for (let number = 1; number <= 32; number++) {
    readTwice(records, numbered(number), recordOf(numbered(0), 2));
  }
  assert.equal(records.find(numbered(0)), undefined);
  assert.notEqual(records.find(numbered(32)), undefined);
});

test('a record of more than 64 KiB is not kept, and without memory none is', () => {
  const records = new RecentlyRead(8 * MB);
  const long = numbered(0, SIXTEENTH + 1);
  readTwice(records, long, recordOf(long, 1));
  assert.equal(records.find(long), undefined);
  const none = new RecentlyRead(0);
  readTwice(none, numbered(1), recordOf(numbered(1), 1));
  assert.equal(none.find(numbered(1)), undefined);
});

test('what is read from the disk once takes no memory, however much of it there is', () => {
  const records = new RecentlyRead(2 * MB);
  readTwice(records, numbered(0), recordOf(numbered(0), 1));
  for (let number = 1; number <= 200; number++) {
    records.add(numbered(number), recordOf(numbered(0), 2));
  }
  assert.equal(contentOf(records, numbered(0)), 1);
  assert.equal(records.find(numbered(200)), undefined);
});

/* `ReadAhead`: when it reads ahead, and that each record is found whole. */

/** Two files whose bytes tell where they are; and how often they were read. */
class Files {
  readonly ahead = new ReadAhead();
  readonly bytes = [1, 2].map((file) =>
    Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7 + (i >> 8) + file) % 251)),
  );
  reads = 0;

  /** Whether the record was found, with the right bytes. */
  has(place: Place): boolean {
    const found = this.ahead.find(place, this.#read);
    const { file, offset, length } = place;
    if (found !== undefined) {
      assert.deepEqual(found, this.bytes[file]?.subarray(offset, offset + length));
    }
    return found !== undefined;
  }

  readonly #read = ({ file, offset }: Mark, bytesMax: number): Buffer => {
    this.reads++;
    return this.bytes[file]?.subarray(offset, offset + bytesMax) ?? Buffer.alloc(0);
  };
}

test('records in the order of the log are read many at a time, with holes between them', () => {
  const files = new Files();
  const found = Array.from({ length: 200 }, (_, i) =>
    files.has({ file: 0, offset: i * 450, length: 300 }),
  );
  assert.deepEqual(found.indexOf(true), 1, 'the first is read alone');
  assert.equal(found.filter((one) => !one).length, 1);
  assert.ok(files.reads < 10, `${files.reads} reads`);
});

test('nothing is read ahead where records follow each other in no order', () => {
  const files = new Files();
  const places = [50_000, 10_000, 49_000, 0, 20_000].map((offset) => ({ file: 0, offset }));
  for (const place of places) assert.equal(files.has({ ...place, length: 100 }), false);
  assert.equal(files.has({ file: 1, offset: 20_100, length: 100 }), false, 'of another file');
  assert.equal(files.reads, 0);
});

test('a record of another file at the same offset is another record', () => {
  const files = new Files();
  files.has({ file: 0, offset: 0, length: 100 });
  assert.ok(files.has({ file: 0, offset: 100, length: 100 }));
  assert.equal(files.has({ file: 1, offset: 200, length: 100 }), false);
  assert.ok(files.has({ file: 1, offset: 300, length: 100 }));
});

test('a record that is longer than what is read ahead, or lacks its end, is not found', () => {
  const files = new Files();
  files.has({ file: 0, offset: 0, length: 100 });
  assert.equal(files.has({ file: 0, offset: 100, length: 20_000 }), false);
  assert.equal(files.reads, 0, 'nothing is read in vain');
  assert.equal(files.has({ file: 0, offset: 99_900, length: 50 }), false);
  assert.equal(files.has({ file: 0, offset: 99_950, length: 100 }), false);
});
