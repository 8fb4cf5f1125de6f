/** What a point of Percolator derives from its samples. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completionRate } from './point.ts';

test('the rate of completions is a number, however few samples there are', () => {
  const sample = { seconds: 1, arrived: 10, completed: 10 };
  assert.equal(completionRate([]), 0);
  assert.equal(completionRate([sample]), 0);
  assert.equal(completionRate([sample, { seconds: 3, arrived: 50, completed: 40 }]), 15);
});
