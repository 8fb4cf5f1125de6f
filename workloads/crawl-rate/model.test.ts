/** What is derived from the points rests on those that passed their check. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLatencyHistogram } from '#results';
import type { MapReducePoint } from './batch/point.ts';
import { capacityOf, fitBatchModel, type MeasuredPoints } from './points.ts';
import type { PercolatorPoint } from './percolator/point.ts';

const REPOSITORY = 1_000;

/**
 * Ten runs over 1,000 to 1,900 documents; each run takes `fixed` s, and `perDocument` s for each
 * document.
 */
function batch(perDocument: number, passed: boolean, fixed = 1): MapReducePoint {
  const cycles = Array.from({ length: 10 }, (_, i) => {
    const documents = REPOSITORY + 100 * i;
    return { documents, seconds: fixed + perDocument * documents, cpuSeconds: null };
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
  const commits = { commits: [], cpuSeconds: 0, stillWaiting: false, drained: true };
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

test('no cost of the model is negative, and there is no model if larger runs took no longer', () => {
  const modelOf = (perDocument: number, fixed: number): ReturnType<typeof fitBatchModel> => {
    const mapreduce = new Map([[1, [batch(perDocument, true, fixed)]]]);
    return fitBatchModel({ repository: REPOSITORY }, { percolator: new Map(), mapreduce });
  };
  const { fixedSeconds, perRepositorySeconds } = modelOf(0.002, -0.3) ?? assert.fail('a model');
  assert.equal(fixedSeconds, 0);
  // The nearest line through the origin, by a search.
  const error = (slope: number): number =>
    Array.from({ length: 10 }, (_, i) => 1 + i / 10)
      .map((size) => (2 * size - 0.3 - slope * size) ** 2)
      .reduce((total, one) => total + one, 0);
  for (const other of [-0.01, 0.01]) {
    assert.ok(error(perRepositorySeconds) < error(perRepositorySeconds + other));
  }
  assert.equal(modelOf(-0.001, 5), null);
});

test('the model may rest on more runs than a call can have arguments', () => {
  const many = {
    ...batch(0.001, true),
    cycles: Array(30_000).fill(batch(0.001, true).cycles).flat(),
  };
  const measured = { percolator: new Map(), mapreduce: new Map([[1, [many]]]) };
  const model = fitBatchModel({ repository: REPOSITORY }, measured);
  assert.equal(model?.fixedSeconds.toFixed(3), '1.000');
});
