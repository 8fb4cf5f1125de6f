/** A round does not begin before all its initial data is known to be committed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openPercolator, type Percolator, PercolatorError, type Transaction } from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import { bank } from '../invariants/transactions.ts';
import { pipeline } from '../invariants/pipeline.ts';
import { setUp } from './round.ts';

const WORKLOADS = [bank, pipeline]; // One with initial data, and one without.

function setUpOn(percolator: Percolator): Promise<number> {
  const sink = { began: () => {}, ended: () => {}, violation: () => {} };
  const recorder = { sink, process: 'parent', nowMs: () => performance.now() };
  return setUp(percolator, { workloads: WORKLOADS }, recorder);
}

describe('the set-up', () => {
  test('resolves with a timestamp at which the invariants hold', async () => {
    await using percolator = await openPercolator({ store: createMemoryBigtable() });
    await using snapshot = await percolator.snapshot(await setUpOn(percolator));
    for (const workload of WORKLOADS) assert.deepEqual(await workload.check(snapshot), []);
  });

  const failures = [
    ['STORE_UNAVAILABLE', 'failed'],
    ['COMMIT_UNKNOWN', 'unknown'],
  ] as const;
  for (const [code, outcome] of failures) {
    test(`rejects if its commit ends with ${code}`, async (t) => {
      await using percolator = await openPercolator({ store: createMemoryBigtable() });
      const begin = percolator.begin.bind(percolator);
      t.mock.method(percolator, 'begin', async () => withFailingCommit(await begin(), code));
      await assert.rejects(setUpOn(percolator), {
        message: `the set-up of bank is not known to have committed: its outcome is ${outcome}`,
      });
    });
  }
});

function withFailingCommit(
  transaction: Transaction,
  code: 'STORE_UNAVAILABLE' | 'COMMIT_UNKNOWN',
): Transaction {
  transaction.commit = async () => {
    transaction.discard();
    throw new PercolatorError(code, 'the server is away');
  };
  return transaction;
}
