/** The verdict of a proof says how much was looked at, and never more than that. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verdictOf } from './proof.ts';

const RUNS = { unit: 'runs', planned: 2_000, done: 2_000, fault: 'broke a rule', found: [] };

test('a proof holds if everything was looked at and nothing was found', () => {
  assert.deepEqual(verdictOf(RUNS), { passed: true, detail: 'none of 2,000 runs broke a rule' });
  assert.equal(verdictOf({ ...RUNS, planned: 1, done: 1 }).detail, 'none of 1 run broke a rule');
});

test('a proof does not hold if something is left, whether or not something was found', () => {
  const detail = 'none of the 12 of 2,000 runs that ended broke a rule';
  assert.deepEqual(verdictOf({ ...RUNS, done: 12 }), { passed: false, detail });
  assert.deepEqual(verdictOf({ ...RUNS, done: 12, found: ['seed 3'] }), {
    passed: false,
    detail: '1 of the 12 of 2,000 runs that ended broke a rule: seed 3',
  });
});

test('a verdict names the first violations, and counts the others', () => {
  const found = Array.from({ length: 12 }, (_, i) => `seed ${i + 1}`);
  const { passed, detail } = verdictOf({ ...RUNS, found });
  assert.equal(passed, false);
  assert.match(detail, /^12 of 2,000 runs broke a rule: seed 1, .*, seed 10, and 2 more$/);
});
