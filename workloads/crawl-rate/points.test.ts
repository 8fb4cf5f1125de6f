/** The verdict on a point rests on measurements, and says which are missing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLatencyHistogram, type Run } from '#results';
import { CYCLES_MIN, type MapReducePoint } from './batch/point.ts';
import type { Plan } from './plan.ts';
import { addMapReducePoint } from './points.ts';

type Added = Parameters<Run['addPoint']>[0];

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

function added(repeats: readonly MapReducePoint[]): Added | undefined {
  const points: Added[] = [];
  const run = { addPoint: (point: Added) => void points.push(point) } as Partial<Run> as Run;
  addMapReducePoint(run, { repository: 1_000 } as Plan, 1, repeats);
  return points[0];
}

test('a batch with too few runs for a verdict is invalid: its documents ran out', () => {
  assert.equal(added([batch(CYCLES_MIN)])?.verdict, 'sustained');
  const short = added([batch(CYCLES_MIN), batch(CYCLES_MIN - 1)]);
  assert.equal(short?.verdict, 'invalid');
  assert.match(short.verdictReason, / ran out after 4 measured runs /);
  assert.equal(added([batch(0)])?.verdict, 'invalid');
});
