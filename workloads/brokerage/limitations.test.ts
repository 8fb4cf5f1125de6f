/** What a reader is told about a run is true of the parts that it measured. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitationsOf } from './limitations.ts';
import { type PartName, type Plan, SIZES } from './plan.ts';

const NONE = { paced: false, unpaced: false, reads: false, brokers: false };

function textOf(parts: readonly PartName[], given: Partial<Plan> = {}): string {
  const named = Object.fromEntries(parts.map((part) => [part, true]));
  const plan = { ...SIZES.full, systems: ['embedded'], parts: { ...NONE, ...named }, ...given };
  return limitationsOf(plan as Plan).join('\n');
}

test('low loads of a ladder are measured for longer, and other points are not', () => {
  assert.match(textOf(['paced']), / 60 seconds per point, low loads up to 4 times as long\.$/m);
  assert.match(textOf(['unpaced', 'reads']), / 60 seconds per point\.$/m);
});

test('with several client processes, reads and broker modes still have one', () => {
  const one = /^The reads .* and the modes .* are measured with one client process/m;
  assert.match(textOf(['unpaced', 'brokers'], { processes: 2 }), one);
  assert.match(textOf(['unpaced', 'reads'], { processes: 2 }), one);
  assert.doesNotMatch(textOf(['unpaced'], { processes: 2 }), one);
  assert.doesNotMatch(textOf(['unpaced', 'reads']), one);
});
