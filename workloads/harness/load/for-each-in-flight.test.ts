/** The loop over items with several in flight: order, limit, and what happens after a failure. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { forEachInFlight } from './for-each-in-flight.ts';

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
  for (const failing of [1, 2]) {
    const begun: number[] = [];
    const handle = async (item: number): Promise<void> => {
      begun.push(item);
      if (item === failing) throw new Error('the store is gone');
    };
    await assert.rejects(forEachInFlight(slowly(), 4, handle), /the store is gone/);
    assert.deepEqual(begun, [0, 1, 2].slice(0, failing + 1));
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
