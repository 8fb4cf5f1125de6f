/** The table that a run prints: no percentile of too few documents, no powers of ten. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { readRunRecord } from '#results';
import { summaryTable } from './summary.ts';

const REFERENCE = readRunRecord(path.join(import.meta.dirname, '../../results/reference/figure-7'));

test('a 99th percentile needs a hundred documents, and every latency has its count', () => {
  const points = REFERENCE.points.map((point) => {
    const count = point.system === 'mapreduce' ? 99 : 100;
    return point.latency === null ? point : { ...point, latency: { ...point.latency, count } };
  });
  const [first] = summaryTable({ ...REFERENCE, points }).rows.map((row) => row.join(' '));
  assert.match(first ?? '', /^1 %\/hour [\d.]+ m?s - 99 [\d.]+ ms [\d.]+ ms 100 \d+ x$/);
});

test('a latency just below a second has no power of ten', () => {
  const points = REFERENCE.points.map((point) =>
    point.latency === null ? point : { ...point, latency: { ...point.latency, medianMs: 999.7 } },
  );
  const cells = summaryTable({ ...REFERENCE, points }).rows.flat();
  assert.ok(cells.includes('1.00 s'), cells.join(' '));
});
