/** What a point of Percolator derives from its samples and its processes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completionRate, serverSeconds } from './point.ts';

test('the rate of completions is a number, however few samples there are', () => {
  const sample = { seconds: 1, arrived: 10, completed: 10 };
  assert.equal(completionRate([]), 0);
  assert.equal(completionRate([sample]), 0);
  assert.equal(completionRate([sample, { seconds: 3, arrived: 50, completed: 40 }]), 15);
});

test('the time of servers is part of the cost, and makes it unknown if it is unknown', (t) => {
  assert.equal(serverSeconds([]), 0);
  assert.equal(serverSeconds(null), null);
  const own = serverSeconds([process.pid]);
  if (own === null) return t.skip('only Linux tells the time of processes');
  return assert.ok(own > 0);
});
