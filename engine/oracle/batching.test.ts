/**
 * Claims of batching (section 2.3): "each Percolator worker batches timestamp requests across
 * transactions by maintaining only one pending RPC to the oracle"; and no caller is served by a
 * request that was sent before the caller asked (P10).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Allocation, batchTimestamps, type TimestampSource } from './index.ts';

const timestampsOnly = {
  readHorizon: async () => 0,
  raiseHorizon: async () => 0,
  announceDrop: async () => 0,
  identity: undefined,
  belongTo: async () => {},
};

/** A source whose requests are answered by hand. */
function handHeld(): {
  requests: {
    count: number;
    answer: (first: number, came?: { horizon?: number; drops?: number }) => void;
    fail: () => void;
  }[];
  source: TimestampSource;
} {
  const requests: ReturnType<typeof handHeld>['requests'] = [];
  const source = {
    ...timestampsOnly,
    allocate: (count: number) =>
      new Promise<Allocation>((resolve, reject) => {
        const answer = (first: number, came = {}): void =>
          resolve({ first, horizon: 0, drops: 0, ...came });
        const fail = (): void => reject(new Error('no oracle'));
        requests.push({ count, answer, fail });
      }),
  };
  return { requests, source };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('callers of one turn share one request, and are answered in order of arrival', async () => {
  const { requests, source } = handHeld();
  const oracle = batchTimestamps(source);
  const callers = [oracle.next(), oracle.next(), oracle.next()];
  await settle();
  assert.deepEqual(
    requests.map(({ count }) => count),
    [3],
  );
  requests[0]?.answer(10);
  assert.deepEqual(await Promise.all(callers), [10, 11, 12]);
});

test('one request is pending at a time, and the next one serves all callers that came meanwhile', async () => {
  const { requests, source } = handHeld();
  const oracle = batchTimestamps(source);
  const first = oracle.next();
  await settle();
  const later = [oracle.next(), oracle.next()];
  await settle();
  assert.equal(requests.length, 1);
  requests[0]?.answer(1);
  await first;
  await settle();
  assert.deepEqual(
    requests.map(({ count }) => count),
    [1, 2],
  );
  requests[1]?.answer(5);
  assert.deepEqual(await Promise.all(later), [5, 6]);
});

test('P10: a caller that asks during a request is served by the next, although the first has room', async () => {
  // Joining the request in flight would give a timestamp allocated before the last lock was held.
  const { requests, source } = handHeld();
  const oracle = batchTimestamps(source);
  const early = oracle.next();
  await settle();
  let served = false;
  const late = oracle.next().then((timestamp) => {
    served = true;
    return timestamp;
  });
  requests[0]?.answer(1);
  await early;
  await settle();
  assert.equal(served, false);
  requests[1]?.answer(2);
  assert.equal(await late, 2);
});

test('a caller that asks in the very turn in which the answer comes is still served', async () => {
  const { requests, source } = handHeld();
  const oracle = batchTimestamps(source);
  const chain = oracle.next().then(() => oracle.next());
  await settle();
  requests[0]?.answer(1);
  await settle();
  requests[1]?.answer(2);
  assert.equal(await chain, 2);
});

test('a failure reaches every caller of the batch, and the next request works', async () => {
  const { requests, source } = handHeld();
  const oracle = batchTimestamps(source);
  const failing = [oracle.next(), oracle.next()];
  await settle();
  const later = oracle.next();
  requests[0]?.fail();
  for (const answer of await Promise.allSettled(failing)) assert.equal(answer.status, 'rejected');
  await settle();
  requests[1]?.answer(3);
  assert.equal(await later, 3);
});

test('a source that goes back is caught before any caller receives its answer', async () => {
  let first = 100;
  const oracle = batchTimestamps({
    ...timestampsOnly,
    allocate: async () => ({ first, horizon: 0, drops: 0 }),
  });
  await oracle.next();
  first = 50;
  await assert.rejects(oracle.next(), /the oracle only moves forward/);
  first = 200;
  assert.equal(await oracle.next(), 200);
});

for (const [rule, what] of [
  ['P31', 'horizon'],
  ['P54', 'drops'],
] as const) {
  test(`${rule}: a caller that receives a timestamp sees the ${what} that came with it, which never goes back`, async () => {
    const { requests, source } = handHeld();
    const oracle = batchTimestamps(source);
    const heard = oracle.next().then(() => oracle[what]);
    await settle();
    requests[0]?.answer(10, { [what]: 7 });
    assert.equal(await heard, 7);
    const later = oracle.next();
    await settle();
    requests[1]?.answer(11, { [what]: 5 });
    await later;
    assert.equal(oracle[what], 7);
  });
}

test('P31: who asks for the horizon during a request is served by the next one, with all others', async () => {
  // After an outage every read of every transaction asks: one request each would keep the oracle,
  // and this process, from ever answering one of them in time.
  const requests: PromiseWithResolvers<number>[] = [];
  const readHorizon = (): Promise<number> => {
    const request = Promise.withResolvers<number>();
    requests.push(request);
    return request.promise;
  };
  const oracle = batchTimestamps({ ...handHeld().source, readHorizon });
  const early = oracle.readHorizon();
  await settle();
  const late = Array.from({ length: 1_000 }, () => oracle.readHorizon());
  await settle();
  assert.equal(requests.length, 1);
  requests[0]?.resolve(5);
  assert.equal(await early, 5);
  await settle();
  assert.equal(requests.length, 2);
  requests[1]?.reject(new Error('no oracle'));
  for (const caller of late) await assert.rejects(caller, /no oracle/);
  const next = oracle.readHorizon();
  await settle();
  requests[2]?.resolve(7);
  assert.equal(await next, 7);
});
