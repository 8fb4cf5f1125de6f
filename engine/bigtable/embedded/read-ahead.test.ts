/** The claims of read-ahead.ts: when it reads ahead, and that each record is found whole. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Place } from './leaf.ts';
import { ReadAhead } from './read-ahead.ts';
import type { Mark } from './record.ts';

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
