/**
 * Callers who wait no longer: `transact` with a signal, a time or a number of attempts; and the
 * signals of workers, of `idle` and of collectors. A caller that gives up has committed nothing,
 * keeps nothing from being collected, and hears the reason of the signal.
 */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, test } from 'node:test';
import { decorate, openPercolator, type Percolator, type Transaction } from './index.ts';
import { batchTimestamps, openAllocator } from './oracle/index.ts';
import { cell, createMemoryBigtable, put, VirtualClock } from './testing/index.ts';

const REASON = new Error('the user went away');
const forever = (): Promise<never> => new Promise(() => {});

async function open(
  store = createMemoryBigtable(),
): Promise<{ readonly percolator: Percolator; readonly clock: VirtualClock }> {
  const clock = new VirtualClock();
  const percolator = await openPercolator({ store, clock });
  await percolator.createTable('t', { observedColumns: ['c'] });
  return { percolator, clock };
}

async function valueOf(percolator: Percolator): Promise<string | undefined> {
  await using snapshot = await percolator.snapshot();
  return (await snapshot.get(cell('x')))?.toString();
}

async function heldBack(percolator: Percolator): Promise<unknown> {
  await percolator.transact(async (transaction) => put(transaction, { other: 'later' }));
  return (await percolator.collectGarbage({ messageLifetimeMs: 1 })).heldBackBy;
}

describe('transact gives up', () => {
  test('after its time: at once, although the body never ends, and without a trace', async () => {
    const { percolator, clock } = await open();
    let left: Transaction | undefined;
    const work = percolator.transact(
      async (transaction) => {
        left = transaction;
        put(transaction, { x: 'never' });
        await forever();
      },
      { timeoutMs: 70 },
    );
    await assert.rejects(clock.runUntil(work), { code: 'TIMED_OUT' });
    assert.equal(clock.monotonicMs(), 70);
    await assert.rejects(async () => left?.get(cell('x')), { code: 'TRANSACTION_CLOSED' });
    assert.equal(await valueOf(percolator), undefined);
    assert.equal(await clock.runUntil(heldBack(percolator)), undefined);
  });

  test('in the middle of its attempts, when the signal aborts', async () => {
    const { percolator, clock } = await open();
    const stop = new AbortController();
    let attempts = 0;
    const work = percolator.transact(
      async (transaction) => {
        await transaction.get(cell('x'));
        if (++attempts === 5) stop.abort(REASON);
        await percolator.transact(async (other) => put(other, { x: 'other' }));
        put(transaction, { x: 'never' });
      },
      { signal: stop.signal },
    );
    await assert.rejects(clock.runUntil(work), REASON);
    assert.equal(attempts, 5);
    await percolator.settled();
    assert.equal(await valueOf(percolator), 'other');
  });

  test('before it begins, if the signal has aborted', async () => {
    const { percolator } = await open();
    const body = (): Promise<void> => assert.fail('the body ran');
    await assert.rejects(percolator.transact(body, { signal: AbortSignal.abort(REASON) }), REASON);
  });

  test('after attemptsMax conflicts', async () => {
    const { percolator, clock } = await open();
    let attempts = 0;
    const work = percolator.transact(
      async (transaction) => {
        attempts++;
        await percolator.transact(async (other) => put(other, { x: 'other' }));
        put(transaction, { x: 'never' });
      },
      { attemptsMax: 3 },
    );
    await assert.rejects(clock.runUntil(work), { code: 'WRITE_CONFLICT' });
    assert.equal(attempts, 3);
  });

  test('while it begins; and what begins too late holds nothing', async () => {
    const store = createMemoryBigtable();
    const source = batchTimestamps(await openAllocator(store));
    let gate = Promise.resolve();
    const next = async (): Promise<number> => {
      await gate;
      return source.next();
    };
    const oracle = new Proxy(source, {
      get: (target, name) => {
        const value: unknown = name === 'next' ? next : Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const clock = new VirtualClock();
    const percolator = await openPercolator({ store, clock, oracle });
    await percolator.createTable('t');
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    const work = percolator.transact(async () => assert.fail('the body ran'), { timeoutMs: 10 });
    await assert.rejects(clock.runUntil(work), { code: 'TIMED_OUT' });
    resolve();
    assert.equal(await clock.runUntil(heldBack(percolator)), undefined);
  });

  test('not while it commits: its caller hears that it has', async () => {
    const memory = createMemoryBigtable();
    const stop = new AbortController();
    const store = decorate(memory, {
      checkAndMutateRow: (conditional) => {
        if (conditional.table === 't') stop.abort(REASON);
        return memory.checkAndMutateRow(conditional);
      },
    });
    const { percolator } = await open(store);
    const body = async (transaction: Transaction): Promise<void> => put(transaction, { x: 'new' });
    await percolator.transact(body, { signal: stop.signal });
    assert.ok(stop.signal.aborted);
    assert.equal(await valueOf(percolator), 'new');
  });
});

describe('a signal', () => {
  const observer = (run: () => Promise<void>) => ({ name: 'o', table: 't', column: 'c', run });

  test('ends the wait of idle, and not the worker', async () => {
    const percolator = await openPercolator({ store: createMemoryBigtable() });
    await percolator.createTable('t', { observedColumns: ['c'] });
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const run = async (): Promise<void> => {
      begun.resolve();
      await goOn.promise;
    };
    await using worker = percolator.startWorker([observer(run)]);
    await percolator.transact(async (transaction) => put(transaction, { x: '1' }));
    const stop = new AbortController();
    const idle = worker.idle({ signal: stop.signal });
    await begun.promise;
    stop.abort(REASON);
    await assert.rejects(idle, REASON);
    goOn.resolve();
    await worker.idle();
    assert.equal(worker.counters.runs, 1);
  });

  test('stops workers and collectors, also one that has aborted before', async () => {
    const percolator = await openPercolator({ store: createMemoryBigtable() });
    await percolator.createTable('t', { observedColumns: ['c'] });
    const stop = new AbortController();
    const observers = [observer(async () => {})];
    const { signal } = stop;
    const worker = percolator.startWorker(observers, { signal });
    const collector = percolator.startCollector({ signal });
    await worker.idle();
    stop.abort(REASON);
    await Promise.all([worker.ended, collector.ended]);
    await percolator.startWorker(observers, { signal }).ended;
    await percolator.startCollector({ signal }).ended;
    const { completed } = await percolator.collectGarbage({ signal });
    assert.equal(completed, false);
    await percolator.close();
  });

  test('that lives on has no listener left of what has ended', async () => {
    const percolator = await openPercolator({ store: createMemoryBigtable() });
    await percolator.createTable('t', { observedColumns: ['c'] });
    const { signal } = new AbortController();
    const listeners = (): number => getEventListeners(signal, 'abort').length;
    const worker = percolator.startWorker([observer(async () => {})], { signal });
    const collector = percolator.startCollector({ signal });
    assert.ok(listeners() > 0);
    const body = async (transaction: Transaction): Promise<void> => put(transaction, { x: '1' });
    await percolator.transact(body, { signal });
    await percolator.transact(body, { signal, timeoutMs: 1_000 });
    await worker.idle({ signal });
    await using snapshot = await percolator.snapshot();
    await Array.fromAsync(snapshot.scan({ table: 't', signal }));
    await percolator.collectGarbage({ signal, messageLifetimeMs: 1 });
    await percolator.close();
    await assert.rejects(worker.stop(), { code: 'STORE_CLOSED' });
    await assert.rejects(collector.ended, { code: 'STORE_CLOSED' });
    assert.equal(listeners(), 0);
  });
});
