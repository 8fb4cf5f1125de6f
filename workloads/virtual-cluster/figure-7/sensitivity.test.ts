/** Which assumed number decides the capacity: two of them varied in real simulations. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadCalibration } from '../calibration/load.ts';
import type { Figure7Plan } from './measure.ts';
import { SAME, varyFigure7 } from './sensitivity.ts';

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

test('the capacity follows the cores of the tablet servers, and not the cores of the oracle', async () => {
  const counts: number[] = [];
  const { capacity, variations, wrong } = await varyFigure7(loaded, PLAN, {
    places: ['cluster.tabletServerCores', 'oracle.cores'],
    machines: 2,
    signal,
    onVariation: (done, total) => counts.push(done / total),
  });
  assert.deepEqual(counts, [0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(wrong, []);
  const places = variations.map(({ place, factor }) => `${place} ${factor}`).toSorted();
  assert.deepEqual(places, ['cluster.tabletServerCores 0.5', 'cluster.tabletServerCores 2']);
  for (const { factor, capacity: varied } of variations) {
    assert.ok(
      factor < 1 ? varied < 0.8 * capacity : varied > 1.2 * capacity,
      `${factor}: ${varied}`,
    );
  }
});

test('another seed does not move the capacity by what counts as a change', async () => {
  const [one = 0, other = 0] = await Promise.all(
    [1, 2].map(async (seed) => {
      const plan = { ...PLAN, concurrency: 256, scanRest: 100, seed };
      const given = { places: [], signal, onVariation: () => {} };
      const { capacity, wrong } = await varyFigure7(loaded, plan, given);
      assert.deepEqual(wrong, []);
      return capacity;
    }),
  );
  assert.ok(Math.abs(Math.log(one / other)) < SAME, `${one}, ${other}`);
});
