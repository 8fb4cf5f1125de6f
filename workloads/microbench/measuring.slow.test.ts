/** The parts of the measurement: loops, rounds, ratios, and recorded messages. */
import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { createRandom, openPercolator } from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import { percentileMs } from '#results';
import { type MicroCase, measureInRounds, runHere } from './case.ts';
import { closedLoop } from '../harness/load/loops.ts';
import { estimate, estimateRatio } from '../harness/statistics.ts';
import { profileFile } from './cpu-profile.ts';
import { Data, loadTables } from './data.ts';
import { caseNamed } from './figure-8.ts';
import { comparedCases, NAMES, PAPER } from './figure-8-cases.ts';
import { readAndTwoWritesUs } from './figure-8-tables.ts';
import { openInMemory } from './in-process.ts';
import { openLoop } from './latency.ts';
import { SIZES } from './plan.ts';
import { type Conditional, recordMessages, sendAs, watchCalls } from './recorded-messages.ts';
import { sweptCallers } from './sweeps.ts';

const { signal } = new AbortController();

describe('a ratio', () => {
  test('is the geometric mean, with the interval of Student’s t', () => {
    const { value, low, high } = estimate([1, 2, 4]);
    assert.ok(Math.abs(value - 2) < 1e-12);
    // Logarithms 0, ln 2, 2 ln 2: standard error ln 2 / sqrt 3; t for 2 degrees of freedom is
    // 4.302653.
    const off = Math.exp((4.302652729696 * Math.log(2)) / Math.sqrt(3));
    assert.ok(Math.abs((low ?? 0) - 2 / off) < 1e-6);
    assert.ok(Math.abs((high ?? 0) - 2 * off) < 1e-6);
  });

  test('has no interval with two rounds', () => {
    assert.deepEqual([estimate([1, 2]).low, estimate([1, 2]).high], [null, null]);
  });

  test('is the same however much the machine slows down in between', () => {
    const rates = fc.array(fc.double({ min: 1, max: 1e6, noNaN: true }), {
      minLength: 3,
      maxLength: 40,
    });
    fc.assert(
      fc.property(rates, (theirs) => {
        const { value, low, high } = estimateRatio(
          theirs.map((rate) => rate / 4),
          theirs,
        );
        for (const one of [value, low ?? 0, high ?? 0]) assert.ok(Math.abs(one - 0.25) < 1e-6);
      }),
    );
  });

  test('one read and two writes explain 93 % of the paper’s ratio', () => {
    const observed = 1e6 / PAPER.percolator.write;
    assert.ok(Math.abs(readAndTwoWritesUs(PAPER.raw) / observed - 0.93) < 0.01);
  });
});

describe('a closed loop', () => {
  test('runs each operation once, as many at a time as there are callers', async () => {
    const seen: number[] = [];
    let running = 0;
    let most = 0;
    const operate = async (operation: number): Promise<void> => {
      seen.push(operation);
      most = Math.max(most, ++running);
      await setTimeout(operation % 3);
      running--;
    };
    await closedLoop(operate, { first: 10, operations: 50, concurrency: 7, signal });
    assert.deepEqual(
      seen,
      Array.from({ length: 50 }, (_, i) => 10 + i),
    );
    assert.equal(most, 7);
  });

  test('fails with the error of the first operation that fails', async () => {
    const operate = async (operation: number): Promise<void> => {
      if (operation === 3) throw new Error('the store is gone');
    };
    const run = { first: 0, operations: 9, concurrency: 2, signal };
    await assert.rejects(closedLoop(operate, run), /the store is gone/);
  });
});

test('an open loop counts latency from when an operation was due, however long the process was busy', async () => {
  let stalls = true;
  const operate = async (): Promise<void> => {
    if (!stalls) return;
    stalls = false;
    const until = performance.now() + 100;
    while (performance.now() < until); // No operation can begin in the meantime.
  };
  const run = { first: 0, perSecond: 1_000, seconds: 0.2, signal };
  const { histogram, scheduled } = await openLoop(operate, run);
  assert.equal(scheduled, 200);
  assert.equal(histogram.totalCount, 200);
  // Half of them were due during the stall; those in its middle waited for half of it.
  assert.ok(percentileMs(histogram, 75) >= 40);
});

describe('an open loop says whether the system kept up:', () => {
  /** The operations from `from` on end after all were due. */
  const hanging = (from: number, ms: number): ((operation: number) => Promise<void>) => {
    const end = setTimeout(ms);
    return async (operation) => void (operation >= from && (await end));
  };

  test('it did if chance explains how many had not ended when the last one was due', async () => {
    const run = { first: 0, perSecond: 1_000, seconds: 0.4, signal };
    assert.equal((await openLoop(hanging(360, 1_500), run)).keptUp, true);
    assert.equal((await openLoop(hanging(340, 1_500), run)).keptUp, false);
  });

  test('it did if only one had not ended, however few there were', async () => {
    const run = { first: 0, perSecond: 4, seconds: 1, signal };
    const { scheduled, keptUp } = await openLoop(() => setTimeout(30), run);
    assert.deepEqual([scheduled, keptUp], [4, true]);
    assert.equal((await openLoop(hanging(0, 3_000), { ...run, perSecond: 8 })).keptUp, false);
  });

  test('it did not if the loop gave up, however many had ended by then', async () => {
    const run = { first: 0, perSecond: 1_000, seconds: 3, signal, backlogMax: 10 };
    const { keptUp, histogram, scheduled } = await openLoop(hanging(2_850, 4_000), run);
    assert.equal(keptUp, false);
    assert.ok(histogram.totalCount < scheduled, 'the rest was never begun');
  });
});

test('an open loop that is interrupted does not wait for operations that hang', async () => {
  const interrupt = new AbortController();
  const run = { first: 0, perSecond: 1_000, seconds: 0.01, signal: interrupt.signal };
  const looping = openLoop(() => new Promise(() => {}), run);
  await setTimeout(50); // All have begun.
  interrupt.abort(new Error('interrupted'));
  await assert.rejects(looping, /interrupted/);
});

test('groups are measured alone, and rounds do the same number of operations in each of their cases, no number twice, in an order that is drawn', async () => {
  const done = new Map<string, number[]>();
  const order: string[] = [];
  const caseOf = (name: string): MicroCase => ({
    name,
    operate: async (operation) => {
      done.set(name, [...(done.get(name) ?? []), operation]);
      await setTimeout(0);
    },
  });
  const slices = await measureInRounds(
    [[caseOf('a'), caseOf('b')], [{ ...caseOf('c'), followedBy: caseOf('d') }]],
    {
      rounds: 8,
      sliceSeconds: 0.01,
      warmupSeconds: 0.01,
      operationsMax: 40,
      concurrency: 4,
      firstOperation: 100,
      random: createRandom(1),
      runSlice: runHere({ serverPids: [], servicePids: [] }),
      signal,
      onSlice: (name) => order.push(name),
    },
  );
  const sizes = (name: string): unknown => slices.get(name)?.map(({ operations }) => operations);
  assert.deepEqual(sizes('a'), sizes('b'));
  assert.deepEqual(sizes('c'), sizes('d'));
  for (const operations of done.values()) {
    assert.equal(new Set(operations).size, operations.length);
  }
  /** The place of the first measured operation in the order of the 40 rows. */
  const firstOf = (name: string): number => {
    const measured = slices.get(name)?.reduce((sum, { operations }) => sum + operations, 0) ?? 0;
    return ((done.get(name) ?? []).toSorted((a, b) => a - b).at(-measured) ?? 0) % 40;
  };
  assert.deepEqual([firstOf('a'), firstOf('b')], [20, 0], 'half of the 40 rows apart');
  assert.deepEqual([firstOf('c'), firstOf('d')], [20, 20], 'd continues the work of c');
  const names = order.join('');
  assert.match(names, /^(?:ab|ba){8}(?:cd){8}$/);
  assert.match(names, /(?:abba|baab)/);
});

test('on a storage in memory, timestamps cost no call of the storage', async () => {
  let reads = 0;
  const store = watchCalls(createMemoryBigtable(), ({ method }) => {
    if (method === 'readRow') reads++;
  });
  await using cleanup = new AsyncDisposableStack();
  const engine = { batching: 'off', prefetch: 'off' } as const;
  const percolator = await openInMemory(store, engine, cleanup);
  const data = new Data({ rows: 100, valueBytes: 100, seed: 1 });
  await loadTables(percolator, data);
  const none = { raw: new Map<number, number>(), percolator: new Map<number, number>() };
  const read = caseNamed(comparedCases(percolator, data, none), NAMES.read);
  reads = 0;
  for (let operation = 0; operation < 100; operation++) await read.operate(operation);
  // The oracle reads its row when it renews its lease, on a slow machine also in this loop.
  assert.ok(reads >= 100 && reads <= 110, `${reads} reads`);
});

test('callers are swept up to the number of rows, and as many as in figure 8 are among them', () => {
  const { concurrencies } = SIZES.quick;
  const swept = (rows: number, concurrency: number): readonly number[] =>
    sweptCallers({ concurrencies, concurrency, rows });
  assert.deepEqual(swept(100, 64), [1, 4, 16, 64]);
  assert.deepEqual(swept(256, 64), concurrencies);
  assert.deepEqual(swept(100, 20), [1, 4, 16, 20, 64]);
});

test('recorded messages are those that the engine would have sent', async () => {
  const store = createMemoryBigtable();
  const table = 'accounts';
  const sent: Conditional[] = [];
  const watched = watchCalls(store, ({ method, given }) => {
    // The oracle sends conditional mutations, too.
    const [what] = given as readonly [Conditional | readonly Conditional[]];
    if (!method.startsWith('checkAndMutate')) return;
    sent.push(...[what].flat().filter((conditional) => conditional.table === table));
  });
  await using percolator = await openPercolator({ store: watched });
  await percolator.createTable(table);
  const value = Buffer.from('ten');
  const recorded = await recordMessages({ store }, { table, row: 'Bob', column: 'balance' }, value);

  sent.length = 0;
  let startTimestamp = 0;
  await percolator.transact(async (transaction) => {
    ({ startTimestamp } = transaction);
    transaction.set({ table, row: 'Joe', column: 'balance' }, value);
  });
  const [, commit] = sent;
  const record = commit?.ifFound?.find((mutation) => mutation.kind === 'set');
  assert.ok(record?.kind === 'set');
  const as = { row: 'Joe', startTimestamp, commitTimestamp: record.timestamp };
  const again = (['prewrite', 'commit'] as const).map((which) => sendAs(recorded, which, as));
  assert.deepEqual(legible(again), legible(sent));
});

test('a profile has a file name that every file system takes, however long the name of its store', () => {
  assert.equal(profileFile('embedded', 'raw read'), 'embedded-raw-read.cpuprofile');
  const servers = Array.from({ length: 20 }, (_, i) => `region-server-${i}.example.com:16000`);
  const file = profileFile(`hbase://${servers.join(',')}`, 'message: read of lock, write and data');
  assert.match(file, /^hbase-region-server-0-[a-z0-9-]+-message-read-of-lock-write-and-data\./);
  assert.ok(file.length <= 255, `${file.length}`);
});

test('a recorded prewrite without its commit does not keep its table from being dropped', async () => {
  const store = createMemoryBigtable();
  await using percolator = await openPercolator({ store, lockWaitMsMax: 1 });
  await percolator.createTable('t');
  const cell = { table: 't', row: 'Bob', column: 'balance' };
  const recorded = await recordMessages({ store }, cell, Buffer.from('ten'));
  const timestamps = { startTimestamp: 1_000_001, commitTimestamp: 1_000_002 };
  assert.equal(
    await store.checkAndMutateRow(sendAs(recorded, 'prewrite', { row: 'Joe', ...timestamps })),
    false,
    'nothing was in its way',
  );
  await percolator.dropTable('t');
  assert.ok(!(await store.listTables()).includes('t'));
});

/**
 * Values become texts in which all rows and all numbers are the same, because locks and write
 * records contain the row, timestamps and the process.
 */
function legible(conditionals: readonly Conditional[]): unknown {
  const texts = JSON.stringify(conditionals, (key, value: unknown) =>
    key === 'value' ? textOf(value as ReturnType<Buffer['toJSON']>) : value,
  );
  return JSON.parse(texts);
}

function textOf({ data }: ReturnType<Buffer['toJSON']>): string {
  return Buffer.from(data)
    .toString()
    .replaceAll(/Bob|Joe/g, 'row')
    .replaceAll(/\d+/g, '0');
}
