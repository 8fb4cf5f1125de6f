/**
 * Three ways to bring equal keys together (hash, sort, external merge), each compared with an
 * obvious one.
 */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ByteBuilder, compareBytes, hashBytes, Slice } from './bytes.ts';
import { ExternalMerge } from './external-merge.ts';
import { forEachGroupByHash, forEachGroupBySort } from './grouping.ts';
import type { ValueCursor } from './job.ts';
import { RecordBuffer, recordBytes } from './record-buffer.ts';
import { fitsMemory } from './tasks.ts';
import { temporaryFolder } from '../engine/testing/temporary-folder.ts';

type KeyAndValue = readonly [key: string, value: string];
type Groups = [key: string, values: string[]][];

/** Keys that are often equal, share prefixes, end in zero bytes and are prefixes of one another. */
const key = fc.oneof(
  fc.string({ unit: fc.constantFrom('\0', 'a', 'b'), maxLength: 9 }),
  fc.nat(300).map((n) => `k${String(n).padStart(9, '0')}`),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
const pairs = fc.array(fc.tuple(key, fc.string({ maxLength: 60 })), {
  maxLength: 400,
  size: 'max',
});

/**
 * One of four hashes, so most keys that have the same hash differ. The hashes lead to the last
 * slots of any table, so the search for a free slot goes on at the first one.
 */
function crowdedHash(keySlice: Slice): number {
  return hashBytes(keySlice) | ~3;
}

function bufferOf(records: readonly KeyAndValue[], hash = hashBytes): RecordBuffer {
  const buffer = new RecordBuffer(16);
  for (const pair of records) {
    const [keySlice, value] = pair.map((text) => new Slice(Buffer.from(text))) as [Slice, Slice];
    if (!buffer.fits(keySlice, value)) buffer.grow(buffer.byteLength * 2 + 4096);
    buffer.append(hash(keySlice), keySlice, value);
  }
  return buffer;
}

function collect(visitAll: (visit: (key: Slice, values: ValueCursor) => void) => void): Groups {
  const groups: Groups = [];
  visitAll((groupKey, values) => {
    const texts: string[] = [];
    const name = groupKey.toString();
    while (values.next()) texts.push(values.value.toString());
    groups.push([name, texts]);
  });
  return groups;
}

function obviousGroups(records: readonly KeyAndValue[]): Groups {
  return [...Map.groupBy(records, ([name]) => name)].map(([name, group]) => [
    name,
    group.map(([, value]) => value),
  ]);
}

function inByteOrder(groups: Groups): Groups {
  return groups.toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

test('grouping by hash gives each key once, in order of appearance, with its values in order', () => {
  fc.assert(
    fc.property(pairs, (records) => {
      for (const hash of [hashBytes, crowdedHash]) {
        const groups = collect((visit) => forEachGroupByHash(bufferOf(records, hash), visit));
        assert.deepEqual(groups, obviousGroups(records));
      }
    }),
  );
});

test('grouping by sort gives each key once, in byte order, with its values in order', () => {
  fc.assert(
    fc.property(pairs, (records) => {
      const groups = collect((visit) => forEachGroupBySort(bufferOf(records), visit));
      assert.deepEqual(groups, inByteOrder(obviousGroups(records)));
    }),
  );
});

test('grouping by sort does not overflow the stack on thousands of keys, each a prefix of the next', () => {
  const count = 8000;
  const text = Buffer.alloc(4 * count, 'k');
  const chain = Array.from({ length: count }, (_, i) => new Slice(text, 0, 4 * i));
  const nothing = new Slice();
  const buffer = new RecordBuffer(chain.reduce((sum, one) => sum + recordBytes(one, nothing), 0));
  for (const link of chain) buffer.append(hashBytes(link), link, nothing);
  const lengths: number[] = [];
  forEachGroupBySort(buffer, ({ length }) => lengths.push(length));
  assert.deepEqual(
    lengths,
    Array.from({ length: count }, (_, i) => 4 * i),
  );
});

test('an external merge in next to no memory gives the same as sorting in memory', async () => {
  const folder = temporaryFolder();
  let number = 0;
  let runs = 0;
  fc.assert(
    fc.property(fc.array(pairs, { maxLength: 5 }), (parts) => {
      using merge = new ExternalMerge(join(folder, String(number++)), 2048);
      for (const part of parts) merge.add(bufferOf(part));
      const groups = collect((visit) => merge.forEachGroup(visit));
      assert.deepEqual(groups, inByteOrder(obviousGroups(parts.flat())));
      runs = Math.max(runs, merge.report.runs);
    }),
    { numRuns: 50 },
  );
  assert.ok(runs > 2, 'several sorted runs were written and merged');
  assert.deepEqual(await readdir(folder), [], 'and none is left');
});

test('more runs than can be merged at once are merged in several passes', async () => {
  const folder = temporaryFolder();
  const records = Array.from({ length: 3000 }, (_, i): KeyAndValue => [
    `key ${(i * 7919) % 500}`,
    `${i}`,
  ]);
  using merge = new ExternalMerge(join(folder, 'runs'), 2048);
  merge.add(bufferOf(records));
  const groups = collect((visit) => merge.forEachGroup(visit));
  assert.deepEqual(groups, inByteOrder(obviousGroups(records)));
  assert.ok(merge.report.merges > 10, `${merge.report.merges} merges`);
});

test('a reducer that does not ask for all values does not disturb the next group', async () => {
  const folder = temporaryFolder();
  const records: KeyAndValue[] = [['a', '1'], ['a', '2'], ['b', '3'], ['a', '4'], ['c', '5']]; // oxfmt-ignore
  using merge = new ExternalMerge(join(folder, 'runs'), 2048);
  merge.add(bufferOf(records));
  const keysOf = (visitAll: (visit: (key: Slice) => void) => void): string[] => {
    const keys: string[] = [];
    visitAll((name) => keys.push(name.toString()));
    return keys;
  };
  assert.deepEqual(
    keysOf((visit) => merge.forEachGroup(visit)),
    ['a', 'b', 'c'],
  );
  assert.deepEqual(
    keysOf((visit) => forEachGroupByHash(bufferOf(records), visit)),
    ['a', 'b', 'c'],
  );
});

test('a partition of more than 8 GiB is merged on the disk, however much memory there is', () => {
  const most = 8 * 2 ** 30;
  for (const grouping of ['hash', 'sort'] as const) {
    const task = { grouping, memoryBytes: 2 ** 40 };
    assert.ok(fitsMemory(task, { bytes: most, records: 1000 }));
    assert.ok(!fitsMemory(task, { bytes: most + 4, records: 1000 }));
  }
});

test('a key that lies beyond 4 GiB of a partition is copied whole', () => {
  const buffer = new RecordBuffer(2 ** 32 + 4096); // The system gives only the pages in use.
  buffer.wordCount = 2 ** 30;
  const long = new Slice(Buffer.alloc(60, 'k'));
  buffer.append(hashBytes(long), long, long);
  const copied = new ByteBuilder();
  const found = new Slice();
  buffer.keyAt(2 ** 30, found);
  copied.appendSlice(found);
  assert.equal(copied.bytes.toString('utf8', 0, copied.length), 'k'.repeat(60));
});

test('byte order is that of Buffer.compare', () => {
  const bytes = fc.uint8Array({ maxLength: 12 }).map((array) => Buffer.from(array));
  fc.assert(
    fc.property(bytes, bytes, (a, b) => {
      assert.equal(Math.sign(compareBytes(new Slice(a), new Slice(b))), Buffer.compare(a, b));
    }),
  );
});
