/** Loops with several operations in flight: what happens when one fails. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { closedLoop, forEachInFlight, timedLoop } from './loops.ts';

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

/** 0, 1, 2, with a pause after each. */
async function* slowly(): AsyncGenerator<number> {
  for (const item of [0, 1, 2]) {
    yield item;
    await sleep(2);
  }
}

test('items begin in their order, and no more are in flight than the limit', async () => {
  const items = Array.from({ length: 20 }, (_, i) => i);
  const begun: number[] = [];
  let inFlight = 0;
  let most = 0;
  await forEachInFlight(items, 3, async (item) => {
    begun.push(item);
    most = Math.max(most, ++inFlight);
    await sleep(item % 3);
    inFlight--;
  });
  assert.deepEqual([begun, most, inFlight], [items, 3, 0]);
});

test('a failure while the loop waits for the next item, or for the end, is not lost', async () => {
  for (const failed of [1, 2]) {
    const begun: number[] = [];
    const handle = async (item: number): Promise<void> => {
      begun.push(item);
      if (item === failed) throw new Error('the store is gone');
    };
    await assert.rejects(forEachInFlight(slowly(), 4, handle), /the store is gone/);
    assert.deepEqual(begun, [0, 1, 2].slice(0, failed + 1));
  }
});

test('of several failures the first one is told, and only when no item is in flight', async () => {
  let done = 0;
  const handle = async (ms: number): Promise<void> => {
    await sleep(ms);
    done++;
    throw new Error(`failed after ${ms} ms`);
  };
  await assert.rejects(forEachInFlight([100, 1, 50], 4, handle), /^Error: failed after 1 ms$/);
  assert.equal(done, 3);
});

test('a failure of the source is told only when no item is in flight', async () => {
  async function* damaged(): AsyncGenerator<number> {
    yield 0;
    throw new Error('the file is damaged');
  }
  let done = 0;
  const handle = async (): Promise<void> => {
    await sleep(2);
    done++;
  };
  await assert.rejects(forEachInFlight(damaged(), 4, handle), /the file is damaged/);
  assert.equal(done, 1);
});
