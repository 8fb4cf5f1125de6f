/** What the report of bench:scanners says about a mode that was measured several times. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findingsOf, type ScannersPlan, type ScannersPoint } from './measure.ts';

const PLAN = { scanners: 1, concurrency: 1, thinkMs: 1 } as ScannersPlan;

test('the median of four measurements is the second lowest', () => {
  const points = [40, 10, 30, 20].map((rowsPerSecond): ScannersPoint => {
    return { mode: 'none', seconds: 1, rowsPerSecond, runsPerRow: 1, meetings: 0 };
  });
  const [modes] = findingsOf(PLAN, points).tables;
  assert.deepEqual(
    modes?.rows.map(([mode, rowsPerSecond]) => [mode, rowsPerSecond]),
    [['no locks', 20]],
  );
});
