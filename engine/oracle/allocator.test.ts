/**
 * Claims of the allocator (section 2.3): a range is persisted before any of it is used, and "the
 * timestamps will jump forward ... but will never go backwards", after any crash (P35, P36, P37).
 * Nor do the horizon (P31) and the count of drops (P54).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createRandom } from '../base/index.ts';
import type { Bigtable } from '../bigtable/index.ts';
import { createMemoryBigtable, FaultyBigtable, once } from '../testing/index.ts';
import { openAllocator, type TimestampSource } from './index.ts';

test('timestamps begin at 1 and increase strictly', async () => {
  const source = await openAllocator(createMemoryBigtable(), { rangeSize: 3 });
  const given: number[] = [];
  for (let i = 0; i < 20; i++) given.push(await one(source));
  assert.equal(given[0], 1, '0 means "before everything"');
  assertIncreasing(given);
});

test('a batch larger than the range is consecutive, and belongs to its caller alone', async () => {
  const store = createMemoryBigtable();
  const [a, b] = await openTwo(store, 10);
  const first = (await a.allocate(1_000)).first;
  assert.ok((await one(b)) >= first + 1_000);
  assert.ok((await one(a)) > first + 1_000);
});

test('"by writing the highest allocated timestamp to stable storage": nothing is handed out before', async () => {
  const store = createMemoryBigtable();
  await openAllocator(store); // Gives the database its identity.
  const client = new FaultyBigtable(store);
  const source = await openAllocator(client, { rangeSize: 10 });
  for (let i = 0; i < 25; i++) {
    const timestamp = await one(source);
    assert.ok(timestamp < (await persistedLimit(store)), `${timestamp} is below the limit`);
  }
  assert.equal(client.mutationCount, 3, 'and it is written once for each range');
});

for (const moment of ['crashBefore', 'crashAfter'] as const) {
  test(`P36: after a crash (${moment} of the range's mutation) a restart goes on above everything handed out`, async () => {
    const store = createMemoryBigtable();
    await openAllocator(store); // Gives the database its identity.
    const client = new FaultyBigtable(store);
    const source = await openAllocator(client, { rangeSize: 5 });
    client[moment](2);
    let last = 0;
    await assert.rejects(async () => {
      for (;;) last = await one(source);
    });
    assert.equal(last, 5);
    const restarted = await openAllocator(store, { rangeSize: 5 });
    assert.ok((await one(restarted)) > last);
  });
}

test('P36: a process that is started again does not claim its predecessor’s range', async () => {
  // Removing the entropy from the owner's name hands out 1 a second time.
  const store = createMemoryBigtable();
  const before = await openAllocator(store);
  const given = [await one(before), await one(before)];
  const after = await openAllocator(store);
  given.push(await one(after));
  assertIncreasing(given);
});

test('P35: of two allocators, the one asked after the other has answered hands out larger timestamps', async () => {
  const store = createMemoryBigtable();
  const [a, b] = await openTwo(store, 100);
  const given: number[] = [];
  for (const source of [a, a, b, a, b, b, a]) given.push(await one(source));
  assertIncreasing(given);
});

test('P35: an allocator paused between reading its range and answering does not reuse it', async () => {
  const store = createMemoryBigtable();
  const client = new FaultyBigtable(store);
  const paused = await openAllocator(client, { rangeSize: 10 });
  const other = await openAllocator(store, { rangeSize: 10 });
  await one(paused);
  const gate = Promise.withResolvers<void>();
  client.afterCall = async () => {
    client.afterCall = undefined;
    await gate.promise;
  };
  const slow = one(paused); // Has read that its range is the newest, and sleeps.
  const between = [await one(other)];
  const own = await one(paused);
  gate.resolve();
  assert.ok(own > (between[0] ?? 0));
  assert.equal(new Set([await slow, own, ...between]).size, 3);
  assert.ok((await one(paused)) > own);
});

for (const lost of ['loseAnswer', 'loseRequest'] as const) {
  test(`a range whose mutation was in doubt (${lost}) is looked up, and given out once`, async () => {
    const store = createMemoryBigtable();
    const client = new FaultyBigtable(store);
    const source = await openAllocator(client, { rangeSize: 4 });
    client[lost](once(() => true));
    const given: number[] = [];
    for (let i = 0; i < 10; i++) given.push(await one(source));
    assertIncreasing(given);
    assert.equal(given.at(-1), 10, 'no range was skipped');
  });
}

test('a delayed copy of an old range mutation changes nothing', async () => {
  const store = createMemoryBigtable();
  const client = new FaultyBigtable(store);
  const source = await openAllocator(client, { rangeSize: 4 });
  const other = await openAllocator(store, { rangeSize: 4 });
  client.duplicate(once(() => true));
  const given = [await one(source), await one(other)];
  await client.deliverDuplicates();
  given.push(await one(source), await one(other));
  assertIncreasing(given);
});

test('a store that refuses rejects the call, and the next one works', async () => {
  const client = new FaultyBigtable(createMemoryBigtable());
  const source = await openAllocator(client);
  client.beforeCall = () => {
    client.beforeCall = undefined;
    throw new Error('refused');
  };
  await assert.rejects(source.allocate(1), /refused/);
  assert.equal(await one(source), 1);
});

test('P31: every timestamp comes with a horizon that was read after it was asked for', async () => {
  const store = createMemoryBigtable();
  const [a, b] = await openTwo(store, 10);
  assert.deepEqual(await a.allocate(1), { first: 1, horizon: 0, drops: 0 });
  await b.raiseHorizon(1);
  assert.equal((await a.allocate(1)).horizon, 1, 'although a has a range already');
});

test('P31: the horizon only moves forward, by any allocator, and outlives the processes', async () => {
  const store = createMemoryBigtable();
  const [a, b] = await openTwo(store, 10);
  assert.equal(await a.raiseHorizon(20), 20);
  assert.equal(
    await b.raiseHorizon(15),
    20,
    'the answer is the actual horizon, not the wanted one',
  );
  assert.equal(await b.raiseHorizon(30), 30);
  assert.equal(await (await openAllocator(store)).readHorizon(), 30);
});

for (const lost of ['loseAnswer', 'loseRequest'] as const) {
  test(`P31: a horizon whose mutation was in doubt (${lost}) is looked up, and set again if it was not set`, async () => {
    const client = new FaultyBigtable(createMemoryBigtable());
    const source = await openAllocator(client);
    client[lost](once(() => true));
    assert.equal(await source.raiseHorizon(20), 20);
    assert.equal(await source.readHorizon(), 20);
  });
}

test('P31: a late copy of an old mutation does not move the horizon back', async () => {
  const client = new FaultyBigtable(createMemoryBigtable());
  const source = await openAllocator(client);
  client.duplicate(once(() => true));
  await source.raiseHorizon(20);
  await source.raiseHorizon(30);
  await client.deliverDuplicates();
  assert.equal(await source.readHorizon(), 30);
});

test('P54: an announced drop is heard of by every allocator with its next timestamp', async () => {
  const store = createMemoryBigtable();
  const [a, b] = await openTwo(store, 10);
  assert.equal((await a.allocate(1)).drops, 0);
  assert.equal(await b.announceDrop(), 1);
  assert.equal((await a.allocate(1)).drops, 1, 'although a has a range already');
  assert.equal(await a.announceDrop(), 2);
  assert.equal((await (await openAllocator(store)).allocate(1)).drops, 2);
});

test('P54: of two announcements at the same time, each is above what was there when it was asked for', async () => {
  const store = createMemoryBigtable();
  const [a, b] = await openTwo(store, 10);
  await a.announceDrop();
  const announced = await Promise.all([a.announceDrop(), b.announceDrop()]);
  for (const drops of announced) assert.ok(drops >= 2);
});

for (const lost of ['loseAnswer', 'loseRequest'] as const) {
  test(`P54: an announcement in doubt (${lost}) is looked up, and made again if it was not made`, async () => {
    const client = new FaultyBigtable(createMemoryBigtable());
    const source = await openAllocator(client);
    client[lost](once(() => true));
    assert.equal(await source.announceDrop(), 1);
    assert.equal((await source.allocate(1)).drops, 1);
  });
}

test('P54: a late copy of an old announcement does not move the count back', async () => {
  const client = new FaultyBigtable(createMemoryBigtable());
  const source = await openAllocator(client);
  client.duplicate(once(() => true));
  await source.announceDrop();
  await source.announceDrop();
  await client.deliverDuplicates();
  assert.equal((await source.allocate(1)).drops, 2);
});

test('a range size that is not a whole number above 0 is refused', async () => {
  for (const rangeSize of [0, -1, 1.5, Number.NaN]) {
    await assert.rejects(openAllocator(createMemoryBigtable(), { rangeSize }), {
      code: 'INVALID_ARGUMENT',
    });
  }
});

test('any interleaving of three allocators, with crashes, gives unique timestamps in real-time order', async () => {
  const step = fc.record({
    who: fc.nat(2),
    count: fc.integer({ min: 1, max: 7 }),
    crash: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.nat(), async (steps, seed) => {
      const random = createRandom(seed);
      const store = createMemoryBigtable();
      const open = (): Promise<TimestampSource> =>
        openAllocator(
          jittery(store, () => random.integer(0, 4)),
          { rangeSize: 5 },
        );
      const sources = await Promise.all([open(), open(), open()]);
      const taken = new Set<number>();
      /** The largest timestamp in any answer so far. */
      let largest = 0;
      const inFlight = steps.map(async ({ who, count, crash }) => {
        for (let turns = random.integer(0, 30); turns > 0; turns--) await Promise.resolve();
        if (crash) sources[who] = await open();
        const before = largest;
        const first = (await sources[who]?.allocate(count))?.first;
        assert.ok(
          first !== undefined && first > before,
          'larger than all answered before the call',
        );
        for (let i = 0; i < count; i++) {
          assert.ok(!taken.has(first + i), 'handed out once');
          taken.add(first + i);
        }
        largest = Math.max(largest, first + count - 1);
      });
      await Promise.all(inFlight);
    }),
    { numRuns: 200 },
  );
});

/** Delays every call by some turns, before and after, so that calls overlap in all ways. */
function jittery(store: Bigtable, turns: () => number): Bigtable {
  const client = new FaultyBigtable(store);
  const wait = async (): Promise<void> => {
    for (let left = turns(); left > 0; left--) await Promise.resolve();
  };
  client.beforeCall = wait;
  client.afterCall = wait;
  return client;
}

/** The next timestamp. */
async function one(source: TimestampSource): Promise<number> {
  return (await source.allocate(1)).first;
}

async function openTwo(
  store: Bigtable,
  rangeSize: number,
): Promise<[TimestampSource, TimestampSource]> {
  return [await openAllocator(store, { rangeSize }), await openAllocator(store, { rangeSize })];
}

async function persistedLimit(store: Bigtable): Promise<number> {
  const limit = { family: 'oracle', qualifier: 'limit' };
  const row = await store.readRow('timestamp-oracle', 'range', [limit]);
  return row?.cells[0]?.timestamp ?? 0;
}

function assertIncreasing(given: readonly number[]): void {
  given.forEach((timestamp, i) => {
    assert.ok(i === 0 || timestamp > (given[i - 1] ?? 0), `${given.join(', ')} increases`);
  });
}

test('P38: the allocator stops before timestamps lose digits', async () => {
  const store = createMemoryBigtable();
  const source = await openAllocator(store, { rangeSize: 10 });
  await one(source);
  const last = { family: 'oracle', qualifier: 'limit', timestamp: Number.MAX_SAFE_INTEGER - 5 };
  const value = Buffer.from(JSON.stringify({ owner: 'the past', start: last.timestamp }));
  const mutations = [{ kind: 'set' as const, ...last, value }];
  await store.mutateRows([{ table: 'timestamp-oracle', row: 'range', mutations }]);
  await assert.rejects(one(source), { code: 'INVALID_ARGUMENT' });
});

test('P23: allocators that take ranges from one another in step all receive timestamps', async () => {
  // Reading the row again after taking a range, before handing out of it, hangs.
  const store = createMemoryBigtable();
  const sources = await Promise.all([1, 2, 3].map(() => openAllocator(store, { rangeSize: 10 })));
  const given = await Promise.all(
    sources.map(async (source) => {
      const own: number[] = [];
      for (let i = 0; i < 20; i++) own.push(await one(source));
      return own;
    }),
  );
  assert.equal(new Set(given.flat()).size, 60);
});
