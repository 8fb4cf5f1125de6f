/**
 * Owners that live on when another process has taken the store over. A seed that fails is run again
 * by `simulateOwners`; the mutants of the world `owners` show that the judge sees mistakes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulateOwners } from './owners-run.ts';

const SEEDS = 150;

test('P69, P70: an owner that lost the store, whenever and for how long it stood still, harms nothing', async () => {
  const failed: unknown[] = [];
  const sums: Record<string, number> = {};
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { violations, counts } = await simulateOwners(seed);
    for (const violation of violations) failed.push({ seed, ...violation });
    for (const [what, count] of Object.entries(counts)) sums[what] = (sums[what] ?? 0) + count;
  }
  assert.deepEqual(failed, []);
  const { displaced = 0, acknowledged = 0, refused = 0, inDoubt = 0, reads = 0, pauses = 0 } = sums;
  assert.ok(Math.min(displaced, refused, pauses) > SEEDS, JSON.stringify(sums));
  assert.ok(Math.min(acknowledged, reads) > 10 * SEEDS, JSON.stringify(sums));
  assert.ok(inDoubt > SEEDS / 4, JSON.stringify(sums));
});
