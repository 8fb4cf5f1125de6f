/**
 * Claims of batching (section 2.5 of the paper): what shares an RPC, what waits for what, and which
 * caller receives which outcome.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { PercolatorError } from '../../base/index.ts';
import { createMemoryBigtable, VirtualClock } from '../../testing/index.ts';
import { batchBigtable } from './batching.ts';
import { decorate } from '../decorate.ts';
import type {
  Bigtable,
  CellFilter,
  ConditionalRowMutation,
  Row,
  RowMutation,
} from '../bigtable.ts';
import type { BatchingCounters, BatchingOptions } from './scheduler.ts';

const TABLE = 't';
const CELL = { family: 'data', qualifier: 'q' };

interface HeldCall {
  readonly operation: string;
  readonly rows: readonly string[];
  /** Executes the call, and answers. */
  readonly deliver: () => Promise<void>;
  readonly fail: (error: unknown) => Promise<void>;
}

interface Scene {
  /** The batched store. */
  readonly store: Bigtable;
  readonly counters: Readonly<BatchingCounters>;
  /** Calls that arrived at the store below and have no answer yet, oldest first. */
  readonly calls: HeldCall[];
  readonly below: Bigtable;
  readonly clock: VirtualClock;
  readonly deliverAll: () => Promise<void>;
  readonly names: () => readonly string[];
}

/** A batched store whose answers are given by hand. */
async function scene(options: BatchingOptions, conditionalBatch = true): Promise<Scene> {
  const clock = new VirtualClock();
  const below = createMemoryBigtable();
  await below.createTable(TABLE, { families: ['data', 'lock'] });
  await below.createTable('marks', { families: ['data'] });
  const calls: HeldCall[] = [];
  const hold = <T>(
    operation: string,
    rows: readonly string[],
    call: () => Promise<T>,
  ): Promise<T> =>
    new Promise((resolve, reject) => {
      const settle = (settling: () => void): Promise<void> => {
        calls.splice(calls.indexOf(held), 1);
        settling();
        return settled();
      };
      const deliver = (): Promise<void> => settle(() => void call().then(resolve, reject));
      const fail = (error: unknown): Promise<void> =>
        settle(() => reject(error instanceof Error ? error : new Error(String(error))));
      const held: HeldCall = { operation, rows, deliver, fail };
      calls.push(held);
    });
  const rowsOf = (named: readonly { readonly row: string }[]) => named.map(({ row }) => row);
  const gate = decorate(below, {
    manifest: { ...below.manifest, conditionalBatch },
    readRow: (table, row, filters) =>
      hold('readRow', [row], () => below.readRow(table, row, filters)),
    readRows: (table, rows, filters) =>
      hold('readRows', rows, () => below.readRows(table, rows, filters)),
    checkAndMutateRow: (one) =>
      hold('checkAndMutateRow', [one.row], () => below.checkAndMutateRow(one)),
    checkAndMutateRows: (many) =>
      hold('checkAndMutateRows', rowsOf(many), () => below.checkAndMutateRows(many)),
    mutateRows: (many) => hold('mutateRows', rowsOf(many), () => below.mutateRows(many)),
  });
  const isUrgent = ({ table }: RowMutation): boolean => table === 'marks';
  const { store, counters } = batchBigtable(gate, clock, { isUrgent, ...options });
  const deliverAll = async (): Promise<void> => {
    while (calls.length > 0) await calls[0]?.deliver();
  };
  const names = (): readonly string[] =>
    calls.map(({ operation, rows }) => `${operation} ${rows.join(' ')}`);
  return { store, counters, calls, below, clock, deliverAll, names };
}

/** Resolves when all runnable work has run; the virtual time does not move. */
async function settled(): Promise<void> {
  for (let i = 0; i < 4; i++) await new Promise((resolve) => setImmediate(resolve));
}

function set(row: string, timestamp = 1, table = TABLE): RowMutation {
  return { table, row, mutations: [{ kind: 'set', ...CELL, timestamp, value: new Uint8Array() }] };
}

function lock(row: string): ConditionalRowMutation {
  const { table, mutations } = set(row);
  return { table, row, anyOf: [{ family: 'lock' }], ifNotFound: mutations };
}

function upTo(to: number): CellFilter[] {
  return [{ ...CELL, to, versions: 1 }];
}

function newest(row: Row | undefined): number | undefined {
  return row?.cells[0]?.timestamp;
}

function codeOf(outcome: PromiseSettledResult<unknown> | undefined): unknown {
  if (outcome?.status !== 'rejected') return outcome?.status;
  return (outcome.reason as PercolatorError).code;
}

test('off means off: the store is the one that was given', () => {
  const store = createMemoryBigtable();
  assert.equal(batchBigtable(store, new VirtualClock(), 'off').store, store);
});

test('a wrong option is refused, and named', () => {
  const wrong: BatchingOptions[] = [
    { delayMs: -1 },
    { delayMs: NaN },
    { rowsMax: 0 },
    { inFlightMax: 1.5 },
  ];
  for (const options of wrong) {
    const open = (): unknown => batchBigtable(createMemoryBigtable(), new VirtualClock(), options);
    const named = (error: PercolatorError): boolean =>
      error.code === 'INVALID_ARGUMENT' &&
      Object.keys(options).some((name) => error.message.startsWith(name));
    assert.throws(open, named);
  }
});

describe('reads', () => {
  test('of one turn are one RPC, and a row that several want is in it once', async () => {
    const { store, calls, counters, names } = await scene({});
    const reads = ['a', 'b', 'a'].map((row) => store.readRow(TABLE, row, upTo(5)));
    await settled();
    assert.deepEqual(names(), ['readRows a b']);
    await calls[0]?.deliver();
    await Promise.all(reads);
    const { operations, rows, rowsSent, rpcs } = counters.reads;
    assert.deepEqual([operations, rows, rowsSent, rpcs], [3, 3, 2, 1]);
  });

  test('at different start timestamps are one RPC, and each sees its own snapshot', async () => {
    const { store, below, names, deliverAll } = await scene({});
    await below.mutateRows([set('a', 3), set('b', 4), set('b', 2)]);
    const reads = [
      store.readRow(TABLE, 'a', upTo(2)),
      store.readRow(TABLE, 'a', upTo(9)),
      store.readRow(TABLE, 'b', upTo(9)),
    ];
    await settled();
    assert.deepEqual(names(), ['readRows a b']);
    await deliverAll();
    assert.deepEqual((await Promise.all(reads)).map(newest), [undefined, 3, 4]);
  });

  test('of several columns of a family, at different start timestamps, are one RPC', async () => {
    const { store, below, names, deliverAll } = await scene({});
    await below.mutateRows([set('a', 3)]);
    const columns = (to: number): CellFilter[] =>
      ['q', 'r'].map((qualifier) => ({ family: 'data', qualifier, to, versions: 1 }));
    const reads = [2, 9].map((to) => store.readRow(TABLE, 'a', columns(to)));
    await settled();
    assert.deepEqual(names(), ['readRows a']);
    await deliverAll();
    assert.deepEqual((await Promise.all(reads)).map(newest), [undefined, 3]);
  });

  test('whose version a newer one may hide are repeated, for that row and caller alone', async () => {
    const { store, below, calls, names, counters, deliverAll } = await scene({});
    await below.mutateRows([set('b', 2), set('b', 4)]);
    const old = store.readRow(TABLE, 'b', upTo(3));
    const young = store.readRow(TABLE, 'a', upTo(9));
    await settled();
    await calls[0]?.deliver();
    assert.deepEqual(names(), ['readRows b']);
    await deliverAll();
    assert.deepEqual([newest(await old), newest(await young)], [2, undefined]);
    assert.equal(counters.readAgain, 1);
  });

  test('never join an RPC that was sent before they were made', async () => {
    const { store, below, calls, names, deliverAll } = await scene({ delayMs: 1_000 });
    const before = store.readRow(TABLE, 'a', upTo(9));
    await settled();
    assert.equal(calls.length, 1);
    await below.mutateRows([set('a', 5)]);
    const after = store.readRow(TABLE, 'a', upTo(9));
    await settled();
    assert.equal(calls.length, 1, 'it waits for company, or for the answer');
    await calls[0]?.deliver();
    assert.equal(newest(await before), 5, 'the store below reads when it answers');
    await settled();
    assert.deepEqual(names(), ['readRows a'], 'the second read is an RPC of its own');
    await deliverAll();
    assert.equal(newest(await after), 5);
  });
});

describe('a batch is sent', () => {
  test('at once if nothing is in flight: no operation waits for company that cannot come', async () => {
    const { store, names, counters } = await scene({ delayMs: 1_000 });
    void store.readRow(TABLE, 'a', upTo(1));
    void store.mutateRows([set('a')]);
    await settled(); // The virtual time does not move.
    assert.deepEqual(names(), ['readRows a', 'mutateRows a']);
    assert.equal(counters.reads.byQuiet + counters.bulk.byQuiet, 2);
  });

  test('after the delay if something is in flight, and not before', async () => {
    const { store, names, clock, counters } = await scene({ delayMs: 10 });
    void store.readRow(TABLE, 'a', upTo(1));
    await settled();
    void store.readRow(TABLE, 'b', upTo(1));
    await clock.advance(9);
    void store.readRow(TABLE, 'c', upTo(2));
    assert.deepEqual(names(), ['readRows a']);
    await clock.advance(1);
    assert.deepEqual(names(), ['readRows a', 'readRows b c']);
    assert.deepEqual([counters.reads.byDelay, counters.reads.waitedMs], [1, 11]);
  });

  test('before the delay as soon as the last answer has come', async () => {
    const { store, names, calls } = await scene({ delayMs: 10 });
    void store.readRow(TABLE, 'a', upTo(1));
    await settled();
    void store.readRow(TABLE, 'b', upTo(1));
    await settled();
    await calls[0]?.deliver();
    await settled();
    assert.deepEqual(names(), ['readRows b']);
  });

  test('before the delay if it is full, and no fuller', async () => {
    const { store, names } = await scene({ delayMs: 10, rowsMax: 2 });
    void store.readRow(TABLE, 'a', upTo(1));
    await settled();
    for (const row of ['b', 'c', 'd']) void store.readRow(TABLE, row, upTo(1));
    await settled();
    assert.deepEqual(names(), ['readRows a', 'readRows b c']);
  });

  test('before the delay if it is exactly full', async () => {
    const { store, names } = await scene({ delayMs: 10, rowsMax: 2 });
    void store.readRow(TABLE, 'a', upTo(1));
    await settled();
    for (const row of ['b', 'c']) void store.readRow(TABLE, row, upTo(1));
    await settled();
    assert.deepEqual(names(), ['readRows a', 'readRows b c']);
  });

  test('after its own delay, although another kind of work waits for room forever', async () => {
    const { store, names, clock } = await scene({ delayMs: 10, inFlightMax: 1 });
    await clock.advance(1_000); // Delays count from now, not from the beginning of time.
    void store.readRow(TABLE, 'a', upTo(1));
    await settled();
    void store.readRow(TABLE, 'b', upTo(1));
    await clock.advance(100);
    void store.mutateRows([set('c')]);
    await clock.advance(10);
    assert.deepEqual(names(), ['readRows a', 'mutateRows c']);
  });

  test('after its own delay, and not after the delay of a batch that began later', async () => {
    const { store, names, clock } = await scene({ delayMs: 10 });
    void store.readRow(TABLE, 'a', upTo(1));
    await settled();
    void store.readRow(TABLE, 'b', upTo(1));
    await clock.advance(6);
    void store.mutateRows([set('c')]);
    await clock.advance(4);
    assert.deepEqual(names(), ['readRows a', 'readRows b']);
    await clock.advance(6);
    assert.deepEqual(names(), ['readRows a', 'readRows b', 'mutateRows c']);
  });

  test('with more rows than fit if one caller brings them', async () => {
    const { store, names } = await scene({ rowsMax: 2 });
    void store.mutateRows([set('a'), set('b'), set('c')]);
    await settled();
    assert.deepEqual(names(), ['mutateRows a b c']);
  });

  test('only when its lane has room', async () => {
    const { store, names, clock, calls } = await scene({ delayMs: 1, inFlightMax: 1 });
    void store.readRow(TABLE, 'a', upTo(1));
    await settled();
    void store.readRow(TABLE, 'b', upTo(1));
    await clock.advance(100);
    assert.deepEqual(names(), ['readRows a']);
    await calls[0]?.deliver();
    await settled();
    assert.deepEqual(names(), ['readRows b']);
  });
});

describe('lanes', () => {
  test('keep bulk work from delaying a commit or its marks', async () => {
    const { store, names, clock } = await scene({ delayMs: 1, inFlightMax: 1 });
    void store.mutateRows([set('bulk')]);
    await settled();
    void store.mutateRows([set('more-bulk')]);
    void store.mutateRows([set('mark', 1, 'marks')]);
    void store.checkAndMutateRow(lock('commit'));
    await clock.advance(1);
    const sent = ['mutateRows bulk', 'mutateRows mark', 'checkAndMutateRows commit'];
    assert.deepEqual(names(), sent);
  });

  test('send the commit of a primary before prewrites that came at the same time', async () => {
    const options = { delayMs: 1, rowsMax: 2, inFlightMax: 1 };
    const { store, names, clock, calls } = await scene(options);
    void store.checkAndMutateRows([lock('a')]);
    await settled();
    void store.checkAndMutateRows([lock('b'), lock('c'), lock('d')]);
    void store.checkAndMutateRow(lock('commit'));
    await clock.advance(1);
    assert.deepEqual(names(), ['checkAndMutateRows a']);
    await calls[0]?.deliver();
    await settled();
    assert.deepEqual(names(), ['checkAndMutateRows commit b']);
  });

  test('begin a batch with the prewrite that has waited longer than all commits', async () => {
    const options = { delayMs: 1, rowsMax: 2, inFlightMax: 1 };
    const { store, names, clock, calls } = await scene(options);
    void store.checkAndMutateRows([lock('a')]);
    await settled();
    void store.checkAndMutateRows([lock('b'), lock('c')]);
    await clock.advance(1);
    for (const row of ['commit', 'commit-2']) void store.checkAndMutateRow(lock(row));
    await calls[0]?.deliver();
    await settled();
    assert.deepEqual(names(), ['checkAndMutateRows b commit']);
  });

  test('do not hold back conditional mutations that the storage cannot batch', async () => {
    const { store, names, counters } = await scene({ delayMs: 1_000, inFlightMax: 1 }, false);
    void store.readRow(TABLE, 'a', upTo(1));
    await settled();
    void store.checkAndMutateRow(lock('b'));
    void store.checkAndMutateRow(lock('c'));
    await settled();
    assert.deepEqual(names(), ['readRows a', 'checkAndMutateRow b', 'checkAndMutateRow c']);
    assert.equal(counters.conditionals.rpcs, 2);
  });

  test('leave a call with several conditional mutations unchanged, if the storage cannot batch them', async () => {
    const { store, names } = await scene({}, false);
    void store.checkAndMutateRows([lock('a'), lock('b')]);
    void store.checkAndMutateRows([lock('c')]);
    await settled();
    assert.deepEqual(names(), ['checkAndMutateRows a b', 'checkAndMutateRows c']);
  });

  test('do not claim to keep the order', async () => {
    const { store, below } = await scene({});
    assert.deepEqual([below.manifest.ordered, store.manifest.ordered], [true, false]);
  });
});

describe('when a batch fails, in whole or in part,', () => {
  test('each conditional mutation has its own answer', async () => {
    const { store, below, deliverAll } = await scene({});
    const value = new Uint8Array();
    const locked = { kind: 'set', family: 'lock', qualifier: 'q', timestamp: 1, value } as const;
    await below.mutateRows([{ table: TABLE, row: 'locked', mutations: [locked] }]);
    const lost = { ...lock('lost'), table: 'nowhere' };
    const answers = Promise.allSettled(
      [lock('free'), lock('locked'), lost].map((one) => store.checkAndMutateRow(one)),
    );
    await settled();
    await deliverAll();
    const [free, taken, nowhere] = await answers;
    assert.deepEqual(
      [free, taken].map((one) => one?.status === 'fulfilled' && one.value),
      [false, true],
    );
    assert.equal(codeOf(nowhere), 'TABLE_NOT_FOUND');
  });

  test('every blind mutation is in doubt if the failure is no refusal', async () => {
    const { store, calls } = await scene({});
    const outcomes = Promise.allSettled([
      store.mutateRows([set('a')]),
      store.mutateRows([set('b')]),
    ]);
    await settled();
    await calls[0]?.fail(new PercolatorError('STORE_UNAVAILABLE', 'the tablet of b is moving'));
    assert.deepEqual((await outcomes).map(codeOf), ['STORE_IN_DOUBT', 'STORE_IN_DOUBT']);
  });

  for (const code of ['STORE_REFUSED', 'TABLE_MISMATCH'] as const) {
    test(`with ${code}, the mutations of each caller are sent again, alone`, async () => {
      const { store, calls, counters } = await scene({});
      const outcomes = Promise.allSettled([
        store.mutateRows([set('a')]),
        store.mutateRows([set('b')]),
      ]);
      await settled();
      const refusal = (rows: string) => new PercolatorError(code, `no writes to ${rows}`);
      await calls[0]?.fail(refusal('a and b'));
      await settled();
      for (const [i, call] of calls.slice().entries()) await call.fail(refusal('ab'[i] ?? ''));
      assert.deepEqual(
        (await outcomes).map((outcome) => (outcome as PromiseRejectedResult).reason as unknown),
        [refusal('a'), refusal('b')],
      );
      assert.equal(counters.bulk.rpcs, 3);
    });
  }

  test('a mutation that is sent again, alone, and gets no answer is in doubt: the batch may have applied it', async () => {
    const { store, calls } = await scene({});
    const outcomes = Promise.allSettled([
      store.mutateRows([set('a')]),
      store.mutateRows([set('b')]),
    ]);
    await settled();
    await calls[0]?.fail(new PercolatorError('STORE_REFUSED', 'b may not be written'));
    await settled();
    const unsent = new PercolatorError('STORE_UNAVAILABLE', 'no connection');
    for (const call of calls.slice()) await call.fail(unsent);
    assert.deepEqual((await outcomes).map(codeOf), ['STORE_IN_DOUBT', 'STORE_IN_DOUBT']);
  });

  test('a caller hears of it only when nothing of its call is left to be applied', async () => {
    const { store, calls, deliverAll } = await scene({});
    let isOver = false;
    const call = store.mutateRows([set('a'), set('b', 1, 'marks')]);
    const outcomes = Promise.allSettled([call]).finally(() => (isOver = true));
    await settled();
    await calls[0]?.fail(new PercolatorError('STORE_REFUSED', 'a may not be written'));
    await settled();
    assert.equal(isOver, false);
    await deliverAll();
    assert.deepEqual((await outcomes).map(codeOf), ['STORE_REFUSED']);
  });

  test('with one caller in it, that caller receives the original failure', async () => {
    const { store, calls } = await scene({});
    const outcomes = Promise.allSettled([store.mutateRows([set('a'), set('b')])]);
    await settled();
    await calls[0]?.fail(new PercolatorError('STORE_UNAVAILABLE', 'the tablet of b is moving'));
    assert.deepEqual((await outcomes).map(codeOf), ['STORE_UNAVAILABLE']);
  });

  test('a refused request that was alone in it is not sent again', async () => {
    const { store, calls, counters } = await scene({});
    const outcomes = Promise.allSettled([store.mutateRows([set('a')])]);
    await settled();
    await calls[0]?.fail(new PercolatorError('INVALID_ARGUMENT', 'too long'));
    assert.deepEqual((await outcomes).map(codeOf), ['INVALID_ARGUMENT']);
    await settled();
    assert.deepEqual([calls.length, counters.bulk.rpcs], [0, 1]);
  });

  test('a caller with an invalid request is refused, and the others are served', async () => {
    const { store, below, deliverAll } = await scene({});
    const cell = { family: 'x', qualifier: 'q', timestamp: 1, value: new Uint8Array() };
    const wrong: RowMutation = { table: TABLE, row: 'a', mutations: [{ kind: 'set', ...cell }] };
    const outcomes = Promise.allSettled([store.mutateRows([wrong]), store.mutateRows([set('b')])]);
    await settled();
    await deliverAll();
    assert.deepEqual((await outcomes).map(codeOf), ['FAMILY_NOT_FOUND', 'fulfilled']);
    assert.equal(newest(await below.readRow(TABLE, 'b', [CELL])), 1);
  });

  test('a reader with an invalid request is refused, and the others are answered', async () => {
    const { store, below, calls, counters, deliverAll } = await scene({});
    await below.mutateRows([set('b')]);
    const reads = ['too long', 'b'].map((row) => store.readRow(TABLE, row, upTo(1)));
    const outcomes = Promise.allSettled(reads);
    await settled();
    await calls[0]?.fail(new PercolatorError('INVALID_ARGUMENT', 'a row key is too long'));
    await calls[0]?.fail(new PercolatorError('INVALID_ARGUMENT', 'a row key is too long'));
    await deliverAll();
    assert.deepEqual((await outcomes).map(codeOf), ['INVALID_ARGUMENT', 'fulfilled']);
    assert.equal(newest(await reads[1]), 1);
    assert.deepEqual([counters.reads.rpcs, counters.reads.rowsSent], [3, 4]);
  });

  test('a failed read fails for all: they may ask again', async () => {
    const { store, calls } = await scene({});
    const reads = Promise.allSettled(['a', 'b'].map((row) => store.readRow(TABLE, row, upTo(1))));
    await settled();
    await calls[0]?.fail(new PercolatorError('STORE_UNAVAILABLE', 'the tablet of b is moving'));
    assert.deepEqual((await reads).map(codeOf), ['STORE_UNAVAILABLE', 'STORE_UNAVAILABLE']);
  });
});

test('closing sends what waits for room, and ends only after all answers', async () => {
  const { store, below, clock, deliverAll } = await scene({ delayMs: 1_000, inFlightMax: 1 });
  const sent = ['a', 'b'].map((row) => store.mutateRows([set(row)]));
  await settled();
  const late = store.mutateRows([set('c')]);
  let isClosed = false;
  const closed = store.close().then(() => (isClosed = true));
  await settled();
  assert.equal(isClosed, false);
  await deliverAll();
  await settled();
  await deliverAll();
  await Promise.all([...sent, late, closed]);
  assert.equal(clock.monotonicMs(), 0);
  await assert.rejects(below.listTables(), { code: 'STORE_CLOSED' });
});

test('closing sends what would otherwise wait for company', async () => {
  const { store, names, deliverAll } = await scene({ delayMs: 1_000 });
  const first = store.mutateRows([set('a')]);
  await settled();
  const late = store.readRow(TABLE, 'b', upTo(1));
  const closed = store.close();
  await settled();
  assert.deepEqual(names(), ['mutateRows a', 'readRows b']);
  await deliverAll();
  await Promise.all([first, late, closed]);
});

test('a store that is closing refuses every further operation, and counts none of them', async () => {
  const { store, names, counters, deliverAll } = await scene({}, false);
  const sent = store.mutateRows([set('a')]);
  await settled();
  const closed = store.close();
  const [answer] = await Promise.race([
    store.checkAndMutateRows([lock('b')]),
    settled().then(() => []),
  ]);
  assert.equal((answer as PercolatorError | undefined)?.code, 'STORE_CLOSED');
  await assert.rejects(store.checkAndMutateRow(lock('b')), { code: 'STORE_CLOSED' });
  for (const refused of [
    store.mutateRows([set('b')]),
    store.readRow(TABLE, 'b', upTo(1)),
    store.readRows(TABLE, ['b'], upTo(1)),
    store.readRange(TABLE, { limit: 1 }, upTo(1)),
    store.sampleRowKeys(TABLE),
    store.createTable('new', { families: ['data'] }),
  ]) {
    await assert.rejects(refused, { code: 'STORE_CLOSED' });
  }
  assert.deepEqual(names(), ['mutateRows a']);
  assert.equal(counters.conditionals.operations + counters.reads.operations, 0);
  assert.equal(counters.bulk.operations, 1);
  await deliverAll();
  await Promise.all([sent, closed]);
});

test('a fence reaches the store at once; over a store that has none, there is none', async () => {
  const memory = createMemoryBigtable();
  assert.equal(batchBigtable(memory, new VirtualClock(), {}).store.fence, undefined);
  let fences = 0;
  const fenced = decorate(memory, { fence: async () => void fences++ });
  const { store } = batchBigtable(fenced, new VirtualClock(), {});
  await store.fence?.();
  assert.equal(fences, 1);
});

test('listeners reach a store whose onChange needs its own `this`', () => {
  const memory = createMemoryBigtable();
  const heard: string[] = [];
  class Telling {
    readonly name = 'store';
    onChange(listener: () => void): () => void {
      heard.push(this.name);
      listener();
      return () => heard.push('ended');
    }
  }
  const telling = Object.assign(new Telling(), { manifest: memory.manifest }) as Partial<Bigtable>;
  const { store } = batchBigtable(telling as Bigtable, new VirtualClock(), {});
  store.onChange?.(() => heard.push('changed'))();
  assert.deepEqual(heard, ['store', 'changed', 'ended']);
});
