/** The operations that are counted in virtual time come with the check of their simulation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Repository } from '../figure-7/repository.ts';
import { keptCalibration } from '../testing.ts';
import { COUNTED_DOCUMENTS, virtualOperations } from './operations.ts';

test('what is wrong with the simulation that counts operations is told', async ({ mock }) => {
  const { calibration } = keptCalibration('this-machine');
  const right = await virtualOperations(calibration);
  assert.deepEqual(right.wrong, []);
  assert.ok(right.counts.read > COUNTED_DOCUMENTS);

  // To a reference in which each document is alone in its cluster, most clusters are wrong.
  const alone = (arrivals: Iterable<number>) => Array.from(arrivals, (one) => [one, one] as const);
  mock.method(Repository.prototype, 'follow', alone);
  const { wrong } = await virtualOperations(calibration);
  assert.match(wrong.join(), /^document \d+ is in the cluster of \d+, not of \d+/);
});
