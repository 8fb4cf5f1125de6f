/** A scanner that can meet no other, scanners of one machine, and what the findings say of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Measuring } from '#harness';
import { loadCalibration } from '../calibration/load.ts';
import { withoutCosts } from '../testing.ts';
import { MODES, simulateScanners } from './scanners.ts';

const ROWS = 40;
/**
 * About what a run takes in addition to its wait of 100 ms, in milliseconds, at the costs of
 * paper-2010: reads, writes, and the scan.
 */
const OVERHEAD_MS = 30;

const nothing = (): void => undefined;
const measuring = {
  progress: { phase: nothing, update: nothing, note: nothing },
  signal: new AbortController().signal,
  keep: nothing,
} as unknown as Measuring;
const PLAN = { loaded: loadCalibration('paper-2010'), seed: 1, scanners: 1, rows: ROWS };

test('one scanner runs each row once in every mode, and loses only what a run takes in addition to its wait', async () => {
  const { headline, check, tables } = await simulateScanners(PLAN, measuring);
  assert.equal(check.passed, true, check.detail);
  const rows = tables[0]?.rows ?? [];
  assert.equal(rows.length, MODES.length);
  for (const [mode, seconds, perSecond, ofMost, runsPerRow, meetings] of rows) {
    assert.deepEqual([runsPerRow, meetings], [1, 0], String(mode));
    const most = 1000 / 100; // Each run waits 100 ms (scanners.ts).
    assert.ok(Math.abs(Number(perSecond) / most - Number(ofMost)) < 0.001, String(ofMost));
    const runMs = (1000 * Number(seconds)) / (0.9 * ROWS); // Measured until nine tenths are clean.
    assert.ok(runMs > 100 && runMs < 100 + 2 * OVERHEAD_MS, String(runMs));
  }
  // The scanner meets no other one, and yet does not reach the most that is possible.
  assert.match(headline, /^1 scanner can clean 10 rows per second at most, because each run waits/);
  assert.match(headline, /They reach \d\d % of that with no locks; \d\d % with locks, skipping/);
});

test('a run in flight when the rate is measured is none of the runs per row', async () => {
  const { loaded } = PLAN;
  // Without costs, the next run has begun when it is noticed that enough rows are clean.
  const free = { ...loaded, calibration: withoutCosts(loaded.calibration) };
  const { tables } = await simulateScanners({ ...PLAN, loaded: free }, measuring);
  assert.deepEqual(
    tables[0]?.rows.map((row) => row[4]),
    MODES.map(() => 1),
  );
});

test('locks also keep the scanners of one machine apart', async () => {
  const { tables } = await simulateScanners({ ...PLAN, scanners: 10, rows: 300 }, measuring);
  const [none = 0, skip = 0, jump = 0] = (tables[0]?.rows ?? []).map((row) => Number(row[4]));
  assert.ok(none > 1.5 && skip < 1.2 && jump < 1.2, `${none}, ${skip} and ${jump} runs per row`);
});
