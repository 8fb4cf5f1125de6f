/** The table that a run prints states no percentile of too few documents. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { readRunRecord } from '#results';
import { summaryTable } from './summary.ts';

const REFERENCE = readRunRecord(path.join(import.meta.dirname, '../../results/reference/figure-7'));

test('a 99th percentile needs a hundred documents, and every latency has its count', () => {
  const [first, second] = summaryTable(REFERENCE).rows.map((row) => row.join(' '));
  // At 1 %/hour fewer than a hundred documents were measured in the batch, and more on Percolator.
  assert.match(first ?? '', /^1 %\/hour [\d.]+ m?s - [1-9]\d [\d.]+ ms [\d.]+ ms [1-9]\d\d \d+ x$/);
  assert.match(second ?? '', /^10 %\/hour [\d.]+ m?s [\d.]+ m?s [1-9]\d\d /);
});

test('a latency just below a second has no power of ten', () => {
  const points = REFERENCE.points.map((point) =>
    point.latency === null ? point : { ...point, latency: { ...point.latency, medianMs: 999.7 } },
  );
  const cells = summaryTable({ ...REFERENCE, points }).rows.flat();
  assert.ok(cells.includes('1.00 s'), cells.join(' '));
});
