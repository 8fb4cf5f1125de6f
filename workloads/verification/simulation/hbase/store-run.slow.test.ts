/**
 * The HBase client on simulated clusters whose regions move, split and merge in the middle of
 * batches, and whose servers stop, go on with what they had, and die. A seed that fails is run
 * again by `simulateStore`; the mutants (mutants/hbase.ts) show that the judge sees mistakes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALL_FAULTS, CLUSTER_EVENTS } from './cluster.ts';
import { simulateStore } from './store-run.ts';

const SEEDS = 25;
const CUT_OFF = { events: { cutOff: 0.3 }, openMsMax: 50 };

test('the client tells no lie, whatever happens to regions and servers', async () => {
  const counts: Record<string, number> = {};
  const answers: Record<string, number> = {};
  const failed: unknown[] = [];
  for (let seed = 1; seed <= SEEDS; seed++) {
    const result = await simulateStore(seed);
    for (const violation of result.violations) failed.push({ seed, ...violation });
    add(counts, result.counts);
    add(answers, result.answers);
  }
  assert.deepEqual(failed, []);
  for (const what of [...CLUSTER_EVENTS, ...CALL_FAULTS, 'moveInBatch', 'expired']) {
    assert.ok((counts[what] ?? 0) > 0, what);
  }
  const { answered = 0, refused = 0, inDoubt = 0 } = answers;
  assert.ok(answered > 10 * inDoubt && refused > 0 && inDoubt > 0, JSON.stringify(answers));
});

test('nor does it when it scans in reverse', async () => {
  const failed: unknown[] = [];
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { violations } = await simulateStore(seed, { reverse: true });
    for (const violation of violations) failed.push({ seed, ...violation });
  }
  assert.deepEqual(failed, []);
});

test('P64: nor does it where servers are cut off from ZooKeeper and the master, and from no client', async () => {
  const failed: unknown[] = [];
  let cutOff = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { violations, counts } = await simulateStore(seed, CUT_OFF);
    for (const violation of violations) failed.push({ seed, ...violation });
    cutOff += counts.cutOff ?? 0;
  }
  assert.deepEqual(failed, []);
  assert.ok(cutOff > SEEDS);
});

test('equal seeds give equal runs, and different seeds different ones', async () => {
  const [one, again, other] = [
    await simulateStore(1),
    await simulateStore(1),
    await simulateStore(2),
  ];
  assert.deepEqual(again, one);
  assert.notDeepEqual(other.counts, one.counts);
});

function add(sum: Record<string, number>, counts: object): void {
  for (const [what, count] of Object.entries(counts)) {
    sum[what] = (sum[what] ?? 0) + Number(count);
  }
}
