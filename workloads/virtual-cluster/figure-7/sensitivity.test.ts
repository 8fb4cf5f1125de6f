/** Which assumed number decides the capacity: two of them varied in real simulations. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadCalibration } from '../calibration/load.ts';
import type { Figure7Plan } from './measure.ts';
import { varyFigure7 } from './sensitivity.ts';

test('the capacity follows the cores of the tablet servers, and not the cores of the oracle', async () => {
  const loaded = loadCalibration('paper-2010');
  const plan: Figure7Plan = {
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
  const counts: number[] = [];
  const { capacity, variations, wrong } = await varyFigure7(loaded, plan, {
    places: ['cluster.tabletServerCores', 'oracle.cores'],
    machines: 2,
    signal: new AbortController().signal,
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
