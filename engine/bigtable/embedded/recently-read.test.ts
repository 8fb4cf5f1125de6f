/** The claims of recently-read.ts: which records stay in memory, and that they are found whole. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Place } from './leaf.ts';
import { RecentlyRead } from './recently-read.ts';

const MB = 2 ** 20;
/** Sixteen records fill a chunk. */
const LENGTH = MB / 16;

function place(number: number, length = LENGTH): Place {
  return { file: 1 + Math.floor(number / 100), offset: (number % 100) * LENGTH, length };
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
function found(records: RecentlyRead, at: Place): number | undefined {
  const record = records.find(at);
  if (record === undefined) return undefined;
  const { bytes, start } = record;
  const content = bytes[start] as number;
  assert.deepEqual(bytes.subarray(start, start + at.length), recordOf(at, content));
  return content;
}

test('each record is found at its place, and only there', () => {
  const records = new RecentlyRead(8 * MB);
  const places = [place(0), place(1, 100), place(100), place(101, 7)];
  places.forEach((at, i) => readTwice(records, at, recordOf(at, i + 1)));
  assert.deepEqual(
    places.map((at) => found(records, at)),
    [1, 2, 3, 4],
  );
  assert.equal(records.find(place(2)), undefined);
});

test('what is read again stays while others come and go', () => {
  const records = new RecentlyRead(2 * MB); // Each half has one chunk, of sixteen records.
  readTwice(records, place(0), recordOf(place(0), 1));
  for (let number = 1; number <= 200; number++) {
    readTwice(records, place(number), recordOf(place(number), 2));
    if (number % 10 === 0) assert.equal(found(records, place(0)), 1, `after ${number} others`);
  }
  assert.equal(records.find(place(1)), undefined, 'what was not read again has gone');
});

test('what is not read again goes after others have filled at most the whole memory', () => {
  const records = new RecentlyRead(2 * MB);
  readTwice(records, place(0), recordOf(place(0), 1));
  for (let number = 1; number <= 32; number++) {
    readTwice(records, place(number), recordOf(place(0), 2));
  }
  assert.equal(records.find(place(0)), undefined);
  assert.notEqual(records.find(place(32)), undefined);
});

test('a record of more than 64 KiB is not kept, and without memory none is', () => {
  const records = new RecentlyRead(8 * MB);
  const long = place(0, LENGTH + 1);
  readTwice(records, long, recordOf(long, 1));
  assert.equal(records.find(long), undefined);
  const none = new RecentlyRead(0);
  readTwice(none, place(1), recordOf(place(1), 1));
  assert.equal(none.find(place(1)), undefined);
});

test('what is read from the disk once takes no memory, however much of it there is', () => {
  const records = new RecentlyRead(2 * MB);
  readTwice(records, place(0), recordOf(place(0), 1));
  for (let number = 1; number <= 200; number++) records.add(place(number), recordOf(place(0), 2));
  assert.equal(found(records, place(0)), 1);
  assert.equal(records.find(place(200)), undefined);
});
