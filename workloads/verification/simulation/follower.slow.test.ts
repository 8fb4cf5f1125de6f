/**
 * Processes follow the changes of tables in simulated runs, under every fault, and are judged
 * (follower.ts). `./run.sh simulate --follow --seed <seed> --seeds 1` shrinks a run that fails.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  notCovered,
  planOf,
  planOnHBase,
  simulate,
  simulateSeeds,
  withFollowers,
} from './index.ts';

const SEEDS = 50;

test(`changes are reported once, in order, in the runs of ${SEEDS} seeds`, async () => {
  const tally = await simulateSeeds({ from: 1, to: SEEDS, jobs: 2, follows: true }, () => {});
  assert.deepEqual(tally.failed, []);
  assert.equal(tally.runs, SEEDS);
  assert.deepEqual(notCovered(tally), []);
});

test('so they are on simulated clusters of HBase', async () => {
  for (const seed of [2, 6, 8]) {
    const { violations, counts } = await simulate(withFollowers(planOnHBase(seed)));
    assert.deepEqual(violations, [], `seed ${seed}`);
    assert.ok(counts.commits > 0);
  }
});

test('a run with followers is repeated bit for bit, also from a file', async () => {
  const plan = planOf(7, { follows: true });
  const first = await simulate(plan);
  const again = await simulate(JSON.parse(JSON.stringify(plan)) as typeof plan);
  assert.equal(first.digest, again.digest);
  assert.notEqual(first.digest, (await simulate(planOf(7))).digest);
});
