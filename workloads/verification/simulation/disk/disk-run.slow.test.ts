/**
 * The embedded store on simulated disks. A seed that fails is run again by `simulateDisk`; the
 * mutants of the world `disk` show that the judge sees mistakes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulateDisk } from './disk-run.ts';

const SEEDS = 30;

test('what was acknowledged is there, and no mutation by half, whatever the disk does', async () => {
  const failed: unknown[] = [];
  const sums: Record<string, number> = {};
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { violations, counts } = await simulateDisk(seed);
    for (const violation of violations) failed.push({ seed, ...violation });
    for (const [what, count] of Object.entries(counts)) sums[what] = (sums[what] ?? 0) + count;
  }
  assert.deepEqual(failed, []);
  const { cuts = 0, provisionalCuts = 0, refused = 0, inDoubt = 0, hints = 0, killed = 0 } = sums;
  assert.ok(cuts > 20 * SEEDS && provisionalCuts > SEEDS, JSON.stringify(sums));
  assert.ok(Math.min(refused, inDoubt) > SEEDS / 4, JSON.stringify(sums));
  assert.ok(Math.min(hints, killed) > SEEDS, JSON.stringify(sums));
  const { essential = 0, refusedFull = 0, openedFull = 0 } = sums;
  assert.ok(Math.min(essential, refusedFull) > SEEDS && openedFull > 5, JSON.stringify(sums));
});

test('equal seeds give equal runs, and different seeds different ones', async () => {
  const [one, again, other] = [await simulateDisk(1), await simulateDisk(1), await simulateDisk(2)];
  assert.deepEqual(again, one);
  assert.notDeepEqual(other.counts, one.counts);
});
