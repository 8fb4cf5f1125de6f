/** Documents of any stretch of time lie in all regions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentId } from '../crawl-rate/documents/index.ts';
import { DOCUMENTS_MAX, numberOf, splitsFor } from './crawler.ts';

test('no two arrivals have one number', () => {
  const count = 100_000;
  const numbers = new Set(Array.from({ length: count }, (_, i) => numberOf(i)));
  assert.equal(numbers.size, count);
  // An odd stride reaches every number below a power of two once.
  assert.ok(Number.isInteger(Math.log2(DOCUMENTS_MAX)));
  assert.equal(numberOf(1) % 2, 1);
});

test('each region of documents has its share of any hundred arrivals', () => {
  for (const servers of [3, 6, 7]) {
    const { documents = [] } = splitsFor(servers);
    assert.equal(documents.length, servers - 1);
    for (const first of [0, 5_000, 90_000]) {
      const regions = Array.from({ length: 100 }, (_, i) => {
        const row = documentId(numberOf(first + i));
        return documents.filter((split) => split <= row).length;
      });
      const counts = Map.groupBy(regions, (region) => region);
      assert.equal(counts.size, servers);
      for (const { length } of counts.values()) assert.ok(Math.abs(length - 100 / servers) <= 4);
    }
  }
});

test('the keys have at least a region for each server, in order', () => {
  for (const servers of [3, 6, 7]) {
    const { keys = [] } = splitsFor(servers);
    assert.ok(keys.length + 1 >= servers);
    assert.deepEqual(keys, [...new Set(keys)].toSorted());
    assert.ok(keys.every((key) => key > '1/'));
  }
});
