/**
 * The claims of the paper about transactions and timestamps: "Large-scale Incremental Processing
 * Using Distributed Transactions and Notifications" (Peng and Dabek, OSDI 2010), sections 2.2 and
 * 2.3. Where the engine deviates, the test says so.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { batchTimestamps } from '../oracle/index.ts';
import {
  cell,
  type TestClient,
  openTestDatabase,
  put,
  type TestDatabase,
} from '../testing/index.ts';
import { snapshotAt, transact } from './index.ts';

describe('Figure 4: the transfer of $7 from Bob to Joe', () => {
  /**
   * The columns as the figure shows them. Deviation: a write record names its operation and, in
   * fixed width, the start timestamp: `8: 7 put` means the figure's `8: data @ 7`.
   */
  async function figure4(): Promise<{ database: TestDatabase; client: TestClient }> {
    const database = await openTestDatabase();
    database.oracle.skipTo(5);
    const client = database.client('transfer');
    await client.write({ 'Bob:bal': '$10', 'Joe:bal': '$2' }); // At 5, committed at 6.
    return { database, client };
  }

  const rows = async (database: TestDatabase): Promise<unknown> => ({
    Bob: await database.stored('Bob:bal'),
    Joe: await database.stored('Joe:bal'),
  });

  async function transfer(client: TestClient): Promise<number> {
    const transaction = await client.begin();
    assert.equal(transaction.startTimestamp, 7);
    const [bob, joe] = await transaction.getMany([cell('Bob:bal'), cell('Joe:bal')]);
    assert.deepEqual([bob?.toString(), joe?.toString()], ['$10', '$2']);
    put(transaction, { 'Bob:bal': '$3', 'Joe:bal': '$9' });
    const committed = await transaction.commit();
    await client.settled();
    return committed;
  }

  const initialBob = { data: '5: $10', write: '6: 5 put' };
  const initialJoe = { data: '5: $2', write: '6: 5 put' };
  const lock = '7: lock of t/Bob:bal at bal';
  const lockedBob = { data: '7: $3 | 5: $10', lock, write: '6: 5 put' };
  const lockedJoe = { data: '7: $9 | 5: $2', lock, write: '6: 5 put' };
  const committedBob = { data: '7: $3 | 5: $10', write: '8: 7 put | 6: 5 put' };
  const committedJoe = { data: '7: $9 | 5: $2', write: '8: 7 put | 6: 5 put' };

  const steps = [
    ['1. "Initial state: Joe’s account contains $2 dollars, Bob’s $10."', initialBob, initialJoe],
    [
      '2. "locking Bob’s account balance by writing the lock column. This lock is the primary"',
      lockedBob,
      initialJoe,
    ],
    [
      '3. "The transaction now locks Joe’s account ... a secondary ... a reference to the primary"',
      lockedBob,
      lockedJoe,
    ],
    [
      '4. "the commit point: it erases the primary lock and replaces it with a write record"',
      committedBob,
      lockedJoe,
    ],
    [
      '5. "completes by adding write records and deleting locks at the secondary cells"',
      committedBob,
      committedJoe,
    ],
  ] as const;

  for (const [i, [claim, Bob, Joe]] of steps.entries()) {
    test(claim, async () => {
      const { database, client } = await figure4();
      const seen: unknown[] = [await rows(database)];
      client.store.afterCall = async ({ kind }) => {
        if (kind === 'mutation') seen.push(await rows(database));
      };
      assert.equal(await transfer(client), 8);
      assert.equal(seen.length, steps.length);
      assert.deepEqual(seen[i], { Bob, Joe });
    });
  }

  test('a snapshot from before the commit shows the old balances at every step, one at the commit the new ones', async () => {
    const { database, client } = await figure4();
    const reader = database.client('reader');
    let mutations = 0;
    client.store.afterCall = async ({ kind }) => {
      if (kind !== 'mutation') return;
      mutations++;
      assert.deepEqual(await reader.read(['Bob:bal', 'Joe:bal'], 6), {
        'Bob:bal': '$10',
        'Joe:bal': '$2',
      });
    };
    await transfer(client);
    assert.equal(mutations, steps.length - 1);
    assert.deepEqual(await reader.read(['Bob:bal', 'Joe:bal'], 7), {
      'Bob:bal': '$10',
      'Joe:bal': '$2',
    });
    assert.deepEqual(await reader.read(['Bob:bal', 'Joe:bal'], 8), {
      'Bob:bal': '$3',
      'Joe:bal': '$9',
    });
  });
});

describe('section 2.2, transactions', () => {
  test('"cross-row, cross-table transactions with ACID snapshot-isolation semantics"', async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B')];
    const committed = await a.write({ 't/x': '1', 't/y': '1', 'u/x': '1' });
    const names = ['t/x', 't/y', 'u/x'];
    assert.deepEqual(Object.values(await b.read(names)), ['1', '1', '1']);
    assert.deepEqual(Object.values(await b.read(names, committed - 1)), [
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('"presents each transaction with the appearance of reading from a stable snapshot at some timestamp"', async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B')];
    await a.write({ x: '1', y: '1' });
    const reader = await b.begin();
    assert.equal((await reader.get(cell('x')))?.toString(), '1');
    await a.write({ x: '2', y: '2' });
    assert.equal((await reader.get(cell('y')))?.toString(), '1');
    assert.equal((await reader.get(cell('x')))?.toString(), '1');
  });

  test('"if transactions A and B, running concurrently, write to the same cell, at most one will commit"', async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B')];
    const transactions = await Promise.all([a.begin(), b.begin(), a.begin(), b.begin()]);
    transactions.forEach((transaction, i) => put(transaction, { x: String(i) }));
    const outcomes = await Promise.allSettled(
      transactions.map((transaction) => transaction.commit()),
    );
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  test('"in particular, transactions running under snapshot isolation are subject to write skew"', async () => {
    const database = await openTestDatabase();
    const [a, b] = [await database.client('A').begin(), await database.client('B').begin()];
    assert.equal(await a.get(cell('y')), undefined);
    assert.equal(await b.get(cell('x')), undefined);
    put(a, { x: '1' });
    put(b, { y: '1' });
    await a.commit();
    await b.commit();
    assert.deepEqual(await database.client('C').read(['x', 'y']), { x: '1', y: '1' });
  });

  test('"Any timestamp represents a consistent snapshot": two rows agree at every timestamp', async () => {
    const database = await openTestDatabase();
    const a = database.client('A');
    for (let i = 0; i < 5; i++) await a.write({ x: String(i), y: String(i) });
    const { startTimestamp } = await a.begin();
    for (let at = 1; at <= startTimestamp; at++) {
      const { x, y } = await database.client('B').read(['x', 'y'], at);
      assert.equal(x, y, `at ${at}`);
    }
  });

  test('"reading a cell requires only performing a Bigtable lookup ...; acquiring locks is not necessary"', async () => {
    // And a transaction that wrote nothing sends nothing, not even at its commit.
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B')];
    await a.write({ x: '1', y: '1' });
    const reader = await b.begin();
    await reader.getMany([cell('x'), cell('y')]);
    assert.equal(await reader.commit(), reader.startTimestamp);
    assert.equal(b.store.mutationCount, 0);
    assert.equal(b.store.trace.length, 2);
  });

  test('"Calls to Set() are buffered ... until commit time": nothing is sent before, and one’s own writes are read', async () => {
    const database = await openTestDatabase();
    const a = database.client('A');
    const transaction = await a.begin();
    put(transaction, { x: '1', y: undefined });
    assert.equal((await transaction.get(cell('x')))?.toString(), '1');
    assert.equal(a.store.trace.length, 0);
    transaction.discard();
    assert.deepEqual(await a.read(['x']), { x: undefined });
  });

  test('"if the transaction sees another write record after its start timestamp, it aborts"', async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B')];
    const loser = await a.begin();
    await b.write({ x: 'first' });
    put(loser, { x: 'second' });
    await assert.rejects(loser.commit(), { code: 'WRITE_CONFLICT' });
    assert.deepEqual(await a.read(['x']), { x: 'first' });
  });

  test('"if the transaction sees another lock at any timestamp, it also aborts"', async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B')];
    const before = await a.begin(); // Its start timestamp is below that of the lock.
    b.beforeMutation(2, async () => {
      for (const loser of [before, await a.begin()]) {
        put(loser, { x: 'A' });
        await assert.rejects(loser.commit(), { code: 'WRITE_CONFLICT' });
      }
    });
    await b.write({ x: 'B' });
  });

  test('"once the primary’s write is visible ..., the transaction must commit"', async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B')];
    a.store.crashAfter(3); // Prewrites of p and x, and the commit point.
    await assert.rejects(a.write({ p: '1', x: '1' }));
    assert.deepEqual(await b.read(['p']), { p: '1' });
    // The owner does not even have to be known to be dead: the primary's write record is enough to
    // roll forward.
    assert.deepEqual(await b.read(['x']), { x: '1' });
  });

  test('"the reading transaction must wait until the lock is released"', async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B')];
    let read: Promise<unknown> = Promise.resolve();
    a.beforeMutation(3, async () => {
      read = b.read(['x']);
      await database.clock.yield();
    });
    await a.write({ p: '1', x: '1' });
    assert.deepEqual(await database.clock.runUntil(read), { x: '1' });
    assert.ok(b.context.counters.lockWaits > 0);
  });

  test('"Percolator takes a lazy approach to cleanup": locks stay until a reader meets them', async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B')];
    a.store.crashAfter(2);
    await assert.rejects(a.write({ p: '1', x: '1' }));
    database.bury('A');
    await b.write({ y: '1' });
    assert.deepEqual(await database.locks(), ['p:c', 'x:c']);
    await b.read(['x']);
    assert.deepEqual(await database.locks(), []);
  });

  test('"only one of the cleanup or commit operations will succeed"', async () => {
    for (const cleanUpFirst of [true, false]) {
      const database = await openTestDatabase();
      const [a, b] = [database.client('A'), database.client('B')];
      database.bury('A');
      a.beforeMutation(3, async () => {
        if (cleanUpFirst) await b.read(['p']);
      });
      const committed = await a.write({ p: '1', x: '1' }).then(
        () => true,
        () => false,
      );
      assert.equal(committed, !cleanUpFirst);
      const value = committed ? '1' : undefined;
      assert.deepEqual(await b.read(['p', 'x']), { p: value, x: value });
    }
  });

  test('"if the primary lock has been replaced by a write record, ... the lock must be rolled forward"', async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B')];
    a.store.crashAfter(3);
    await assert.rejects(a.write({ p: '1', x: '1' }));
    await b.read(['x']);
    assert.deepEqual(await database.stored('x'), { data: '1: 1', write: '2: 1 put' });
    assert.equal(b.context.counters.rolledForward, 1);
  });

  test('"otherwise it should be rolled back"', async () => {
    // Deviation: rolling back leaves a rollback record; without it a late prewrite would lock the
    // cell again (P1).
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B')];
    a.store.crashAfter(2);
    await assert.rejects(a.write({ p: '1', x: '1' }));
    database.bury('A');
    await b.read(['x']);
    assert.deepEqual(await database.stored('p'), { rollback: '1: ' });
    assert.deepEqual(await database.stored('x'), { rollback: '1: ' });
    assert.equal(b.context.counters.rolledBack, 2);
  });

  test('"a transaction will not clean up a lock unless it suspects that a lock belongs to a dead or stuck worker"', async () => {
    const database = await openTestDatabase();
    const [a, b] = [database.client('A'), database.client('B', { lockWaitMsMax: 1_000 })];
    a.store.crashAfter(2);
    await assert.rejects(a.write({ p: '1', x: '1' }));
    await assert.rejects(database.clock.runUntil(b.read(['x'])), { code: 'LOCKED' });
    assert.deepEqual(await database.locks(), ['p:c', 'x:c']);
  });

  test('Figure 2: "the transaction has conflicted ... and should be retried after a backoff"', async () => {
    const database = await openTestDatabase();
    const clients = ['A', 'B', 'C', 'D'].map((name) => database.client(name));
    const increments = clients.flatMap(({ context }) =>
      Array.from({ length: 5 }, () =>
        transact(context, async (transaction) => {
          const count = Number((await transaction.get(cell('x')))?.toString() ?? '0');
          put(transaction, { x: String(count + 1) });
        }),
      ),
    );
    await database.clock.runUntil(Promise.all(increments));
    assert.deepEqual(await database.client('E').read(['x']), { x: '20' });
  });
});

describe('section 2.3, timestamps', () => {
  test('"hands out timestamps in strictly increasing order": start < commit < the next start', async () => {
    const database = await openTestDatabase();
    const a = database.client('A');
    const first = await a.begin();
    put(first, { x: '1' });
    const committed = await first.commit();
    const second = await a.begin();
    assert.ok(first.startTimestamp < committed && committed < second.startTimestamp);
  });

  test('"every transaction requires contacting the timestamp oracle twice"', async () => {
    const database = await openTestDatabase();
    await database.client('A').write({ x: '1', y: '1' });
    assert.equal(database.oracle.given.length, 2);
  });

  test('"maintaining only one pending RPC to the oracle"', async () => {
    const database = await openTestDatabase();
    const sizes: number[] = [];
    const answered = Promise.withResolvers<void>();
    let last = 0;
    const oracle = batchTimestamps({
      allocate: async (count) => {
        sizes.push(count);
        await answered.promise;
        last += count;
        return { first: last - count + 1, horizon: 0, drops: 0 };
      },
      readHorizon: async () => 0,
      raiseHorizon: async () => 0,
      announceDrop: async () => 0,
      identity: undefined,
      belongTo: async () => {},
    });
    const first = oracle.next();
    await database.clock.yield();
    const others = Array.from({ length: 1_000 }, () => oracle.next());
    await database.clock.yield();
    assert.deepEqual(sizes, [1], 'the others wait while one request is pending');
    answered.resolve();
    await Promise.all([first, ...others]);
    assert.deepEqual(sizes, [1, 1_000]);
  });

  test('"Get() returns all committed writes before the transaction’s start timestamp"', async () => {
    // R begins after W received its commit timestamp: before W's commit point, and between it and
    // W's second phase.
    for (const step of [3, 4]) {
      const database = await openTestDatabase();
      const [w, r] = [database.client('W'), database.client('R')];
      let read: Promise<unknown> = Promise.resolve();
      w.beforeMutation(step, async () => {
        read = r.read(['p', 'x']);
        await database.clock.yield();
      });
      const committed = await w.write({ p: '1', x: '1' });
      assert.deepEqual(await database.clock.runUntil(read), { p: '1', x: '1' });
      assert.ok(database.oracle.given.indexOf(committed) < database.oracle.given.length - 1);
    }
  });

  test('a snapshot at a timestamp of the past is what it was then', async () => {
    const database = await openTestDatabase();
    const a = database.client('A');
    const first = await a.write({ x: '1' });
    await a.write({ x: '2' });
    const then = await snapshotAt(a.context, first);
    assert.equal((await then.get(cell('x')))?.toString(), '1');
  });
});
