/**
 * The claims of recent.ts: which pieces of the log are in memory, and which records are checked.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Recent } from './recent.ts';
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

function at(offset: number, file = 1) {
  return { file, offset, length: LENGTH };
}

test('an older piece is loaded once, as a whole, and its records are to be checked', () => {
  const recent = new Recent(4 * MB);
  const { read, reads } = fileOf(8 * MB);
  assert.equal(recent.find(at(2 * MB + 5)), undefined);
  const loaded = recent.load(at(2 * MB + 5), read);
  assert.equal(loaded?.isLoaded, true);
  assert.equal(loaded.bytes[recent.startOf(at(2 * MB + 5))], 2);
  assert.equal(recent.find(at(3 * MB - LENGTH)), loaded);
  assert.deepEqual(reads, [{ file: 1, offset: 2 * MB }]);
});

test('what was written needs no check', () => {
  const recent = new Recent(4 * MB);
  recent.add(Buffer.alloc(LENGTH, 7), { file: 2, offset: 0 });
  const piece = recent.find(at(0, 2));
  assert.equal(piece?.isLoaded, false);
  assert.equal(piece.bytes[0], 7);
});

test('the newest pieces of the log stay, in whatever order they are read', () => {
  const recent = new Recent(2 * MB);
  const { read } = fileOf(8 * MB);
  for (const piece of [5, 1, 3, 0]) recent.load(at(piece * MB), read);
  const kept = [0, 1, 3, 5].filter((piece) => recent.find(at(piece * MB)) !== undefined);
  assert.deepEqual(kept, [3, 5]);
  recent.add(Buffer.alloc(LENGTH), { file: 2, offset: 0 });
  assert.equal(recent.find(at(3 * MB)), undefined);
  assert.equal(recent.load(at(3 * MB), read), undefined, 'it would push out a newer one');
});

test('without memory nothing is loaded, and what is being written stays', () => {
  const recent = new Recent(0);
  const { read, reads } = fileOf(8 * MB);
  assert.equal(recent.load(at(0), read), undefined);
  assert.deepEqual(reads, []);
  recent.add(Buffer.alloc(LENGTH), { file: 2, offset: 0 });
  assert.notEqual(recent.find(at(0, 2)), undefined);
});

test('a record that lies in two pieces, or beyond what could be read, is not found', () => {
  const recent = new Recent(4 * MB);
  const { read } = fileOf(MB + 2 * LENGTH);
  assert.equal(recent.load(at(MB - 1), read), undefined);
  assert.notEqual(recent.load(at(MB), read), undefined);
  assert.notEqual(recent.find(at(MB + LENGTH)), undefined);
  assert.equal(recent.find(at(MB + LENGTH + 1)), undefined);
});

test('a piece of which nothing could be read is read again', () => {
  const recent = new Recent(4 * MB);
  const { read, reads } = fileOf(MB);
  assert.equal(
    recent.load(at(0), () => Buffer.alloc(0)),
    undefined,
  );
  assert.notEqual(recent.load(at(0), read), undefined);
  assert.equal(reads.length, 1);
});

test('a piece that ends before a record is read once, however many records it lacks', () => {
  const recent = new Recent(4 * MB);
  const { read, reads } = fileOf(MB + LENGTH);
  for (let record = 1; record < 10; record++) {
    assert.equal(recent.load(at(MB + record * LENGTH), read), undefined);
  }
  assert.equal(reads.length, 1);
  assert.notEqual(recent.find(at(MB)), undefined, 'what it has is found');
});
