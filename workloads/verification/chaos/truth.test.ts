/** The truth about a round: a failed reading of it, or a worker that cannot rest, is reported. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Bigtable,
  decorate,
  openPercolator,
  type Percolator,
  PercolatorError,
  systemClock,
} from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import type { Sink, Workload } from '../invariants/index.ts';
import { ring } from '../invariants/transactions.ts';
import { settleAndRead, type RoundTruth } from './truth.ts';

async function openRing(store: Bigtable): Promise<Percolator> {
  const percolator = await openPercolator({ store });
  await percolator.createTable('ring', { observedColumns: ['next'] });
  await percolator.transact((work) => ring.setup(work));
  return percolator;
}

function settle(
  percolator: Percolator,
  workload: Workload,
  began: Sink['began'] = () => {},
): Promise<RoundTruth> {
  const sink = { began, ended: () => {}, violation: () => {} };
  const recorder = { sink, process: 'parent', nowMs: () => performance.now() };
  const { signal } = new AbortController();
  return settleAndRead(percolator, [workload], { recorder, signal, followers: [] });
}

describe('a failed reading of everything is a violation, though a retry might succeed', () => {
  const cases = [
    ['the first reading', 1, ['PercolatorError: the server is away']],
    ['the last reading', 2, ['PercolatorError: the server is away']],
    ['no reading', 3, []],
  ] as const;
  for (const [name, failing, messages] of cases) {
    test(name, async (t) => {
      let isAway = false;
      const memory = createMemoryBigtable();
      const store = decorate(memory, {
        readRange: async (...given) => {
          if (isAway) throw new PercolatorError('STORE_UNAVAILABLE', 'the server is away');
          return memory.readRange(...given);
        },
      });
      await using percolator = await openRing(store);
      const begin = percolator.begin.bind(percolator);
      let readings = 0;
      t.mock.method(percolator, 'begin', () => {
        isAway = ++readings === failing;
        return begin();
      });
      const { violations } = await settle(percolator, ring, () => {
        isAway = false;
      });
      assert.deepEqual(
        violations.map(({ message }) => message),
        messages,
      );
    });
  }
});

test('a worker whose runs are refused is stopped, and leaves no timer', async (t) => {
  const timers = (): number =>
    process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  await using percolator = await openRing(createMemoryBigtable());
  const before = timers();
  const { mock } = t.mock.method(percolator, 'startWorker');
  const refuse = (): Promise<void> =>
    Promise.reject(new PercolatorError('STORE_REFUSED', 'the table is refused'));
  const observer = { name: 'refused', table: 'ring', column: 'next', weak: false, run: refuse };
  const { violations } = await settle(percolator, { ...ring, observers: [observer] });
  assert.deepEqual(violations, [
    { claim: 'rest: nothing fails', message: 'PercolatorError: the table is refused' },
  ]);
  const stopped = mock.calls[0]?.result?.ended.then(() => 'stopped');
  assert.equal(await Promise.race([stopped, systemClock.yield()]), 'stopped');
  assert.equal(timers(), before);
});
