/**
 * Processes share locks and write, in simulated runs under every fault (P90, P91). The load is one
 * of its own: other runs share few locks.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../../../engine/base/index.ts';
import { planOf, simulate } from './index.ts';
import { sharedLocks, sharedLocksCollected } from './loads.ts';

const SEEDS = 8;

test(`shared locks and writers never overlap, in the runs of ${SEEDS} seeds`, async () => {
  let commits = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const plan = planOf(seed);
    const load = plan.knobs.collector ? sharedLocksCollected : sharedLocks;
    const processes = load(createRandom(seed).fork('shared locks'));
    const { violations, counts } = await simulate({ ...plan, processes });
    assert.deepEqual(violations, [], `seed ${seed}`);
    commits += counts.commits;
  }
  assert.ok(commits > 100 * SEEDS);
});
