/** The operations that are counted in virtual time come with the check of their simulation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Repository } from '../figure-7/repository.ts';
import { keptCalibration } from '../testing.ts';
import { COUNTED_DOCUMENTS, virtualOperations } from './operations.ts';

test('the simulation that counts operations returns what its check found', async ({ mock }) => {
  const { calibration } = keptCalibration('this-machine');
  const right = await virtualOperations(calibration);
  assert.deepEqual(right.wrong, []);
  assert.ok(right.counts.read > COUNTED_DOCUMENTS);

  // Compared with a reference in which each document has a cluster of its own, most are wrong.
  const alone = (arrivals: Iterable<number>) => Array.from(arrivals, (one) => [one, one] as const);
  mock.method(Repository.prototype, 'follow', alone);
  const { wrong } = await virtualOperations(calibration);
  assert.match(wrong.join(), /^document \d+ is in the cluster of \d+, not of \d+/);
});
