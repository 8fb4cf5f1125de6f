/** Closed loops, with a count and with a time: what happens when an operation fails. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { closedLoop } from './closed-loop.ts';
import { closedLoop as timedLoop } from './timed-loop.ts';

const { signal } = new AbortController();

/** The first operation fails; the others take a moment. */
function failing(): { begun: number; operate: () => Promise<void> } {
  const state = {
    begun: 0,
    operate: async (): Promise<void> => {
      if (++state.begun === 1) throw new Error('the store is gone');
      await sleep(2);
    },
  };
  return state;
}

test('after a failure no operation begins, because the caller then closes what operations use', async () => {
  const [counted, timed] = [failing(), failing()];
  const run = { first: 0, operations: 1_000, concurrency: 4, signal };
  await assert.rejects(closedLoop(counted.operate, run), /the store is gone/);
  await assert.rejects(timedLoop(timed.operate, { concurrency: 4, signal, seconds: 1 }), /gone/);
  const begun = [counted.begun, timed.begun];
  await sleep(20);
  assert.deepEqual([counted.begun, timed.begun], begun);
});
