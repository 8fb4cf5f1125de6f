/** Leases: how long a process may rely on one, and from when on no collector respects it (P31). */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { createRandom, PercolatorError, systemClock } from '../base/index.ts';
import { type Bigtable, decorate } from '../bigtable/index.ts';
import { openPercolator, type Percolator } from '../percolator.ts';
import {
  createMemoryBigtable,
  FaultyBigtable,
  once,
  temporaryFolder,
  VirtualClock,
} from '../testing/index.ts';
import { collectTelemetry } from '../testing/collected.ts';
import { bounds, LIFETIME_MS, openLeases as open, TTL_MS } from '../testing/lease-scene.ts';
import { createLeases, LeaseWatch, type Leases } from './index.ts';
import { createLeaseTable, LEASES_TABLE, readLeases, writeLease } from './lease-table.ts';

test('P31: the lease exists, with an earlier bound, when the first start timestamp is asked for', async () => {
  const { process, watch } = open();
  assert.deepEqual(await bounds(watch), []);
  const hold = await process.leases.enter();
  assert.deepEqual(await bounds(watch), [10]);
  hold.setTimestamp(11);
  assert.ok(hold.isCovered());
});

test('entering costs nothing once there is a lease', async () => {
  const { process } = open();
  await process.leases.enter();
  const calls = process.store.trace.length;
  for (let i = 0; i < 100; i++) (await process.leases.enter()).release();
  const pin = await process.leases.pin(10);
  assert.ok(pin.isCovered(), 'the bound is 10');
  assert.equal(process.store.trace.length, calls);
});

test('renewing does nothing without a lease', async () => {
  const { process, store } = open();
  await process.leases.renew();
  assert.deepEqual(process.store.trace, []);
  assert.deepEqual(await store.listTables(), []);
});

test('the renewing ends when the storage was closed', async () => {
  const { process, clock } = open();
  await process.leases.enter();
  let renewals = 0;
  process.store.beforeCall = () => {
    renewals++;
    throw new PercolatorError('STORE_CLOSED', 'the store was closed');
  };
  await clock.advance(10 * TTL_MS);
  assert.equal(renewals, 1);
});

test('P31: the bound follows the oldest start timestamp in use, and a fresh timestamp if there is none', async () => {
  const { process, watch, clock } = open();
  const [old, young] = [await process.leases.enter(), await process.leases.enter()];
  old.setTimestamp(20);
  young.setTimestamp(30);
  process.fresh = 100;
  await clock.advance(TTL_MS / 3);
  assert.deepEqual(await bounds(watch), [20]);
  old.release();
  await clock.advance(TTL_MS / 3);
  assert.deepEqual(await bounds(watch), [30]);
  young.release();
  await clock.advance(TTL_MS / 3);
  assert.deepEqual(await bounds(watch), [100]);
});

test('P31: a start timestamp not yet answered holds the bound at the largest timestamp known before', async () => {
  const { process, watch, clock } = open();
  const answered = await process.leases.enter();
  answered.setTimestamp(12);
  answered.release();
  const pending = await process.leases.enter(); // Will receive 15, after a delay.
  process.fresh = 99;
  await clock.advance(TTL_MS / 3);
  assert.deepEqual(await bounds(watch), [12]);
  pending.setTimestamp(15);
  assert.ok(pending.isCovered());
});

/** A process without a hold that renews its lease, and waits for its fresh timestamp, `slow`. */
async function renewing() {
  const { watch, store, clock } = open();
  const slow = Promise.withResolvers<number>();
  let answer: Promise<number> = Promise.resolve(10);
  const leases = createLeases({
    store,
    clock,
    token: 'A',
    freshTimestamp: () => answer,
    ttlMs: TTL_MS,
    lifetimeMsMax: LIFETIME_MS,
  });
  (await leases.enter()).release();
  answer = slow.promise;
  const renewal = leases.renew();
  await clock.yield();
  return { leases, renewal, slow, watch };
}

test('P31: a transaction that enters while the fresh timestamp is in flight may be below it, and holds the bound', async () => {
  const { leases, renewal, slow, watch } = await renewing();
  const hold = await leases.enter(); // Will receive 49, which was handed out before 50.
  slow.resolve(50);
  await renewal;
  assert.deepEqual(await bounds(watch), [10]);
  hold.setTimestamp(49);
  assert.ok(hold.isCovered());
});

test('P31: a pin taken while a renewal receives its fresh timestamp is in the bound, or renews the lease', async () => {
  for (let turns = 0; turns < 12; turns++) {
    const { leases, renewal, slow, watch } = await renewing();
    slow.resolve(100);
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    const pin = await leases.pin(50); // Some turns later, each time one more.
    await renewal;
    assert.ok(pin.isCovered());
    assert.deepEqual(await bounds(watch), [50], `after ${turns} turns`);
  }
});

test('P59: a process that was suspended does not rely on its lease, although its monotonic clock stopped', async () => {
  const { process, clock } = open();
  const hold = await process.leases.enter();
  hold.setTimestamp(11);
  assert.ok(hold.isCovered());
  clock.suspend(2 * TTL_MS);
  assert.ok(!hold.isCovered());
  await clock.advance(TTL_MS / 3);
  assert.ok(!hold.isCovered(), 'a collector may have given the lease up meanwhile');
  const next = await process.leases.enter();
  next.setTimestamp(12);
  assert.ok(next.isCovered());
});

test('P59: a wall clock that has gone back hides no suspend', async () => {
  const { process, clock } = open();
  const hold = await process.leases.enter();
  hold.setTimestamp(11);
  clock.jumpWall(-3_600_000);
  clock.suspend(2 * TTL_MS);
  assert.ok(!hold.isCovered());
});

test('P59: a suspend is noticed even if the wall clock is set back by a part of it afterwards', async () => {
  const { process, clock } = open();
  const hold = await process.leases.enter();
  hold.setTimestamp(11);
  clock.suspend(TTL_MS + 10_000);
  clock.jumpWall(-TTL_MS); // Ten seconds seem to have passed.
  assert.ok(!hold.isCovered());
});

const HARMLESS: Readonly<Record<string, (second: number) => number>> = {
  'is corrected a little': (second) => (second % 3 === 0 ? -20 : 10),
  'runs a hundredth slower': () => -10,
};
for (const [what, jumpMs] of Object.entries(HARMLESS)) {
  test(`P59: a wall clock that ${what} ends no lease`, async () => {
    const { process, clock } = open();
    const hold = await process.leases.enter();
    hold.setTimestamp(11);
    process.store.loseRequest(() => true);
    for (let second = 1; second < 25; second++) {
      await clock.advance(1_000);
      clock.jumpWall(jumpMs(second));
      assert.ok(hold.isCovered(), `after ${second} seconds`);
    }
  });
}

test('P31: a process stops relying on its lease before any collector stops respecting it', async () => {
  const { process, watch, clock } = open();
  const hold = await process.leases.enter();
  hold.setTimestamp(11);
  assert.deepEqual(await bounds(watch), [10], 'seen as soon as it was sent');
  process.store.loseRequest(() => true);
  let coveredUntilMs = 0;
  let respectedUntilMs = 0;
  for (let nowMs = 0; nowMs < 2 * TTL_MS; nowMs += 500) {
    if (hold.isCovered()) coveredUntilMs = nowMs;
    if ((await bounds(watch)).length > 0) respectedUntilMs = nowMs;
    await clock.advance(500);
  }
  assert.ok(coveredUntilMs > TTL_MS / 2, `covered until ${coveredUntilMs}`);
  assert.ok(coveredUntilMs * 1.1 < respectedUntilMs, 'clocks may differ in speed by a tenth');
});

test('P31: the time to live counts from before the renewal was sent, not from its answer', async () => {
  const { process, clock } = open();
  const hold = await process.leases.enter();
  hold.setTimestamp(11);
  process.store.afterCall = () => clock.sleep(12_000); // The answers are slow.
  await clock.advance(TTL_MS / 3 + 12_000); // The renewal was sent 12 seconds ago.
  process.store.loseRequest(() => true);
  await clock.advance(12_000);
  assert.ok(hold.isCovered());
  await clock.advance(6_000);
  assert.ok(!hold.isCovered(), '30 seconds after it was sent, although 18 after it was answered');
});

test('P31: a hold from before the lease lapsed is never covered again; a later one is', async () => {
  const { process, clock } = open();
  const before = await process.leases.enter();
  before.setTimestamp(11);
  let lost = true;
  process.store.loseRequest(() => lost);
  await clock.advance(TTL_MS);
  assert.ok(!before.isCovered());
  lost = false;
  await clock.advance(TTL_MS / 3);
  assert.ok(!before.isCovered(), 'the collector may have given it up in between');
  const after = await process.leases.enter();
  after.setTimestamp(12);
  assert.ok(after.isCovered());
});

test('P24: a lease lapses one time to live after its version was first seen, on our own clock; a renewed one does not', async () => {
  const { process, watch, clock } = open();
  await process.leases.enter();
  await clock.advance(20_000);
  for (let i = 0; i < 5; i++) {
    assert.deepEqual(await bounds(watch), [10], 'it is renewed');
    await clock.advance(20_000);
  }
  process.store.crash();
  await bounds(watch);
  await clock.advance(TTL_MS - 1);
  assert.deepEqual(await bounds(watch), [10]);
  await clock.advance(1);
  assert.deepEqual(await bounds(watch), []);
});

test('P24: a slow answer does not end a lease that was renewed meanwhile', async () => {
  const { process, store, clock } = open();
  await process.leases.enter();
  const slow = new FaultyBigtable(store);
  const watch = new LeaseWatch(slow, clock);
  assert.deepEqual(await bounds(watch), [10]);
  slow.afterCall = () => clock.sleep(TTL_MS);
  assert.deepEqual(await clock.runUntil(bounds(watch)), [10]);
});

test('P31: a late copy of an old renewal does not replace a pin', async () => {
  const { process, watch, clock } = open();
  (await process.leases.enter()).release();
  process.fresh = 100;
  process.store.duplicate(once(() => true)); // A copy of the pin's renewal would put 50 back.
  await clock.advance(TTL_MS / 3);
  const pin = await process.leases.pin(50);
  assert.ok(pin.isCovered());
  assert.deepEqual(await bounds(watch), [50]);
  await process.store.deliverDuplicates();
  assert.deepEqual(await bounds(watch), [50]);
});

test('P31: a pin below the bound is covered only once the lease includes it', async () => {
  const { process, clock, watch } = open();
  (await process.leases.enter()).release();
  process.fresh = 100;
  await clock.advance(TTL_MS / 3);
  process.store.loseRequest(() => true);
  const pin = await process.leases.pin(50);
  assert.deepEqual(await bounds(watch), [100]);
  assert.ok(!pin.isCovered());
});

test('P31: a hold that is never released stops holding the bound, and is then not covered', async () => {
  const { process, watch, clock } = open();
  const forgotten = await process.leases.enter();
  forgotten.setTimestamp(11);
  process.fresh = 100;
  await clock.advance(LIFETIME_MS - 1);
  assert.deepEqual(await bounds(watch), [11]);
  assert.ok(forgotten.isCovered());
  await clock.advance(TTL_MS / 3);
  assert.deepEqual(await bounds(watch), [100]);
  assert.ok(!forgotten.isCovered());
});

test('a lease that cannot be registered covers no transaction and blocks none', async () => {
  const { process, watch } = open();
  let lost = true;
  process.store.loseRequest(() => lost);
  const hold = await process.leases.enter();
  hold.setTimestamp(11);
  assert.ok(!hold.isCovered());
  lost = false;
  const next = await process.leases.enter();
  next.setTimestamp(12);
  assert.ok(next.isCovered());
  assert.ok(!hold.isCovered(), 'it began without a lease');
  assert.equal((await bounds(watch)).length, 1);
});

test('closing gives the lease up at once', async () => {
  const { process, watch } = open();
  const hold = await process.leases.enter();
  hold.setTimestamp(11);
  await process.leases.close();
  await process.leases.close();
  assert.deepEqual(await bounds(watch), []);
  assert.ok(!hold.isCovered());
  assert.ok(!(await process.leases.enter()).isCovered());
});

test('closing during a renewal gives up the renewed lease, and nothing is sent afterwards', async () => {
  const { process, watch, clock, store } = open();
  (await process.leases.enter()).release();
  const renewed = Promise.withResolvers<void>();
  process.store.beforeCall = () => renewed.promise;
  await clock.advance(TTL_MS / 3);
  const closing = process.leases.close();
  await clock.advance(1);
  renewed.resolve();
  await closing;
  assert.deepEqual(await bounds(watch), []);
  assert.deepEqual(await readLeases(store), []);
  const calls = process.store.trace.length;
  await process.leases.close();
  (await process.leases.enter()).release();
  assert.equal(process.store.trace.length, calls);
  assert.deepEqual(await readLeases(store), []);
});

test('a renewal that the storage refuses once is followed by the next', async () => {
  const { process, watch, clock } = open();
  const hold = await process.leases.enter();
  let refusals = 0;
  process.store.beforeCall = () => {
    if (refusals++ === 0) throw new PercolatorError('STORE_UNAVAILABLE', 'for a moment');
  };
  await clock.advance(TTL_MS / 3);
  assert.equal(refusals, 1);
  for (let i = 0; i < 9; i++) {
    await clock.advance(TTL_MS / 3);
    assert.equal((await bounds(watch)).length, 1);
  }
  assert.ok(hold.isCovered());
});

test('a watch erases a lapsed lease that it sees, and if that fails the lease still does not count', async () => {
  const { process, clock, store } = open();
  const client = new FaultyBigtable(store);
  const watch = new LeaseWatch(client, clock);
  await process.leases.enter();
  assert.equal((await bounds(watch)).length, 1);
  process.store.crash();
  await clock.advance(2 * TTL_MS);
  client.loseRequest(() => true);
  assert.deepEqual(await bounds(watch), []);
  assert.equal((await readLeases(store)).length, 1);
  assert.deepEqual(await new LeaseWatch(store, clock).liveLeases(), await readLeases(store));
  const other = new LeaseWatch(store, clock);
  await other.liveLeases();
  await clock.advance(TTL_MS);
  assert.deepEqual(await bounds(other), []);
  assert.deepEqual(await readLeases(store), []);
});

test('a lease that is renewed just before a watch erases it stays', async () => {
  const { process, clock, store } = open();
  const client = new FaultyBigtable(store);
  const watch = new LeaseWatch(client, clock);
  await process.leases.enter();
  await bounds(watch);
  let lost = true;
  process.store.loseRequest(() => lost);
  await clock.advance(TTL_MS);
  client.beforeCall = async ({ kind, table }) => {
    if (kind !== 'mutation' || table !== LEASES_TABLE) return;
    lost = false;
    await process.leases.renew();
  };
  assert.deepEqual(await bounds(watch), []);
  assert.equal(lost, false, 'the watch erases the lapsed lease');
  assert.equal((await readLeases(store)).length, 1);
});

test('all leases are read, however many there are', async () => {
  const store = createMemoryBigtable();
  await createLeaseTable(store);
  // The first batches of a scan have 64 and 1,024 rows (reading.ts).
  for (let i = 0; i < 1_089; i++) {
    const token = String(i).padStart(5, '0');
    await writeLease(store, { token, bound: i, counter: 1, ttlMs: TTL_MS });
    if (i + 1 === 64 || i + 1 === 1_088) assert.equal((await readLeases(store)).length, i + 1);
  }
  assert.deepEqual(
    (await readLeases(store)).map(({ bound }) => bound),
    Array.from({ length: 1_089 }, (_, i) => i),
  );
});

/** A database with the liveness token A, and a fixed seed. */
async function openDatabase(
  store: Bigtable,
  clock: VirtualClock,
  liveness = { self: 'A', isDead: () => false },
): Promise<Percolator> {
  const { telemetry } = collectTelemetry(); // Its measured store is another object each time.
  return openPercolator({ store, clock, liveness, telemetry, random: createRandom(1) });
}

for (const shared of ['store', 'liveness'] as const) {
  test(`P31: each of two databases with one token, which share a ${shared}, has a lease of its own`, async () => {
    const store = createMemoryBigtable();
    const clock = new VirtualClock();
    const liveness = { self: 'A', isDead: () => false };
    const first = await openDatabase(store, clock, liveness);
    const { startTimestamp } = await first.snapshot();
    const second = await (shared === 'store'
      ? openDatabase(store, clock)
      : openDatabase(decorate(store, {}), clock, liveness));
    await second.snapshot();
    const watch = new LeaseWatch(store, clock);
    const held = await bounds(watch);
    assert.equal(held.length, 2);
    assert.ok(Math.min(...held) <= startTimestamp);
    const { heldBackBy } = await clock.runUntil(second.collectGarbage());
    assert.equal(heldBackBy?.process, 'A', 'the report names the process, not the row');
  });
}

test('P31: what a closed database erased does not hide the lease of its successor', async () => {
  const store = createMemoryBigtable({ tombstones: true });
  const clock = new VirtualClock();
  const watch = new LeaseWatch(store, clock);
  for (let i = 0; i < 2; i++) {
    await using database = await openDatabase(store, clock);
    await database.snapshot();
    assert.equal((await bounds(watch)).length, 1, `life ${i}`);
  }
});

test('a lease that ended with an error goes on with its own counter, not with a smaller stored one', async () => {
  const { process, clock, store } = open();
  await process.leases.enter();
  process.store.beforeCall = ({ kind }) => {
    if (kind === 'mutation') throw new TypeError('a bug');
  };
  const [before] = await readLeases(store);
  await clock.advance(TTL_MS / 3); // It is not known whether this renewal arrives.
  process.store.beforeCall = undefined;
  await process.leases.enter();
  const [after] = await readLeases(store);
  assert.equal((after?.counter ?? 0) - (before?.counter ?? 0), 2);
});

test('renewing does not keep a process alive', async () => {
  const folder = temporaryFolder();
  const program = `
    import { openPercolator } from '${new URL('../index.ts', import.meta.url).href}';
    const folder = ${JSON.stringify(folder)};
    // Its next renewal is due long after the time limit of this test.
    const percolator = await openPercolator({ folder, leaseTimeToLiveMs: 600_000 });
    await percolator.snapshot();
    await percolator.store.close(); // The process forgets to close the database.
  `;
  const run = promisify(execFile);
  const words = ['--input-type=module', '-e', program];
  await assert.doesNotReject(run(process.execPath, words, { timeout: 120_000 }));
});

for (const during of ['the first registration', 'a renewal'] as const) {
  test(`a lease that is given up during ${during} does not come back`, async () => {
    const held = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const { leases, store, hold } = unordered(async () => {
      reached.resolve();
      await held.promise;
    });
    if (during === 'a renewal') (await leases.enter()).release();
    hold();
    const working: Promise<unknown> = during === 'a renewal' ? leases.renew() : leases.enter();
    await reached.promise;
    const closing = leases.close();
    await systemClock.yield();
    held.resolve();
    await Promise.allSettled([working, closing]);
    assert.deepEqual(await readLeases(store), []);
  });
}

test('renewals are sent one after the other', async () => {
  let sent = 0;
  const held = Promise.withResolvers<void>();
  const { leases, hold } = unordered(async () => {
    sent++;
    await held.promise;
  });
  (await leases.enter()).release();
  hold();
  const renewals = [leases.renew(), leases.renew()];
  await systemClock.yield();
  assert.equal(sent, 1);
  held.resolve();
  await Promise.all(renewals);
  assert.equal(sent, 2);
});

/**
 * Leases over a storage that, once told to `hold`, awaits `beforeRenewal` before it applies a
 * renewal; a mutation that was sent later may be applied before it.
 */
function unordered(beforeRenewal: () => Promise<void>): {
  readonly leases: Leases;
  readonly store: Bigtable;
  readonly hold: () => void;
} {
  const store = createMemoryBigtable();
  let holds = false;
  const client = decorate(store, {
    mutateRows: async (rows) => {
      const isRenewal = rows.some((row) => row.mutations.some(({ kind }) => kind === 'set'));
      if (holds && isRenewal) await beforeRenewal();
      await store.mutateRows(rows);
    },
  });
  const leases = createLeases({
    store: client,
    clock: new VirtualClock(),
    token: 'A',
    freshTimestamp: async () => 10,
    ttlMs: TTL_MS,
    lifetimeMsMax: LIFETIME_MS,
  });
  return { leases, store, hold: () => void (holds = true) };
}
