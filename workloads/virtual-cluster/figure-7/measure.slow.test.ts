/** Which assumed number decides the capacity: two of them varied in real simulations. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadCalibration } from '../calibration/load.ts';
import { type Figure7Plan, SAME, varyFigure7 } from './measure.ts';

const loaded = loadCalibration('paper-2010');
const PLAN: Figure7Plan = {
  calibration: loaded.calibration,
  machines: 240,
  repositories: [50_000, 100_000],
  rates: [1],
  warmUp: 1,
  seconds: 1,
  concurrency: 64,
  scanRest: 20,
  seed: 1,
  jobs: 2,
};
const { signal } = new AbortController();

test('the capacity follows the cores of the tablet servers, and not the cores of the oracle, nor the seed', async () => {
  const counts: number[] = [];
  const given = { machines: 2, signal };
  const { capacity, variations, wrong } = await varyFigure7(loaded, PLAN, {
    ...given,
    changes: [
      { place: 'cluster.tabletServerCores', factor: 0.5 },
      { place: 'oracle.cores', factor: 2 },
      { place: 'cluster.tabletServerCores', factor: 2 },
    ],
    onVariation: (done, total) => counts.push(done / total),
  });
  assert.deepEqual(counts, [0.25, 0.5, 0.75, 1]);
  assert.deepEqual(wrong, []);
  const cores = variations.map(({ place, factor }) => `${place} ${factor}`).toSorted();
  assert.deepEqual(cores, ['cluster.tabletServerCores 0.5', 'cluster.tabletServerCores 2']);
  for (const { factor, capacity: varied } of variations) {
    assert.ok(
      factor < 1 ? varied < 0.8 * capacity : varied > 1.2 * capacity,
      `${factor}: ${varied}`,
    );
  }
  const other = { ...PLAN, seed: 2 };
  const reseeded = await varyFigure7(loaded, other, { ...given, changes: [], onVariation() {} });
  assert.deepEqual(reseeded.wrong, []);
  const difference = Math.abs(Math.log(reseeded.capacity / capacity));
  assert.ok(difference < SAME, `${capacity}, ${reseeded.capacity}`);
});
