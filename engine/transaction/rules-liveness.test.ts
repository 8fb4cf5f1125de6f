/**
 * The rules of protocol.md about liveness, clocks and resolving, P24 to P29. Each test that names
 * a rule fails without it.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PercolatorError } from '../base/index.ts';
import { decorate } from '../bigtable/index.ts';
import {
  cell,
  type MutationCall,
  type TestClient,
  openTestDatabase,
  put,
  type TestDatabase,
  type CellTexts,
  VirtualClock,
} from '../testing/index.ts';
import { createHeartbeats, type Lock } from './locks.ts';
import { isOf, LOCK, placeOf } from './columns.ts';
import { Committing, createContext } from './context.ts';
import { snapshotAt, transact } from './index.ts';

const TIME_TO_LIVE_MS = 5_000;

test('P24: it does not matter how far apart the clocks of two machines are', async () => {
  // A reader that compared the lock's wall time with its own clock would roll A back at once.
  const database = await openTestDatabase();
  const future = new VirtualClock(1e12);
  const [a, b] = [database.client('A'), database.client('B', { clock: future })];
  const { commit, committing } = await stall(database, a, { p: '1', x: '1' });
  const read = b.read(['x']);
  await future.advance(TIME_TO_LIVE_MS - 1);
  assert.deepEqual(
    await database.locks(),
    ['p:c', 'x:c'],
    'young, for a reader that has just met it',
  );
  commit();
  await committing;
  assert.deepEqual(await future.runUntil(read), { x: '1' });
});

test('P24: a dead owner of another machine is found out after one time to live, by the reader’s own clock', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  a.store.crashAfter(2);
  await assert.rejects(a.write({ p: '1', x: '1' }));
  const before = database.clock.monotonicMs();
  assert.deepEqual(await database.clock.runUntil(b.read(['x'])), { x: undefined });
  const waitedMs = database.clock.monotonicMs() - before;
  assert.ok(waitedMs >= TIME_TO_LIVE_MS && waitedMs < TIME_TO_LIVE_MS + 1_000, `${waitedMs}`);
});

describe('P80: many locks of dead owners of another machine cost one time to live together', () => {
  const SCAN = { table: 't', columns: ['c', 'd', 'e'] };

  /** One transaction for each set of values; all of them die between prewrite and commit. */
  async function leaveLocks(all: readonly CellTexts[]): Promise<TestDatabase> {
    const database = await openTestDatabase();
    for (const [i, values] of all.entries()) {
      const dead = database.client(`dead ${i}`);
      dead.store.crashAfter(new Set(Object.keys(values).map((name) => cell(name).row)).size);
      await assert.rejects(dead.write(values));
    }
    assert.equal((await database.locks()).length, all.flatMap(Object.keys).length);
    return database;
  }

  /** Not two times to live, and neither one: the test would show nothing. */
  async function assertOneTimeToLive(
    { clock }: TestDatabase,
    work: Promise<unknown>,
  ): Promise<void> {
    const before = clock.monotonicMs();
    await clock.runUntil(work);
    const waitedMs = clock.monotonicMs() - before;
    assert.ok(waitedMs >= TIME_TO_LIVE_MS && waitedMs < 1.5 * TIME_TO_LIVE_MS, `${waitedMs}`);
  }

  const rows = ['1', '2', '3', '4'].map((row) => ({ [`p${row}`]: 'dead', [`x${row}`]: 'dead' }));

  for (const reverse of [false, true]) {
    const ofRows = reverse ? 'a reverse scan' : 'a scan';

    test(`for ${ofRows} of several locked rows`, async () => {
      const database = await leaveLocks(rows);
      const reader = await database.client('reader').begin();
      const scan = Array.fromAsync(reader.scan({ ...SCAN, reverse }));
      await assertOneTimeToLive(database, scan);
      assert.deepEqual(await scan, []);
      assert.deepEqual(await database.locks(), []);
    });

    test(`for ${ofRows} in small batches`, async () => {
      const database = await leaveLocks(rows);
      const reader = await database.client('reader').begin();
      const scan = Array.fromAsync(reader.scan({ ...SCAN, reverse, batchRows: 1 }));
      await assertOneTimeToLive(database, scan);
      assert.deepEqual(await scan, []);
    });
  }

  test('and one that is aborted while it waits does not begin to look ahead', async () => {
    const database = await leaveLocks(rows);
    const client = database.client('reader');
    const reader = await client.begin();
    const stop = new AbortController();
    const scan = Array.fromAsync(reader.scan({ ...SCAN, signal: stop.signal }));
    await database.clock.advance(1);
    stop.abort(new Error('the user went away'));
    await assert.rejects(scan, { message: 'the user went away' });
    const { length } = client.store.trace;
    await database.clock.advance(TIME_TO_LIVE_MS / 2);
    const calls = client.store.trace.slice(length);
    assert.ok(calls.length > 0, 'the read of the locked row goes on');
    assert.deepEqual(
      calls.filter(({ operation }) => operation === 'readRange'),
      [],
    );
  });

  test('and a scan that is given up looks ahead no more', async () => {
    const database = await leaveLocks(rows);
    const { clock } = database;
    const client = database.client('reader');
    await database.client('early').write({ a: '1' });
    const reader = await client.begin();
    const scan = reader.scan({ ...SCAN, batchRows: 1 });
    await scan.next();
    void scan.next().catch(() => {});
    await clock.advance(TIME_TO_LIVE_MS / 2);
    const { length } = client.store.trace;
    assert.ok(length > 8, `${length}`);
    await clock.runUntil(scan.return(undefined));
    const after = client.store.trace.length;
    await clock.advance(2 * TIME_TO_LIVE_MS);
    assert.equal(client.store.trace.length, after);
  });

  test('for a read of several locked rows', async () => {
    const database = await leaveLocks(rows);
    const read = database.client('reader').read(rows.flatMap(Object.keys));
    await assertOneTimeToLive(database, read);
  });

  const columns = ['c', 'd', 'e'].map((column) => ({ [`x:${column}`]: 'dead' }));

  test('for a read of several locked columns of one row', async () => {
    const database = await leaveLocks(columns);
    const read = database.client('reader').read(columns.flatMap(Object.keys));
    await assertOneTimeToLive(database, read);
  });

  test('for a writer of several locked columns of one row', async () => {
    const database = await leaveLocks(columns);
    const { context } = database.client('writer', { backoffMsMax: 64, attemptsMax: 1_000 });
    const write = transact(context, async (transaction) => {
      for (const values of columns) put(transaction, values);
    });
    await assertOneTimeToLive(database, write);
  });

  test('and a damaged lock among them keeps no other lock from being looked at', async () => {
    const database = await leaveLocks(rows);
    const [lock] = (await database.store.readRow('t', 'x1', [placeOf(LOCK, 'c')]))?.cells ?? [];
    assert.ok(lock !== undefined);
    const mutations = [{ kind: 'set', ...lock, value: Buffer.from('damaged') } as const];
    await database.store.mutateRows([{ table: 't', row: 'x1', mutations }]);
    const reader = await database.client('reader').begin();
    const scan = Array.fromAsync(reader.scan(SCAN));
    const refused = assert.rejects(scan, { code: 'TABLE_MISMATCH' });
    await assertOneTimeToLive(database, refused);
  });
});

test('P25: the heartbeats go on with more commits in flight than a function call may have arguments', async () => {
  const database = await openTestDatabase();
  const counted = { beats: 0 };
  const store = decorate(database.store, {
    checkAndMutateRow: async () => {
      counted.beats++;
      return false;
    },
  });
  const heartbeats = createHeartbeats(store, database.clock);
  const ends = Array.from({ length: 150_000 }, () => heartbeats.start(lockWithoutBeats()));
  await database.clock.advance(TIME_TO_LIVE_MS / 3 + 1);
  assert.equal(counted.beats, ends.length);
  for (const end of ends) end();
  heartbeats.stop();
});

test('P25: heartbeats keep a commit alive that takes many times its time to live', async () => {
  // The heartbeat begins with the primary's lock; the secondary's lock, which is never updated,
  // must not count.
  const database = await openTestDatabase();
  const a = database.client('A');
  const b = database.client('B', { lockWaitMsMax: 100 * TIME_TO_LIVE_MS });
  const { commit, committing } = await stall(database, a, { p: '1', x: '1' });
  const read = b.read(['x', 'p']);
  await database.clock.advance(10 * TIME_TO_LIVE_MS);
  assert.deepEqual(await database.locks(), ['p:c', 'x:c']);
  commit();
  await committing;
  assert.deepEqual(await database.clock.runUntil(read), { x: '1', p: '1' });
});

test('P25: answers that take five times the time to live do not stop the heartbeats', async () => {
  const database = await openTestDatabase();
  const counted = { beats: 0 };
  const store = decorate(database.store, {
    checkAndMutateRow: async () => {
      counted.beats++;
      await database.clock.sleep(5 * TIME_TO_LIVE_MS);
      return true;
    },
  });
  const heartbeats = createHeartbeats(store, database.clock);
  const end = heartbeats.start(lockWithoutBeats());
  for (let lives = 1; lives <= 10; lives++) {
    const before = counted.beats;
    await database.clock.advance(TIME_TO_LIVE_MS);
    assert.ok(counted.beats > before, `a beat is sent during life ${lives}`);
  }
  end();
  heartbeats.stop();
});

test('P25: a primary that is locked after a secondary that was met is as old as that one until it beats; not when it runs again', async () => {
  const database = await openTestDatabase();
  const a = database.client('A', { backoffMsMax: 64, inDoubtAttemptsMax: 1_000 });
  const b = database.client('B', { lockWaitMsMax: 10 * TIME_TO_LIVE_MS });
  let sentMs = 0;
  const isLate = (): boolean => database.clock.monotonicMs() - sentMs < TIME_TO_LIVE_MS - 100;
  // A beat that arrives would show that A is alive.
  a.store.loseRequest((call) => call.row === 'p' && (isLate() || isBeat(call)));
  let runs = 0;
  const work = transact(a.context, async (transaction) => {
    runs++;
    sentMs = database.clock.monotonicMs();
    put(transaction, { p: String(runs), x: String(runs) });
  });
  await database.clock.yield();
  assert.deepEqual(await database.locks(), ['x:c']);
  const reader = await b.begin();
  database.oracle.beforeNext = () => database.clock.sleep(1_000); // Less than a beat takes.
  assert.equal(await database.clock.runUntil(reader.get(cell('x'))), undefined);
  database.oracle.beforeNext = undefined;
  await database.clock.advance(2_000);
  assert.equal(runs, 2);
  assert.deepEqual(await database.locks(), [], 'none that could be met before its primary');
  await database.clock.runUntil(work);
  assert.equal(runs, 2);
  assert.deepEqual(await database.clock.runUntil(b.read(['x', 'p'])), { x: '2', p: '2' });
});

for (const end of ['commit', 'rollback'] as const) {
  test(`P25: a heartbeat that arrives after the ${end} does not bring the lock back`, async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B')];
    // Only heartbeats are duplicated: a copy of the commit would erase a lock that they bring back.
    let beats = 0;
    a.store.duplicate((call) => {
      if (isBeat(call)) beats++;
      return isBeat(call);
    });
    const { commit, committing } = await stall(database, a, { p: '1', x: '1' });
    await database.clock.advance(2 * TIME_TO_LIVE_MS);
    assert.ok(beats > 0);
    if (end === 'rollback') {
      database.bury('A'); // Wrongly.
      assert.deepEqual(await b.read(['p', 'x']), { p: undefined, x: undefined });
    }
    commit();
    if (end === 'rollback') await assert.rejects(committing, { code: 'ROLLED_BACK' });
    else await committing;
    await a.settled();
    await a.store.deliverDuplicates();
    assert.deepEqual(await database.locks(), []);
    const value = end === 'commit' ? '1' : undefined;
    assert.deepEqual(await b.read(['p', 'x']), { p: value, x: value });
  });
}

test('P26: a paused writer that comes back after it was rolled back fails with ROLLED_BACK', async () => {
  // Liveness is a hint: what decides is the conditional mutation of the primary.
  const database = await openTestDatabase();
  // Its time stands still: no heartbeats.
  const a = database.client('A', { clock: new VirtualClock() });
  const b = database.client('B');
  const { commit, committing } = await stall(database, a, { p: '1', x: '1' });
  assert.deepEqual(await database.clock.runUntil(b.read(['x'])), { x: undefined });
  await b.write({ x: '2' });
  commit();
  await assert.rejects(committing, { code: 'ROLLED_BACK' });
  assert.deepEqual(await b.read(['p', 'x']), { p: undefined, x: '2' });
  assert.deepEqual(await database.locks(), []);
});

test('P26: a live transaction that is presumed dead loses its commit, never data', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  database.bury('A'); // Wrongly.
  a.beforeMutation(3, async () => {
    assert.deepEqual(await b.read(['x']), { x: undefined });
  });
  await assert.rejects(a.write({ p: '1', x: '1' }), { code: 'ROLLED_BACK' });
  await a.write({ p: '2', x: '2' });
  assert.deepEqual(await b.read(['p', 'x']), { p: '2', x: '2' });
});

test('P27: a primary that commits between the look and the rollback wins, and its secondaries follow', async () => {
  // Check-then-act, as in Tera, would erase X's lock and write no record: a committed update lost.
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  const { commit, committing } = await stall(database, a, { p: '1', x: '1' });
  database.bury('A');
  loseSecondPhase(a);
  b.beforeMutation(1, async () => {
    commit();
    await committing;
  });
  assert.deepEqual(await b.read(['x', 'p']), { x: '1', p: '1' });
  assert.equal(b.context.counters.rolledForward, 1);
});

test('P27: a secondary is not changed before the primary has decided', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B')];
  a.store.crashAfter(2);
  await assert.rejects(a.write({ p: '1', x: '1' }));
  database.bury('A');
  await b.read(['x']);
  const rows = b.store.trace.flatMap((call) => (call.kind === 'mutation' ? [call] : []));
  assert.deepEqual(
    rows.map(({ row }) => row),
    ['p', 'x'],
  );
  for (const { anyOf } of rows) {
    assert.match(anyOf?.[0]?.qualifier ?? '', /:lock$/, 'only if the lock is there');
  }
});

test('P28: that a lock was alive once is not remembered', async () => {
  const database = await openTestDatabase();
  const [a, b] = [database.client('A'), database.client('B', { lockWaitMsMax: 100 })];
  const { commit, committing } = await stall(database, a, { p: '1', x: '1' });
  loseSecondPhase(a);
  await assert.rejects(database.clock.runUntil(b.read(['x'])), { code: 'LOCKED' });
  commit();
  await committing;
  assert.deepEqual(await database.locks(), ['x:c']);
  assert.deepEqual(await database.clock.runUntil(b.read(['x'])), { x: '1' });
});

test('P29: what this process itself left is cleaned up at once', async () => {
  // The clock does not move: waiting for the time to live of the process's own lock would hang.
  const database = await openTestDatabase();
  const a = database.client('A', { inDoubtAttemptsMax: 1 });
  a.store.loseRequest(({ mutations }) => mutations.some((one) => isOf('write', one)));
  await assert.rejects(a.write({ p: '1', x: '1' }), { code: 'COMMIT_UNKNOWN' });
  assert.deepEqual(await database.locks(), ['p:c', 'x:c']);
  assert.deepEqual(await a.read(['x', 'p']), { x: undefined, p: undefined });
});

test('P29: a transaction of this process that is still committing is not taken for a dead attempt', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  const { commit, committing } = await stall(database, a, { p: '1', x: '1' });
  const read = a.read(['x', 'p']);
  await database.clock.yield();
  commit();
  await committing;
  assert.deepEqual(await read, { x: '1', p: '1' });
});

test('P29: what another database of this process is committing is not taken for a dead attempt', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  const { clock } = database;
  const { store, oracle, random, liveness } = a.context;
  const isObserved = async (): Promise<boolean> => false;
  const other = createContext({ store, oracle, clock, random, liveness, isObserved });
  const { commit, committing } = await stall(database, a, { x: '1' });
  const read = (await snapshotAt(other)).get(cell('x'));
  await clock.advance(10);
  commit();
  await committing;
  assert.equal(String(await clock.runUntil(read)), '1');
});

test('P29: a commit of another store at the same start timestamp does not hide one that goes on', () => {
  const liveness = { self: 'A', isDead: () => false };
  const [a, b] = [new Committing(liveness), new Committing(liveness)];
  const end = Promise.resolve();
  b.set(1, Promise.resolve());
  a.set(1, end);
  assert.equal(a.get(1), end);
  b.delete(1);
  assert.equal(a.get(1), end);
  assert.ok(b.has(1));
  a.delete(1);
  assert.ok(!a.has(1) && !b.has(1));
});

test('a process that is told to stop sends no more heartbeats', async () => {
  const database = await openTestDatabase();
  const a = database.client('A');
  const { commit, committing } = await stall(database, a, { p: '1' });
  a.context.heartbeats.stop();
  const before = a.store.mutationCount;
  await database.clock.advance(10 * TIME_TO_LIVE_MS);
  assert.equal(a.store.mutationCount, before);
  commit();
  await committing;
});

/**
 * Resolves when the commit holds all its locks. The commit receives its timestamp when the returned
 * `commit` is called.
 */
async function stall(
  database: TestDatabase,
  client: TestClient,
  values: Parameters<TestClient['write']>[0],
): Promise<{ commit: () => void; committing: Promise<unknown> }> {
  const transaction = await client.begin();
  put(transaction, values);
  const gate = Promise.withResolvers<void>();
  database.oracle.afterNext = () => {
    database.oracle.afterNext = undefined;
    return gate.promise;
  };
  const committing = transaction.commit();
  committing.catch(() => {}); // Awaited by the test, perhaps after it has failed.
  while (database.oracle.afterNext !== undefined) await database.clock.yield();
  assert.ok((await database.locks()).length > 0, 'the commit holds its locks');
  return { commit: gate.resolve, committing };
}

/** The write record of x never arrives. */
function loseSecondPhase({ store }: TestClient): void {
  store.loseRequest(
    ({ row, mutations }) => row === 'x' && mutations.some((one) => isOf('write', one)),
  );
}

function lockWithoutBeats(): Lock {
  return {
    startTimestamp: 1,
    primary: cell('x'),
    operation: 'put',
    owner: 'A',
    wallMs: 0,
    timeToLiveMs: TIME_TO_LIVE_MS,
    heartbeat: 0,
  };
}

describe('P79: a transaction on a store that is gone', () => {
  const CALL_MS = 10_000;

  /** A client of which each call, or each question to the oracle, waits and then fails. */
  async function gone(
    what: 'store' | 'oracle',
  ): Promise<{ database: TestDatabase; a: TestClient }> {
    const database = await openTestDatabase();
    const a = database.client('A');
    const fail = async (): Promise<never> => {
      await database.clock.sleep(CALL_MS);
      throw new PercolatorError('STORE_UNAVAILABLE', 'no answer');
    };
    await database.clock.runUntil(a.write({ x: '1' }));
    if (what === 'store') a.store.beforeCall = fail;
    else a.context.oracle.next = fail;
    return { database, a };
  }

  for (const what of ['store', 'oracle'] as const) {
    test(`hears of it after a few deadlines of a call, not after a hundred of them: ${what}`, async () => {
      const { database, a } = await gone(what);
      const beganMs = database.clock.monotonicMs();
      const reading = transact(a.context, (transaction) => transaction.get(cell('x')));
      await assert.rejects(database.clock.runUntil(reading), { code: 'STORE_UNAVAILABLE' });
      const tookMs = database.clock.monotonicMs() - beganMs;
      assert.ok(tookMs >= 2 * CALL_MS, `it tries again: ${tookMs}`);
      assert.ok(tookMs < 5 * CALL_MS, `${tookMs}`);
    });
  }

  test('hears as soon of a lock whose owner lives and does not move', async () => {
    const database = await openTestDatabase();
    const [owner, a] = [database.client('owner'), database.client('A')];
    const { commit, committing } = await stall(database, owner, { x: '1' });
    const beganMs = database.clock.monotonicMs();
    const reading = transact(a.context, (transaction) => transaction.get(cell('x')));
    await assert.rejects(database.clock.runUntil(reading), { code: 'LOCKED' });
    const tookMs = database.clock.monotonicMs() - beganMs;
    assert.ok(tookMs < 5 * CALL_MS, `${tookMs}`);
    commit();
    await committing;
  });

  test('outlives a short outage, and many short ones', async () => {
    const { database, a } = await gone('store');
    const refuse = a.store.beforeCall;
    let calls = 0;
    // Every other attempt loses a conflict instead: that is an answer, and begins the time anew.
    a.store.beforeCall = async (call) => {
      if (calls++ < 12) await (calls % 2 === 0 ? conflict() : refuse?.(call));
    };
    const reading = transact(a.context, (transaction) => transaction.get(cell('x')));
    assert.equal(String(await database.clock.runUntil(reading)), '1');
  });

  function conflict(): never {
    throw new PercolatorError('WRITE_CONFLICT', 'another one was faster');
  }
});

/** Of all calls for one row alone, only a heartbeat erases nothing. */
function isBeat({ operation, mutations }: MutationCall): boolean {
  return operation === 'checkAndMutateRow' && mutations.every(({ kind }) => kind === 'set');
}
