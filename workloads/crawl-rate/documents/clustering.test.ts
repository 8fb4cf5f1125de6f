/**
 * Claims about the reference clustering: both definitions give one partition, and a difference is
 * found and named.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  clusterInPhases,
  clusterOneByOne,
  describePartition,
  expectedPartition,
  samePartition,
} from './clustering.ts';
import { documentId, type KeyedDocument } from './document.ts';

/** Documents that often share keys: few different keys, and all three kinds spelt alike. */
const manyDuplicates = fc
  .integer({ min: 1, max: 12 })
  .chain((keySpace) => {
    const key = fc.nat(keySpace).map(String);
    return fc.array(fc.tuple(key, key, key), { maxLength: 40 });
  })
  .map((all) => all.map((keys, i): KeyedDocument => ({ id: documentId(i), keys })));

test('one at a time and in three phases give the same partition', () => {
  fc.assert(
    fc.property(manyDuplicates, (documents) => {
      const difference = samePartition(clusterInPhases(documents), clusterOneByOne(documents));
      assert.equal(difference, undefined);
    }),
    { numRuns: 1000 },
  );
});

test('a representative is the first document of its cluster and represents itself', () => {
  fc.assert(
    fc.property(manyDuplicates, (documents) => {
      const partition = clusterOneByOne(documents);
      for (const [id, representative] of partition) {
        assert.ok(representative <= id);
        assert.equal(partition.get(representative), representative);
      }
    }),
  );
});

test('the first key that hits decides, and later keys are not looked up', () => {
  const partition = clusterOneByOne([
    { id: 'a', keys: ['1', '1', '1'] },
    { id: 'b', keys: ['2', '2', '2'] },
    { id: 'c', keys: ['1', '2', '3'] }, // Joins a by key 1, though key 2 would lead to b.
    { id: 'd', keys: ['4', '4', '3'] }, // c never inserted its key 3.
  ]);
  assert.deepEqual(Object.fromEntries(partition), { a: 'a', b: 'b', c: 'a', d: 'd' });
});

test('a key that missed leads to the cluster that a later key found', () => {
  const partition = clusterOneByOne([
    { id: 'a', keys: ['1', '1', '1'] },
    { id: 'b', keys: ['2', '2', '1'] }, // Joins a by key 3; keys 1 and 2 now lead to a.
    { id: 'c', keys: ['2', '9', '9'] },
    { id: 'd', keys: ['8', '2', '9'] },
  ]);
  assert.deepEqual(new Set(partition.values()), new Set(['a']));
});

test('a partition is described by its sizes', () => {
  const partition = new Map([
    ['a', 'a'],
    ['b', 'a'],
    ['c', 'a'],
    ['d', 'd'],
  ]);
  assert.deepEqual(describePartition(partition), {
    documents: 4,
    clusters: 2,
    meanClusterSize: 2,
    nonSingletonShare: 0.75,
    largestCluster: 3,
    clusterSizePercentile99: 3,
  });
  assert.equal(describePartition(new Map()).meanClusterSize, 0);
});

test("theory gives the paper's two numbers at its load", () => {
  const { meanClusterSize, nonSingletonShare } = expectedPartition(4 / 3);
  assert.equal(meanClusterSize.toFixed(3), '3.283');
  assert.equal(nonSingletonShare.toFixed(4), '0.9250');
});

test('the first difference between partitions is one sentence', () => {
  const expected = new Map([
    ['a', 'a'],
    ['b', 'a'],
  ]);
  const difference = (entries: [string, string][]): string | undefined =>
    samePartition(new Map(entries), expected);
  assert.equal(difference([...expected]), undefined);
  assert.equal(difference([['a', 'a']]), 'document b is in no cluster; it belongs to a');
  assert.equal(
    difference([...expected, ['b', 'b']]),
    'document b is in the cluster of b; it belongs to that of a',
  );
  assert.equal(
    difference([...expected, ['c', 'a']]),
    'document c, in the cluster of a, should not exist',
  );
});
