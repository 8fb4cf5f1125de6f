/** The table that a run prints states no percentile of too few documents. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { readRunRecord } from '#results';
import { summaryTable } from './summary.ts';

test('a 99th percentile needs a hundred documents, and every latency has its count', () => {
  const record = readRunRecord(path.join(import.meta.dirname, '../../results/reference/figure-7'));
  const [first, second] = summaryTable(record).rows.map((row) => row.join(' '));
  // At 1 %/hour fewer than a hundred documents were measured in the batch, and more on Percolator.
  assert.match(first ?? '', /^1 %\/hour [\d.]+ m?s - [1-9]\d [\d.]+ ms [\d.]+ ms [1-9]\d\d \d+ x$/);
  assert.match(second ?? '', /^10 %\/hour [\d.]+ m?s [\d.]+ m?s [1-9]\d\d /);
});
