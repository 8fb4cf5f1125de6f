/** What is derived from the points rests on those that passed their check. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLatencyHistogram } from '#results';
import type { MapReducePoint } from './batch/point.ts';
import { capacityOf, fitBatchModel, type MeasuredPoints } from './model.ts';
import type { PercolatorPoint } from './percolator/point.ts';

const REPOSITORY = 1_000;

/** Runs over 1,000 to 1,900 documents, each of which takes 1 s and `perDocument` s a document. */
function batch(perDocument: number, passed: boolean): MapReducePoint {
  const cycles = Array.from({ length: 10 }, (_, i) => {
    const documents = REPOSITORY + 100 * i;
    return { documents, seconds: 1 + perDocument * documents, cpuSeconds: null };
  });
  return {
    histogram: createLatencyHistogram(),
    series: [],
    keptUp: { saturated: false, reason: '', backlogGrowthPerSecond: 0 },
    check: { passed, detail: '' },
    cycles,
    documents: 0,
    seconds: 0,
    cpuSecondsPerDocument: null,
  };
}

function percolator(completedPerSecond: number, passed: boolean): PercolatorPoint {
  const histogram = createLatencyHistogram();
  const commits = { commits: [], cpuSeconds: 0, drained: true };
  return {
    ...batch(0, passed),
    generatorLagP99Ms: 0,
    cpuSecondsPerDocument: 0,
    completedPerSecond,
    engine: { ...commits, histogram, halfMediansMs: [null, null] },
  };
}

test('a point that failed its check counts neither for a capacity nor for the model', () => {
  const right: MeasuredPoints = {
    percolator: new Map([[1, [percolator(50, true)]]]),
    mapreduce: new Map([[1, [batch(0.001, true)]]]),
  };
  const mixed: MeasuredPoints = {
    percolator: new Map([[1, [percolator(50, true), percolator(9_000, false)]]]),
    mapreduce: new Map([[1, [batch(0.001, true), batch(0.000_1, false), batch(0.1, false)]]]),
  };
  const model = fitBatchModel({ repository: REPOSITORY }, right);
  assert.equal(model?.fixedSeconds.toFixed(6), '1.000000');
  assert.equal(model.perRepositorySeconds.toFixed(6), '1.000000');
  assert.deepEqual(fitBatchModel({ repository: REPOSITORY }, mixed), model);
  assert.equal(capacityOf(right).percolatorDocumentsPerSecond, 50);
  assert.deepEqual(capacityOf(mixed), capacityOf(right));
});
