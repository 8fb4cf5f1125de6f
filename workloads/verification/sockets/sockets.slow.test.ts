/**
 * The processes of a shared store, the HBase client, oracles and lock services, on real sockets
 * that are refused, cut, reset, held, slow and half-open. The mutants of these worlds show that the
 * judge sees mistakes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MISBEHAVIOURS } from './crowd.ts';
import { runHBase, runSharedStore, type SocketRun } from './run.ts';
import { FAULTS } from './proxy.ts';
import { runServices } from './services.ts';

const SEEDS = [1, 2, 3, 4];

for (const [what, run] of [
  ['the processes of a shared store', runSharedStore],
  ['the HBase client', runHBase],
] as const) {
  test(`${what}: nothing is applied twice, lost or denied, and no call hangs, whatever the connections do`, async () => {
    // They mostly wait, so they run at once.
    const runs = await Promise.all(SEEDS.map((seed) => run(seed)));
    const failed = runs.flatMap(({ violations }, i) =>
      violations.map((violation) => ({ seed: SEEDS[i], ...violation })),
    );
    assert.deepEqual(failed, []);
    assert.deepEqual(missing(runs), []);
  });
}

for (const misbehaviour of MISBEHAVIOURS) {
  test(`P77: what an owner keeps for a client is bounded, and others are served: ${misbehaviour}`, async () => {
    const { violations, told } = await runSharedStore(1, { misbehaviour });
    assert.deepEqual(violations, []);
    assert.ok(told.length > 50, String(told.length));
  });
}

test('P85, P86: lock services that disagree kill no living process, and nothing is taken from another version', async () => {
  const runs = await Promise.all(SEEDS.map((seed) => runServices(seed)));
  assert.deepEqual(
    runs.flatMap(({ violations }) => violations),
    [],
  );
  for (const { disagreements, refused } of runs) {
    assert.ok(disagreements > 0, 'one service took a living process for dead');
    assert.ok(refused > 0, 'messages of the other version were refused');
  }
});

/** What no run has met. */
function missing(runs: readonly SocketRun[]): readonly string[] {
  const met = new Set<string>(runs.flatMap((run) => run.met));
  const heard = new Set<string>(runs.flatMap(({ told }) => told.map((one) => one.heard)));
  return [...FAULTS.filter((fault) => !met.has(fault)), 'applied', 'in doubt'].filter(
    (what) => !met.has(what) && !heard.has(what),
  );
}
