/** The verdict on a point rests on measurements, and says which are missing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLatencyHistogram } from '#results';
import { CYCLES_MIN, type MapReducePoint } from './batch/point.ts';
import { mapReducePoint } from './points.ts';

/** A point that kept up, of this many runs. */
function batch(runs: number): MapReducePoint {
  const cycle = { documents: 1_000, seconds: 1, cpuSeconds: null };
  return {
    histogram: createLatencyHistogram(),
    series: [],
    keptUp: { saturated: false, reason: '', backlogGrowthPerSecond: 0 },
    check: { passed: true, detail: '' },
    cycles: Array.from({ length: runs }, () => cycle),
    documents: runs,
    seconds: runs,
    cpuSecondsPerDocument: null,
  };
}

test('a batch with too few runs for a verdict is invalid: its documents ran out', () => {
  const pointOf = (...repeats: readonly MapReducePoint[]) =>
    mapReducePoint({ repository: 1_000 }, 1, repeats);
  assert.equal(pointOf(batch(CYCLES_MIN)).verdict, 'sustained');
  const short = pointOf(batch(CYCLES_MIN), batch(CYCLES_MIN - 1));
  assert.equal(short.verdict, 'invalid');
  assert.match(short.verdictReason, / ran out after 4 measured runs /);
  assert.equal(pointOf(batch(0)).verdict, 'invalid');
});
