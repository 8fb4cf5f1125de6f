/** The announced duration counts every run that the experiment will make, and no other. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectedSeconds, type PartName, type BrokeragePlan, SIZES } from './plan.ts';

const SIZE = SIZES.quick;
const NONE = { paced: false, unpaced: false, reads: false, brokers: false };

/** How long those parts take on the embedded store. */
function secondsOf(parts: readonly PartName[], given: Partial<BrokeragePlan> = {}): number {
  const named = Object.fromEntries(parts.map((part) => [part, true]));
  const systems = ['embedded'] as const;
  const plan = { ...SIZE, systems, parts: { ...NONE, ...named }, ...given };
  return expectedSeconds(plan as BrokeragePlan);
}

/** The runs of a part: a warm-up that is longer by a second makes each take a second more. */
function runsOf(part: PartName, given: Partial<BrokeragePlan> = {}): number {
  const longer = { ...given, warmUp: SIZE.warmUp + 1 };
  return Math.round(secondsOf([part], longer) - secondsOf([part], given));
}

test('each variant on a copy of the store is run once', () => {
  assert.deepEqual([runsOf('reads'), runsOf('brokers')], [4, 3]);
});

test('a system runs twice at full speed, but not before a ladder of given loads', () => {
  assert.equal(runsOf('unpaced'), 2);
  assert.equal(runsOf('paced'), 2 + 1 + SIZE.rungs.length);
  assert.equal(runsOf('paced', { rates: [1, 2, 3] }), 1 + 3);
});

test('the embedded store is also loaded if only its copies are measured', () => {
  const alone = secondsOf(['reads', 'brokers']);
  const added = secondsOf(['unpaced', 'reads', 'brokers']) - secondsOf(['unpaced']);
  const trades = SIZE.customers * SIZE.days * 57.6; // Per customer and day (model/scale.ts).
  assert.ok(alone - added > trades / 4_000, `${alone} s alone, ${added} s in addition`);
});
