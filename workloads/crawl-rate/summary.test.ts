/** The table that a run prints states no percentile of too few documents. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { readRunRecord } from '#results';
import { summaryTable } from './summary.ts';

test('a 99th percentile needs a hundred documents, and every latency has its count', () => {
  const record = readRunRecord(path.join(import.meta.dirname, '../../results/reference/figure-7'));
  const [first, second] = summaryTable(record).rows.map((row) => row.join(' '));
  assert.match(first ?? '', /^1 %\/hour 1\.14 s - 59 5\.0\d ms 13\.4 ms 166 225 x$/);
  assert.match(second ?? '', /^10 %\/hour 1\.03 s 1\.51 s 590 /);
});
