/** Which events a run counts and tells, and how far a clock jumps. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jumpMs } from './events.ts';
import { planOnHBase, simulate, tellStory } from './index.ts';
import { type SimulationPlan, planOf } from './plan.ts';

test('on HBase, events of the model store are not counted', async () => {
  const plan = calmed(planOnHBase(6, { events: {}, calls: {} }));
  const events = { ownerDeath: 50, tabletUnavailable: 50, expireLease: 50 };
  const { faults } = await simulate({ ...plan, knobs: { ...plan.knobs, events } });
  assert.deepEqual(Object.keys(faults), ['expireLease']);
});

test('an event is told with the name of a process only if it happens to that process', async () => {
  const plan = calmed(planOf(13));
  const events = { lockServiceRestart: 50, expireLease: 50 };
  const story = await tellStory({ ...plan, knobs: { ...plan.knobs, events } });
  const told = story.flatMap((line) => /\(the run\): (.*)/.exec(line)?.[1] ?? []);
  assert.ok(told.includes('lockServiceRestart'));
  assert.ok(told.some((what) => /^expireLease \S/.test(what)));
  assert.ok(told.every((what) => !what.startsWith('lockServiceRestart ')));
});

test('a crash or a close is counted only if it ends the life of a process', async () => {
  const plan = calmed(planOf(13));
  for (const fault of ['crash', 'close'] as const) {
    const ended: string[] = [];
    const tell = (_: number, who: string, what: string): void => {
      if (who === '(the run)') ended.push(what);
    };
    const events = { [fault]: 1_000 };
    const { faults } = await simulate({ ...plan, knobs: { ...plan.knobs, events } }, { tell });
    assert.ok(ended.length > 10, String(ended.length));
    // Each life has a name of its own, so the set has each life that ended once.
    assert.equal(new Set(ended).size, faults[fault]);
  }
});

test('a clock jumps by a minute at least, whatever was drawn', () => {
  for (const drawn of [-1, -1e-9, 0, 1e-9, 1]) assert.ok(Math.abs(jumpMs(drawn)) >= 60_000);
});

/** The plan with its first client only, without a collector, and without faults but events. */
function calmed({ knobs, processes, ...plan }: SimulationPlan): SimulationPlan {
  const quiet = { ...knobs, messages: {}, groups: {}, drops: false, collector: false };
  return { ...plan, knobs: quiet, processes: processes.slice(0, 1) };
}
