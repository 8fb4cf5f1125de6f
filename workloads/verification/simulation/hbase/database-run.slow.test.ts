/**
 * The engine on simulated clusters: whole runs of a few seeds, each about a second of processor
 * time. A seed that fails is run again by `simulate(planOnHBase(seed))`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../../../../engine/base/index.ts';
import { planOnHBase, simulate, withReverseScans } from '../index.ts';

const SEEDS = [4, 5, 6, 7];

test('no rule is broken by the engine on HBase, whatever happens to regions and servers', async () => {
  const failed: unknown[] = [];
  const sums: Record<string, number> = {};
  for (const seed of SEEDS) {
    const { violations, counts, cluster = {} } = await simulate(planOnHBase(seed));
    for (const violation of violations) failed.push({ seed, ...violation });
    for (const [what, count] of Object.entries({ ...counts, ...cluster })) {
      sums[what] = (sums[what] ?? 0) + count;
    }
  }
  assert.deepEqual(failed, []);
  const faults = ['move', 'pause', 'crash', 'expired', 'breakConnection', 'failAfter'];
  for (const what of ['commits', 'conflicts', 'rolledBack', 'cellsCollected', ...faults]) {
    assert.ok((sums[what] ?? 0) > 0, what);
  }
});

test('nor is one when half of the scans are in reverse', async () => {
  for (const seed of SEEDS) {
    const plan = withReverseScans(planOnHBase(seed), createRandom(seed));
    assert.deepEqual((await simulate(plan)).violations, [], `seed ${seed}`);
  }
});

test('a run on HBase is the same for the same seed', async () => {
  const [one, again] = [await simulate(planOnHBase(6)), await simulate(planOnHBase(6))];
  assert.equal(one.digest, again.digest);
  assert.deepEqual([one.counts, one.cluster], [again.counts, again.cluster]);
});
