/** Claims about the charts: a reader can tell the marks apart, and what each is of. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tableOf } from '../../results/report/charts/findings-chart.ts';
import { figure8Chart } from './charts.ts';
import { NAMES } from './figure-8-cases.ts';
import type { StoreResult } from './store-result.ts';

function resultOf(name: string): StoreResult {
  const slice = { operations: 1, seconds: 1, clientUs: 1, serverUs: null, servicesUs: null };
  const slices = new Map(Object.values(NAMES).map((of) => [of, [slice]]));
  const none = { sweeps: null, conditionalBatch: [], profiles: null, inProcess: null };
  const figure8 = { slices, messages: new Map(), inProcesses: false, concurrency: 64 };
  return { name, durability: 'none', figure8, ...none, wrong: [] };
}

for (const stores of [2, 5, 12]) {
  test(`marks of ${stores} stores are next to each other, each at its own operation`, () => {
    const results = Array.from({ length: stores }, (_, i) => resultOf(`store ${i}`));
    const chart = figure8Chart(results);
    const reads = chart.series.map(({ points }) => points[0]?.x);
    assert.equal(
      new Set(reads).size,
      stores + 1,
      'one place for each store, and one for the paper',
    );
    assert.deepEqual(
      tableOf(chart).rows.map(([, operation]) => operation),
      chart.series.flatMap(() => ['random reads', 'single-cell writes']),
    );
  });
}
