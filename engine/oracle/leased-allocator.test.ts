/**
 * Claims of the oracle that hands out of its memory: "the oracle can satisfy future requests
 * strictly from memory", and still never goes backwards, although another oracle may take over at
 * any moment (P35, P36).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Clock, SleepOptions } from '../base/index.ts';
import { createRandom, PercolatorError } from '../base/index.ts';
import type { Bigtable } from '../bigtable/index.ts';
import {
  createMemoryBigtable,
  FaultyBigtable,
  once,
  VirtualClock,
  wakingEarly,
} from '../testing/index.ts';
import {
  type Allocation,
  type LeasedAllocator,
  openAllocator,
  openLeasedAllocator,
  type TimestampSource,
} from './index.ts';
import { mutateOracleRow, setDrops, setHorizon } from './oracle-row.ts';

const TTL_MS = 1_200;
const options = { leaseTimeToLiveMs: TTL_MS, rangeSize: 100 };

test('a thousand requests within a range cost the store nothing', async () => {
  const { client, source } = await openFaulty({ rangeSize: 10_000 });
  const before = client.trace.length;
  for (let i = 1; i <= 1_000; i++) assert.equal(await one(source), i);
  assert.equal(client.trace.length, before);
});

test('P36: nothing is handed out before the range that it is from is persisted', async () => {
  const { client, source, store } = await openFaulty();
  for (let i = 0; i < 250; i++) assert.ok((await one(source)) < (await persistedLimit(store)));
  const big = await source.allocate(1_000);
  assert.ok(big.first + 1_000 <= (await persistedLimit(store)));
  assert.ok(client.mutationCount < 10, 'and it is written about once for each range');
});

test('the next range is fetched before the last one is used up', async () => {
  const { client, source, store } = await openFaulty();
  for (const [count, ranges] of [
    [60, 2],
    [100, 3],
  ] as const) {
    for (let i = 0; i < count; i++) await one(source);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(
      await persistedLimit(store),
      ranges * options.rangeSize + 1,
      'it is there already',
    );
  }
  const before = client.trace.length;
  for (let i = 0; i < options.rangeSize; i++) await one(source);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(client.trace.length - before, 2, 'one read and one mutation for each range');
});

test('P36: after a crash a restart goes on above everything handed out, once the lease has ended', async () => {
  const { clock, store, source, client } = await openFaulty();
  const last = await one(source);
  client.crashBefore(client.mutationCount + 1);
  const restarted = await openLeasedAllocator(store, clock, options);
  await assert.rejects(one(restarted), { code: 'STORE_UNAVAILABLE' });
  await clock.advance(TTL_MS - 1);
  await assert.rejects(one(restarted), { code: 'STORE_UNAVAILABLE' }, 'not a moment earlier');
  await clock.advance(TTL_MS / 3 + 1);
  assert.ok((await one(restarted)) > last);
  assert.ok(restarted.epoch > source.epoch);
});

test('an oracle that is closed gives up its lease: the next one does not wait', async () => {
  const { clock, store, source } = await openFaulty();
  const last = await one(source);
  await source.close();
  await source.close();
  const next = await openLeasedAllocator(store, clock, options);
  assert.ok((await one(next)) > last);
  await assert.rejects(one(source), {
    code: 'STORE_UNAVAILABLE',
    message: 'this timestamp oracle has stopped',
  });
});

test('disposing of an oracle gives up its lease; a standby has no epoch yet', async () => {
  const { clock, store } = scene();
  {
    await using source = await openLeasedAllocator(store, clock, options);
    const standby = await openLeasedAllocator(store, clock, options);
    assert.deepEqual([source.epoch, standby.epoch], [1, 0]);
    await standby.close();
  }
  assert.equal((await openLeasedAllocator(store, clock, options)).isLeading, true);
});

test('an oracle that is closed during a renewal gives up the renewed lease', async () => {
  const { clock, store, client, source } = await openFaulty();
  let closing: Promise<void> | undefined;
  client.afterCall = ({ kind }) => {
    if (kind === 'mutation') closing ??= source.close();
  };
  await clock.advance(TTL_MS / 2);
  assert.ok(closing !== undefined);
  await closing;
  assert.equal((await openLeasedAllocator(store, clock, options)).isLeading, true);
});

test('an oracle whose store refuses can be closed, and its lease expires', async () => {
  const { clock, store } = scene();
  const client = new FaultyBigtable(store);
  {
    await using source = await openLeasedAllocator(client, clock, options);
    client.beforeCall = () => {
      throw new PercolatorError('STORE_UNAVAILABLE', 'the store is away');
    };
    assert.equal(source.isLeading, true);
  }
  const next = await openLeasedAllocator(store, clock, options);
  assert.equal(next.isLeading, false);
  await clock.advance(2 * TTL_MS);
  assert.equal(next.isLeading, true);
});

for (const [rule, what, change] of [
  ['P31', 'horizon', setHorizon(1)],
  ['P54', 'drops', setDrops(1)],
] as const) {
  test(`${rule}: a move of the ${what} by 1 during a renewal is read before anything is handed out`, async () => {
    const { clock, store, client, source } = await openFaulty();
    client.beforeCall = async ({ kind }) => {
      if (kind !== 'mutation') return;
      client.beforeCall = undefined;
      await mutateOracleRow(store, [], change);
    };
    await clock.advance(TTL_MS / 2);
    assert.equal((await source.allocate(1))[what], 1);
  });
}

test('the lease is renewed for as long as the oracle lives, and no other takes it over', async () => {
  const { clock, store, source } = await openFaulty();
  const standby = await openLeasedAllocator(store, clock, options);
  for (let i = 0; i < 20; i++) {
    await clock.advance(TTL_MS / 2);
    assert.equal(source.isLeading, true);
    assert.equal(standby.isLeading, false);
  }
});

test('P35: an oracle that was paused while another took over hands out nothing of its old range', async () => {
  // Fails here if the clock is not checked before handing out.
  const { clock, store } = scene();
  const paused = new PausableClock(clock);
  const old = await openLeasedAllocator(store, paused, options);
  const before = await one(old);
  const standby = await openLeasedAllocator(store, clock, options);
  paused.isPaused = true; // It does nothing more; its clock goes on.
  await clock.advance(2 * TTL_MS);
  const after = await one(standby);
  assert.ok(after > before);
  await assert.rejects(one(old), { code: 'STORE_UNAVAILABLE' });
  await assert.rejects(old.readHorizon(), { code: 'STORE_UNAVAILABLE' });
});

test('P35: the successor waits for longer than the old oracle counts on its lease', async () => {
  // Fails here if the lease counts from the answer to the renewal, or for all of the time to live.
  const { clock, store } = scene();
  const client = new FaultyBigtable(store);
  const slow = new PausableClock(clock, 1 / 1.15); // Within the sixth that clocks may differ by.
  const old = await openLeasedAllocator(client, slow, options);
  const other = await openAllocator(store, { clock });
  let given: Promise<number> | undefined;
  client.afterCall = async ({ kind }) => {
    if (kind !== 'mutation' || given !== undefined) return;
    given = one(other); // Meets the renewed lease, and watches it from now on.
    await clock.sleep(TTL_MS / 4);
    slow.isPaused = true; // The answer comes late, and is the last one it receives.
  };
  await clock.advance(TTL_MS / 2 + TTL_MS / 3);
  assert.equal(old.isLeading, true);
  assert.ok(given !== undefined);
  assert.ok((await clock.runUntil(given)) > 0);
  assert.equal(old.isLeading, false);
});

test('a copy of a renewal that arrives after the closing does not bring the lease back', async () => {
  const { clock, store, client, source } = await openFaulty();
  client.duplicate(once(() => true));
  await clock.advance(TTL_MS / 2);
  await source.close();
  await client.deliverDuplicates();
  assert.equal((await openLeasedAllocator(store, clock, options)).isLeading, true);
});

test('P35: a machine that was suspended, so that its monotonic clock stopped, checks the wall clock', async () => {
  const { clock, store } = scene();
  const suspended = new PausableClock(clock);
  const old = await openLeasedAllocator(store, suspended, options);
  await one(old);
  const standby = await openLeasedAllocator(store, clock, options);
  suspended.isPaused = true;
  suspended.standsStillSince = clock.monotonicMs();
  await clock.advance(2 * TTL_MS);
  await one(standby);
  await assert.rejects(one(old), { code: 'STORE_UNAVAILABLE' });
});

test('P35: a renewal that arrives after another oracle has taken over is refused', async () => {
  const { clock, store } = scene();
  const client = new FaultyBigtable(store);
  const paused = new PausableClock(clock);
  const old = await openLeasedAllocator(client, paused, options);
  client.duplicate(once(() => true));
  await clock.advance(TTL_MS / 2); // A renewal, and a copy of it that is still in flight.
  paused.isPaused = true;
  const standby = await openLeasedAllocator(store, clock, options);
  await clock.advance(2 * TTL_MS);
  const first = await one(standby);
  await client.deliverDuplicates();
  await clock.advance(TTL_MS);
  assert.equal(standby.isLeading, true);
  assert.ok((await one(standby)) > first);
  assert.ok(old.epoch < standby.epoch);
});

for (const lost of ['loseAnswer', 'loseRequest'] as const) {
  test(`a renewal in doubt (${lost}) is looked up, and the range goes on without a gap`, async () => {
    const { clock, client, source } = await openFaulty();
    client[lost](once(() => true));
    await clock.advance(TTL_MS / 2);
    assert.equal(await one(source), 1);
    assert.equal(source.isLeading, true);
    await clock.advance(3 * TTL_MS);
    assert.equal(await one(source), 2);
  });

  test(`P31: while a move of the horizon is in doubt (${lost}), no timestamp is handed out; in the end it is made`, async () => {
    const { client, source, store } = await openFaulty();
    client[lost](once(() => true));
    const asked: Promise<Allocation>[] = [];
    client.afterCall = ({ kind }) => {
      // The first mutation after the one in doubt, whose outcome is still unknown to the oracle.
      if (kind === 'mutation' && asked.length === 0) asked.push(source.allocate(1));
    };
    assert.equal(await source.raiseHorizon(20), 20);
    for (const allocation of asked) assert.equal((await allocation).horizon, 20);
    assert.ok(asked.length > 0);
    await source.close();
    assert.equal(await (await openAllocator(store)).readHorizon(), 20);
  });
}

for (const lost of ['loseAnswer', 'loseRequest'] as const) {
  test(`P54: while an announcement is in doubt (${lost}), no timestamp is handed out; in the end it is made`, async () => {
    const { client, source, store } = await openFaulty();
    client[lost](once(() => true));
    const asked: Promise<Allocation>[] = [];
    client.afterCall = ({ kind }) => {
      // The first mutation after the one in doubt, whose outcome is still unknown to the oracle.
      if (kind === 'mutation' && asked.length === 0) asked.push(source.allocate(1));
    };
    assert.equal(await source.announceDrop(), 1);
    for (const allocation of asked) assert.equal((await allocation).drops, 1);
    assert.ok(asked.length > 0);
    await source.close();
    assert.equal((await (await openAllocator(store)).allocate(1)).drops, 1);
  });
}

test('P56: an oracle whose store was closed ends, and answers every caller with the reason', async () => {
  const { clock, client, source } = await openFaulty();
  await one(source);
  await client.close();
  await clock.advance(TTL_MS);
  await assert.rejects(source.ended, { code: 'STORE_CLOSED' });
  await assert.rejects(one(source), {
    code: 'STORE_UNAVAILABLE',
    message: /^this timestamp oracle has stopped: .*closed/,
  });
});

test('a store that is unavailable for a moment ends neither the lease nor the oracle', async () => {
  const { clock, client, source } = await openFaulty();
  let refused = 0;
  client.beforeCall = () => {
    client.beforeCall = undefined;
    refused++;
    throw new PercolatorError('STORE_UNAVAILABLE', 'refused');
  };
  await clock.advance(TTL_MS / 3);
  assert.equal(refused, 1);
  assert.equal(await one(source), 1);
  await clock.advance(3 * TTL_MS);
  assert.equal(source.isLeading, true, 'later renewals have succeeded');
});

test('P31: an old oracle can no longer move the horizon, and the new oracle knows its value', async () => {
  const { clock, store } = scene();
  const paused = new PausableClock(clock);
  const old = await openLeasedAllocator(store, paused, options);
  assert.equal(await old.raiseHorizon(20), 20);
  assert.equal(await old.raiseHorizon(10), 20);
  paused.isPaused = true;
  const standby = await openLeasedAllocator(store, clock, options);
  await clock.advance(2 * TTL_MS);
  assert.equal((await standby.allocate(1)).horizon, 20);
  await assert.rejects(old.raiseHorizon(30), { code: 'STORE_UNAVAILABLE' });
  assert.equal(await standby.readHorizon(), 20);
});

test('P31: a horizon that arrives after the takeover is refused', async () => {
  const { clock, store } = scene();
  const client = new FaultyBigtable(store);
  const paused = new PausableClock(clock);
  const old = await openLeasedAllocator(client, paused, options);
  client.duplicate(once(() => true));
  client.loseRequest(once(() => true));
  const raised = old.raiseHorizon(30);
  paused.isPaused = true;
  // It sends its mutation, and never learns the outcome.
  client.beforeCall = ({ kind }) => (kind === 'read' ? new Promise(() => {}) : undefined);
  raised.catch(() => {});
  const standby = await openLeasedAllocator(store, clock, options);
  await clock.advance(2 * TTL_MS);
  await one(standby);
  const sent = client.trace.flatMap((call) => (call.kind === 'mutation' ? call.mutations : []));
  assert.ok(sent.some(({ kind, qualifier }) => kind === 'set' && qualifier === 'horizon'));
  await client.deliverDuplicates();
  assert.equal((await standby.allocate(1)).horizon, 0);
  assert.equal(await standby.raiseHorizon(5), 5, 'and the refused one had no effect');
});

test('P54: an old oracle can no longer announce a drop, and the new oracle knows the count', async () => {
  const { clock, store } = scene();
  const paused = new PausableClock(clock);
  const old = await openLeasedAllocator(store, paused, options);
  assert.equal(await old.announceDrop(), 1);
  paused.isPaused = true;
  const standby = await openLeasedAllocator(store, clock, options);
  await clock.advance(2 * TTL_MS);
  assert.equal((await standby.allocate(1)).drops, 1);
  await assert.rejects(old.announceDrop(), { code: 'STORE_UNAVAILABLE' });
  assert.equal((await standby.allocate(1)).drops, 1);
});

test('P35: processes that allocate from the row themselves do not allocate while the lease lasts', async () => {
  const { clock, store } = scene();
  const embedded = await openAllocator(store, { clock });
  assert.equal(await one(embedded), 1);
  const service = await openLeasedAllocator(store, clock, options);
  const given = await one(service);
  assert.ok(given > 1);
  await assert.rejects(clock.runUntil(one(embedded)), { code: 'STORE_UNAVAILABLE' });
  await assert.rejects(clock.runUntil(embedded.raiseHorizon(7)), /connect to it, or stop it/);
  await service.close();
  assert.ok((await clock.runUntil(one(embedded))) > given);
});

test('P35: a lease whose service stands still is struck off by the process that meets it; the service may come back', async () => {
  const { clock, store } = scene();
  const stopped = new PausableClock(clock);
  const service = await openLeasedAllocator(store, stopped, options);
  const last = await one(service);
  stopped.isPaused = true;
  const embedded = await openAllocator(store, { clock });
  const startedMs = clock.monotonicMs();
  assert.ok((await clock.runUntil(one(embedded))) > last);
  assert.equal(clock.monotonicMs() - startedMs, TTL_MS);
  stopped.isPaused = false;
  await clock.advance(TTL_MS);
  const [leased, allocated] = [
    await one(service),
    await clock.runUntil(one(embedded)).catch(() => 0),
  ];
  assert.ok(leased > last);
  assert.equal(allocated, 0, 'the service is back');
});

test('P35: a lease is struck off only after all of its time to live, although timers wake early', async () => {
  const { clock, store } = scene();
  const killed = new PausableClock(clock);
  await openLeasedAllocator(store, killed, options);
  killed.isPaused = true;
  const embedded = await openAllocator(store, { clock: wakingEarly(clock) });
  const startedMs = clock.monotonicMs();
  await clock.runUntil(one(embedded));
  assert.equal(clock.monotonicMs() - startedMs, TTL_MS);
});

for (const lost of ['loseAnswer', 'loseRequest'] as const) {
  test(`P35: a lease of a killed service is struck off although one ${lost === 'loseAnswer' ? 'answer' : 'request'} is lost`, async () => {
    const { clock, store } = scene();
    const stopped = new PausableClock(clock);
    const service = await openLeasedAllocator(store, stopped, options);
    const last = await one(service);
    stopped.isPaused = true;
    const client = new FaultyBigtable(store);
    const embedded = await openAllocator(client, { clock });
    client[lost](once(() => true));
    assert.ok((await clock.runUntil(one(embedded))) > last);
  });
}

test('an oracle that takes over from an allocator without a lease goes on after its range', async () => {
  const { clock, store } = scene();
  const embedded = await openAllocator(store, { rangeSize: 10 });
  for (let i = 0; i < 15; i++) await one(embedded);
  const service = await openLeasedAllocator(store, clock, options);
  assert.equal(await one(service), 21);
});

test('wrong options are refused', async () => {
  const { clock, store } = scene();
  for (const wrong of [{ rangeSize: 0 }, { leaseTimeToLiveMs: 0 }, { leaseTimeToLiveMs: NaN }]) {
    await assert.rejects(openLeasedAllocator(store, clock, wrong), { code: 'INVALID_ARGUMENT' });
  }
});

test('P38: the leased allocator stops before timestamps lose digits', async () => {
  const { source } = await openFaulty();
  await assert.rejects(source.allocate(Number.MAX_SAFE_INTEGER - 5), { code: 'INVALID_ARGUMENT' });
  assert.equal(await one(source), 1);
});

test('any succession of oracles that are paused, killed, stopped and slow gives unique timestamps in real-time order', async () => {
  const step = fc.record({
    who: fc.nat(2),
    what: fc.constantFrom('ask', 'ask', 'ask', 'pause', 'resume', 'kill', 'close', 'raise', 'drop'),
    count: fc.integer({ min: 1, max: 60 }),
    thenMs: fc.integer({ min: 0, max: TTL_MS }),
  });
  let answers = 0;
  let takeovers = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 15, maxLength: 50 }),
      fc.nat(),
      async (steps, seed) => {
        const { clock, store } = scene();
        const random = createRandom(seed);
        const oracles = await Promise.all([0, 1, 2].map(() => openOracle(store, clock, random)));
        const heard = { taken: new Set<number>(), largest: 0, horizon: 0, drops: 0 };
        const failures: unknown[] = [];
        const inBackground = (call: Promise<unknown>): void => {
          call.catch((error: unknown) => failures.push(error)); // Killed oracles never answer.
        };
        for (const { who, what, count, thenMs } of steps) {
          const oracle = oracles[who];
          assert.ok(oracle !== undefined);
          if (what === 'ask') inBackground(ask(oracle.source, count, heard));
          else if (what === 'raise') inBackground(raise(oracle.source, heard));
          else if (what === 'drop') inBackground(announce(oracle.source, heard));
          else if (what === 'close') inBackground(oracle.source.close());
          else if (what === 'kill') oracles[who] = await openOracle(store, clock, random);
          else oracle.clock.isPaused = what === 'pause';
          if (what === 'kill') oracle.clock.isPaused = true;
          await clock.advance(thenMs);
        }
        for (const { clock: own } of oracles) own.isPaused = false;
        await clock.advance(3 * TTL_MS);
        assert.deepEqual(failures, []);
        answers += heard.taken.size;
        // Epoch 1 is the first oracle's; 0 means that an oracle has had no lease, or was closed.
        takeovers += new Set(oracles.map(({ source }) => source.epoch).filter((epoch) => epoch > 1))
          .size;
      },
    ),
    { numRuns: 200 },
  );
  assert.ok(answers > 10_000, `${answers} timestamps were handed out`);
  assert.ok(takeovers > 100, `${takeovers} oracles have taken the lease over`);
});

/** What all callers together have received. */
interface Heard {
  readonly taken: Set<number>;
  largest: number;
  horizon: number;
  drops: number;
}

async function ask(source: TimestampSource, count: number, heard: Heard): Promise<void> {
  const { largest, horizon, drops } = heard;
  const answer = await source.allocate(count).catch(() => undefined);
  if (answer === undefined) return;
  assert.ok(answer.first > largest, 'larger than all answered before the call');
  assert.ok(answer.horizon >= horizon, 'with a horizon not below any known before the call');
  assert.ok(answer.drops >= drops, 'with all drops that were announced before the call');
  for (let i = 0; i < count; i++) {
    assert.ok(!heard.taken.has(answer.first + i), 'handed out once');
    heard.taken.add(answer.first + i);
  }
  heard.largest = Math.max(heard.largest, answer.first + count - 1);
}

async function raise(source: TimestampSource, heard: Heard): Promise<void> {
  const raised = await source.raiseHorizon(heard.horizon + 1).catch(() => 0);
  heard.horizon = Math.max(heard.horizon, raised);
}

async function announce(source: TimestampSource, heard: Heard): Promise<void> {
  const before = heard.drops;
  const drops = await source.announceDrop().catch(() => undefined);
  if (drops === undefined) return;
  assert.ok(drops > before, 'more than was known before the call');
  heard.drops = Math.max(heard.drops, drops);
}

/** An oracle on the shared store, with a clock that may stop, and calls that take time. */
async function openOracle(
  store: Bigtable,
  clock: VirtualClock,
  random: ReturnType<typeof createRandom>,
): Promise<{ readonly source: LeasedAllocator; readonly clock: PausableClock }> {
  const client = new FaultyBigtable(store);
  const own = new PausableClock(clock, 1 + random.integer(-5, 5) / 100);
  const opening = openLeasedAllocator(client, own, options);
  const source = await clock.runUntil(opening);
  const wait = async (): Promise<void> => {
    if (random.integer(0, 2) > 0) await own.sleep(random.integer(0, TTL_MS / 4));
  };
  client.beforeCall = wait;
  client.afterCall = wait;
  return { source, clock: own };
}

/** The clock of a process that may be paused: a sleep continues until the process runs again. */
class PausableClock implements Clock {
  #resumed: PromiseWithResolvers<void> | undefined;
  /** If set, the monotonic clock shows that time, and only the wall clock goes on. */
  standsStillSince: number | undefined;
  readonly #clock: VirtualClock;
  readonly #speed: number;

  constructor(clock: VirtualClock, speed = 1) {
    this.#clock = clock;
    this.#speed = speed;
  }

  set isPaused(isPaused: boolean) {
    this.#resumed?.resolve();
    this.#resumed = isPaused ? Promise.withResolvers() : undefined;
  }

  wallMs(): number {
    return this.#clock.wallMs() * this.#speed; // One oscillator drives both clocks of a machine.
  }

  monotonicMs(): number {
    return (this.standsStillSince ?? this.#clock.monotonicMs()) * this.#speed;
  }

  async sleep(ms: number, signal?: AbortSignal, sleepOptions?: SleepOptions): Promise<void> {
    await this.#clock.sleep(ms / this.#speed, signal, sleepOptions);
    while (this.#resumed !== undefined) await this.#resumed.promise;
  }

  yield(): Promise<void> {
    return this.#clock.yield();
  }
}

function scene(): { readonly clock: VirtualClock; readonly store: Bigtable } {
  return { clock: new VirtualClock(1), store: createMemoryBigtable() };
}

async function openFaulty(given: { readonly rangeSize?: number } = {}): Promise<{
  readonly clock: VirtualClock;
  readonly store: Bigtable;
  readonly client: FaultyBigtable;
  readonly source: LeasedAllocator;
}> {
  const { clock, store } = scene();
  const client = new FaultyBigtable(store);
  const source = await openLeasedAllocator(client, clock, { ...options, ...given });
  return { clock, store, client, source };
}

/** The next timestamp. */
async function one(source: TimestampSource): Promise<number> {
  return (await source.allocate(1)).first;
}

async function persistedLimit(store: Bigtable): Promise<number> {
  const limit = { family: 'oracle', qualifier: 'limit' };
  return (await store.readRow('timestamp-oracle', 'range', [limit]))?.cells[0]?.timestamp ?? 0;
}
