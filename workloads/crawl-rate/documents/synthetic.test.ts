/**
 * Claims about the synthetic documents: each can be made alone, and together they cluster as the
 * paper's did.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  clusterOneByOne,
  createSyntheticDocuments,
  describePartition,
  documentId,
  encodeRecord,
  expectedPartition,
  type KeyedDocument,
} from './index.ts';

const options = { repository: 1000, documentBytes: 1024, seed: 7 };

test('document i depends only on the options and on i, not on other documents', () => {
  const forwards = [...createSyntheticDocuments(options).range(0, 50)];
  const another = createSyntheticDocuments(options);
  const backwards = forwards.map((_, i) => another.documentOf(49 - i)).toReversed();
  assert.deepEqual(backwards, forwards);
});

test('another seed gives other documents', () => {
  const one = createSyntheticDocuments(options);
  const other = createSyntheticDocuments({ ...options, seed: 8 });
  assert.notDeepEqual(one.keysOf(0), other.keysOf(0));
  assert.notDeepEqual(one.documentOf(0).contents, other.documentOf(0).contents);
});

test('keysOf gives the keys of the document', () => {
  const documents = createSyntheticDocuments(options);
  for (let i = 0; i < 100; i++) assert.deepEqual(documents.keysOf(i), documents.documentOf(i).keys);
});

test('a record has exactly the bytes asked for', () => {
  fc.assert(
    fc.property(fc.integer({ min: 150, max: 5000 }), fc.nat(2 ** 32 - 1), (documentBytes, i) => {
      const documents = createSyntheticDocuments({ ...options, documentBytes });
      assert.equal(encodeRecord(documents.documentOf(i)).length, documentBytes);
    }),
    { numRuns: 20 },
  );
});

test('documents with the same first key have the same contents', () => {
  const documents = createSyntheticDocuments({ ...options, repository: 4 });
  const byKey = Map.groupBy(documents.range(0, 50), ({ keys }) => keys[0]);
  assert.equal(byKey.size, documents.keySpace);
  for (const [first, ...others] of byKey.values()) {
    for (const other of others) assert.deepEqual(other.contents, first?.contents);
  }
});

test('each key space has 0.75 keys per document of the repository, and its own draws', () => {
  const documents = createSyntheticDocuments(options);
  assert.equal(documents.keySpace, 750);
  const all = [...documents.range(0, 20_000)];
  for (const k of [0, 1, 2] as const) {
    assert.equal(new Set(all.map(({ keys }) => keys[k])).size, 750);
  }
  const alike = all.filter(({ keys: [a, b, c] }) => a === b || b === c || a === c);
  assert.ok(alike.length < 200, `${alike.length} of 20,000 documents have two equal keys`);
});

test("the clusters are the paper's: 3.28 documents on average, 92.5 % with a duplicate", () => {
  for (const seed of [1, 2]) {
    const found = describePartition(clusterOneByOne(keyed(200_000, seed)));
    const expected = expectedPartition(4 / 3);
    for (const measure of ['meanClusterSize', 'nonSingletonShare'] as const) {
      const ratio = found[measure] / expected[measure];
      assert.ok(Math.abs(ratio - 1) < 0.01, `${measure} is ${found[measure]} with seed ${seed}`);
    }
  }
});

test('sizes that make no sense are refused', () => {
  assert.throws(() => createSyntheticDocuments({ ...options, repository: 0 }), /repository/u);
  assert.throws(
    () => createSyntheticDocuments({ ...options, documentBytes: -1 }),
    /documentBytes/u,
  );
});

function* keyed(repository: number, seed: number): Generator<KeyedDocument> {
  const documents = createSyntheticDocuments({ repository, documentBytes: 0, seed });
  for (let i = 0; i < repository; i++) yield { id: documentId(i), keys: documents.keysOf(i) };
}
