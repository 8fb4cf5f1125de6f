/**
 * What an operator sees of transactions, workers and collectors: metrics and spans, as the SDK of
 * OpenTelemetry collects them.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import {
  metrics as globalMetrics,
  SpanStatusCode,
  trace as globalTrace,
  type Tracer,
} from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { PercolatorError, type Warning } from '../base/index.ts';
import { type Bigtable, decorate } from '../bigtable/index.ts';
import type { Observer } from '../observer/index.ts';
import { openPercolator, type Percolator } from '../percolator.ts';
import { collectTelemetry } from '../testing/collected.ts';
import { createMemoryBigtable, until, VirtualClock } from '../testing/index.ts';
import type { Transaction } from '../transaction/index.ts';
import { createTelemetry, METRICS, type Telemetry } from './index.ts';

const DURATION = 'percolator.transaction.duration';
const SEEN = { table: 't', row: 'r', column: 'seen' };

const open = async (
  telemetry: Telemetry | undefined,
  given: Partial<Parameters<typeof openPercolator>[0]> = {},
): Promise<Percolator> => {
  const percolator = await openPercolator({ store: createMemoryBigtable(), telemetry, ...given });
  await percolator.createTable('t', { observedColumns: ['seen'] });
  return percolator;
};

const write = (row: string) => async (transaction: Transaction) => {
  transaction.set({ table: 't', row, column: 'c' }, 'v');
};

const copies = (run: () => void = () => {}): Observer => ({
  name: 'copies',
  table: 't',
  column: 'seen',
  run: async (transaction, { row }) => {
    run();
    transaction.set({ table: 't', row, column: 'copy' }, 'x');
  },
});

/** A store that refuses some calls. */
const faulty = (): Bigtable & { isDown: readonly string[] } => {
  const store = createMemoryBigtable();
  const refuse = (call: string): void => {
    if (!faultyStore.isDown.includes(call)) return;
    throw new PercolatorError('STORE_UNAVAILABLE', `${call} is down`);
  };
  const faultyStore = {
    ...decorate(store, {
      readRange: async (...given) => {
        refuse('readRange');
        return store.readRange(...given);
      },
      mutateRows: async (rows) => {
        refuse('mutateRows');
        return store.mutateRows(rows);
      },
    }),
    isDown: [] as readonly string[],
  };
  return faultyStore;
};

const named = (spans: readonly ReadableSpan[], name: string): readonly ReadableSpan[] =>
  spans.filter((span) => span.name === name);

test('transactions are counted by outcome, a lost one with its code', async () => {
  const { telemetry, value } = collectTelemetry();
  await using percolator = await open(telemetry);
  await percolator.transact(write('a'));
  await percolator.transact(async (transaction) => {
    await transaction.get({ table: 't', row: 'a', column: 'c' });
  });
  const loser = await percolator.begin();
  await percolator.transact(write('b'));
  loser.set({ table: 't', row: 'b', column: 'c' }, 'too late');
  await assert.rejects(loser.commit(), { code: 'WRITE_CONFLICT' });
  (await percolator.begin()).discard();
  const outcome = 'percolator.outcome=';
  assert.equal(await value(DURATION, `${outcome}committed`), 2);
  assert.equal(await value(DURATION, `${outcome}read`), 1);
  assert.equal(await value(DURATION, `${outcome}failed`, 'error.type=WRITE_CONFLICT'), 1);
  assert.equal(await value(DURATION, `${outcome}discarded`), 1);
  assert.equal(await value('percolator.transaction.conflicts'), 1);
});

test('a transaction that cannot begin is a failed one', async () => {
  const { telemetry, value } = collectTelemetry();
  const percolator = await open(telemetry);
  await percolator.close();
  await assert.rejects(percolator.begin(), { code: 'STORE_CLOSED' });
  const failed = ['percolator.outcome=failed', 'error.type=STORE_CLOSED'];
  assert.equal(await value(DURATION, ...failed), 1);
});

test('durations are seconds of the clock that was handed in', async () => {
  const clock = new VirtualClock();
  const { telemetry, points } = collectTelemetry({ clock });
  await using percolator = await open(telemetry, { clock });
  const transaction = await clock.runUntil(percolator.begin());
  await clock.advance(2_500);
  transaction.set({ table: 't', row: 'a', column: 'c' }, 'v');
  await clock.runUntil(transaction.commit());
  assert.equal((await points(DURATION))[0]?.sum, 2.5);
});

test('each call of the storage is counted by operation, with its rows and its error', async () => {
  const { telemetry, value, points } = collectTelemetry();
  const store = createMemoryBigtable();
  await using percolator = await open(telemetry, { store });
  await percolator.transact(async (transaction) => {
    for (const row of ['a', 'b', 'c']) await write(row)(transaction);
  });
  await percolator.settled();
  const calls = 'percolator.store.call.duration';
  assert.ok(((await value(calls, 'db.operation.name=checkAndMutateRow')) ?? 0) >= 2);
  const batch = (await points('percolator.store.call.rows')).find(
    ({ attributes }) => attributes['db.operation.name'] === 'checkAndMutateRows',
  );
  assert.ok((batch?.sum ?? 0) > (batch?.value ?? 0), 'a batch has several rows');
  const failed = ['db.operation.name=readRow', 'error.type=TABLE_NOT_FOUND'];
  const before = (await value(calls, ...failed)) ?? 0;
  await assert.rejects(percolator.store.readRow('nowhere', 'r', [{ family: 'f' }]));
  assert.equal(await value(calls, ...failed), before + 1);
});

test('a transaction is a span, and each of its steps a span within', async () => {
  const { telemetry, spans } = collectTelemetry();
  const percolator = await open(telemetry);
  await percolator.transact(
    async (transaction) => {
      for (const row of ['a', 'b']) await write(row)(transaction);
    },
    { kind: 'pair' },
  );
  await percolator.close();
  const [transaction] = named(spans, 'percolator.transaction');
  assert.ok(transaction !== undefined);
  const { attributes } = transaction;
  assert.equal(attributes['percolator.transaction.kind'], 'pair');
  assert.equal(attributes['percolator.outcome'], 'committed');
  const { 'percolator.start_timestamp': start, 'percolator.commit_timestamp': commit } = attributes;
  assert.ok(Number(start) > 0 && Number(commit) > Number(start));
  const steps = spans.filter((span) => span !== transaction);
  assert.deepEqual(
    steps.map(({ name }) => name),
    [
      'percolator.begin',
      'percolator.prewrite',
      'percolator.timestamp',
      'percolator.commit.primary',
      'percolator.commit.secondaries',
    ],
  );
  for (const { parentSpanContext } of steps) {
    assert.equal(parentSpanContext?.spanId, transaction.spanContext().spanId);
  }
});

test('a transaction that runs again has a span for each of its two prewrites', async () => {
  const { telemetry, spans } = collectTelemetry();
  await using percolator = await open(telemetry);
  let runs = 0;
  await percolator.transact(async (transaction) => {
    if (++runs === 1) await percolator.transact(write('a'));
    for (const row of ['a', 'b']) await write(row)(transaction);
  });
  const prewrites = spans.filter(({ name }) => name.includes('prewrite'));
  assert.deepEqual(
    prewrites.map(({ name }) => name),
    [
      'percolator.prewrite', // Of the rival.
      'percolator.prewrite', // Of the first run, which loses.
      'percolator.prewrite.primary',
      'percolator.prewrite.secondaries',
    ],
  );
});

test('a failed transaction says its code in its span, and nothing of the data', async () => {
  const { telemetry, spans } = collectTelemetry();
  await using percolator = await open(telemetry);
  const loser = await percolator.begin();
  await percolator.transact(write('secret'));
  loser.set({ table: 't', row: 'secret', column: 'c' }, 'hidden');
  await assert.rejects(loser.commit());
  const failed = named(spans, 'percolator.transaction').at(-1);
  assert.equal(failed?.status.code, SpanStatusCode.ERROR);
  assert.equal(failed?.attributes['error.type'], 'WRITE_CONFLICT');
  const told = spans.map(({ attributes, events, status }) => ({ attributes, events, status }));
  assert.doesNotMatch(JSON.stringify(told), /secret|hidden/);
});

test("a run is linked to the commit of this process that caused it, and to no worker's span", async () => {
  const { telemetry, spans } = collectTelemetry();
  await using percolator = await open(telemetry);
  await using worker = percolator.startWorker([copies()]);
  await percolator.transact(async (transaction) => transaction.set(SEEN, '1'), { kind: 'user' });
  await worker.idle();
  const all = named(spans, 'percolator.transaction');
  const cause = all.find((span) => span.attributes['percolator.transaction.kind'] === 'user');
  const run = all.find(({ attributes: { 'percolator.outcome': outcome, ...others } }) => {
    return others['percolator.observer.name'] === 'copies' && outcome === 'committed';
  });
  assert.ok(cause !== undefined && run !== undefined);
  assert.equal(run.links[0]?.context.spanId, cause.spanContext().spanId);
  assert.equal(run.parentSpanContext, undefined);
  assert.notEqual(run.spanContext().traceId, cause.spanContext().traceId);
});

test('a run in another process names the commit that caused it by its timestamp', async () => {
  const store = createMemoryBigtable();
  const [ours, theirs] = [collectTelemetry(), collectTelemetry()];
  await using writer = await open(ours.telemetry, { store });
  await using other = await open(theirs.telemetry, { store });
  await writer.transact(async (transaction) => transaction.set(SEEN, '1'));
  await using worker = other.startWorker([copies()]);
  await worker.idle();
  const [cause] = named(ours.spans, 'percolator.transaction');
  const run = named(theirs.spans, 'percolator.transaction').find(
    ({ attributes }) => attributes['percolator.outcome'] === 'committed',
  );
  const timestamp = cause?.attributes['percolator.commit_timestamp'];
  assert.equal(run?.attributes['percolator.cause.commit_timestamp'], timestamp);
  assert.notEqual(timestamp, undefined);
  assert.deepEqual(run?.links, []);
});

test('runs of an observer are counted by outcome, a failed one with the class of its error', async () => {
  const { telemetry, value } = collectTelemetry();
  await using percolator = await open(telemetry);
  let fails = true;
  const observer = copies(() => {
    if (fails) throw new RangeError('of a user');
  });
  await using worker = percolator.startWorker([observer], { failureBackoffMs: 1 });
  await percolator.transact(async (transaction) => transaction.set(SEEN, '1'));
  await until(() => worker.counters.failures > 0);
  fails = false;
  await until(() => worker.counters.runs === 1);
  const runs = 'percolator.observer.run.duration';
  const ofObserver = 'percolator.observer.name=copies';
  const failed = ['percolator.outcome=failed', 'error.type=RangeError'];
  assert.ok(((await value(runs, ofObserver, ...failed)) ?? 0) > 0);
  assert.equal(await value(runs, ofObserver, 'percolator.outcome=committed'), 1);
});

test('notifications are found by a scan, wait for a place, and grow old', async () => {
  const clock = new VirtualClock();
  const { telemetry, value } = collectTelemetry({ clock });
  const store = createMemoryBigtable();
  await using writer = await open(undefined, { store, clock });
  await using percolator = await open(telemetry, { store, clock });
  const hangs = Promise.withResolvers<void>();
  const observer = { ...copies(), run: () => hangs.promise };
  for (const row of ['a', 'b', 'c']) {
    const set = writer.transact(async (transaction) => transaction.set({ ...SEEN, row }, '1'));
    await clock.runUntil(set);
  }
  const worker = percolator.startWorker([observer], { concurrency: 1, onWarning: () => {} });
  await clock.advance(60_000);
  assert.equal(await value('percolator.notification.found'), 3);
  assert.equal(await value('percolator.notification.waiting'), 2);
  assert.equal(await value('percolator.observer.running'), 1);
  const age = (await value('percolator.notification.oldest')) ?? 0;
  assert.ok(age > 50 && age <= 60, `${age} s`);
  hangs.resolve();
  await clock.runUntil(worker.idle());
  await clock.advance(10_000);
  assert.equal(await value('percolator.notification.waiting'), 0);
  assert.equal(await value('percolator.notification.oldest'), 0);
  await worker.stop();
});

test('a notification whose cell was clean is a wasted one', async () => {
  const { telemetry, value } = collectTelemetry();
  const store = faulty();
  await using writer = await open(undefined, { store });
  await using percolator = await open(telemetry, { store });
  await writer.transact(async (transaction) => transaction.set(SEEN, '1'));
  await using worker = percolator.startWorker([copies()]);
  store.isDown = ['mutateRows'];
  await until(() => worker.counters.runs === 1);
  store.isDown = [];
  await until(() => worker.counters.clean > 0);
  assert.ok(((await value('percolator.notification.wasted')) ?? 0) > 0);
});

test('counts of workers and databases add up, and go on when one of them has ended', async () => {
  const { telemetry, value } = collectTelemetry();
  const [first, second] = [await open(telemetry), await open(telemetry)];
  for (const percolator of [first, second]) {
    const loser = await percolator.begin();
    await percolator.transact(write('b'));
    await write('b')(loser);
    await assert.rejects(loser.commit());
  }
  const conflicts = 'percolator.transaction.conflicts';
  assert.equal(await value(conflicts), 2);
  await first.close();
  assert.equal(await value(conflicts), 2);
  await second.close();
  assert.equal(await value(conflicts), 2);
});

test('a worker that has stopped runs nothing any more', async () => {
  const { telemetry, value } = collectTelemetry();
  await using percolator = await open(telemetry);
  const hangs = Promise.withResolvers<void>();
  const worker = percolator.startWorker([{ ...copies(), run: () => hangs.promise }]);
  await percolator.transact(async (transaction) => transaction.set(SEEN, '1'));
  await until(async () => (await value('percolator.observer.running')) === 1);
  hangs.resolve();
  await worker.stop();
  assert.equal(await value('percolator.observer.running'), 0);
});

test('a lease that is not renewed runs out, and the horizon grows old', async () => {
  const clock = new VirtualClock();
  const { telemetry, value } = collectTelemetry({ clock });
  await using percolator = await open(telemetry, { clock, leaseTimeToLiveMs: 30_000 });
  await clock.runUntil(percolator.transact(write('a')));
  await clock.runUntil(percolator.collectGarbage({ messageLifetimeMs: 1 }));
  await clock.runUntil(percolator.transact(write('a')));
  const remaining = await value('percolator.lease.remaining', 'percolator.lease=snapshots');
  assert.ok(remaining !== undefined && remaining > 10 && remaining <= 25, `${remaining} s`);
  await clock.advance(120_000);
  await clock.runUntil(percolator.transact(write('a')));
  const age = (await value('percolator.horizon.age')) ?? 0;
  assert.ok(age >= 105 && age <= 120, `${age} s`);
});

test('how old a horizon is, each database knows by its own timestamps', async () => {
  const clock = new VirtualClock();
  const { telemetry, value } = collectTelemetry({ clock });
  await using older = await open(telemetry, { clock });
  for (let i = 0; i < 50; i++) await clock.runUntil(older.transact(write('a')));
  await clock.advance(3_600_000);
  await using younger = await open(telemetry, { clock });
  await clock.runUntil(younger.transact(write('a')));
  await clock.runUntil(younger.collectGarbage({ messageLifetimeMs: 1 }));
  await clock.runUntil(younger.transact(write('a')));
  const age = (await value('percolator.horizon.age')) ?? Number.NaN;
  assert.ok(age < 60, `${age} s`);
});

/** A tracer of which one method of its spans, or `startSpan` itself, throws. */
function throwingTracer(method: string): Tracer {
  const fail = (): never => {
    throw new Error(`${method} of the tracer is broken`);
  };
  const span: Record<string, unknown> = { isRecording: () => true, spanContext: () => undefined };
  for (const name of ['setAttribute', 'setAttributes', 'setStatus', 'end']) span[name] = () => span;
  if (method !== 'startSpan') span[method] = fail;
  return { startSpan: method === 'startSpan' ? fail : () => span } as unknown as Tracer;
}

const METHODS = ['startSpan', 'isRecording', 'spanContext', 'setAttribute', 'setAttributes'];
for (const method of [...METHODS, 'setStatus', 'end', 'record']) {
  test(`no transaction fails because ${method} of the tracer or meter throws`, async () => {
    const record = (): never => {
      throw new Error('the meter is broken');
    };
    const noop = globalMetrics.getMeter('percolator');
    const meter = new Proxy(noop, {
      get: (target, name) =>
        name === 'createHistogram' ? () => ({ record }) : Reflect.get(target, name),
    });
    const given = method === 'record' ? { meter } : { tracer: throwingTracer(method) };
    const heard: string[] = [];
    const onWarning = ({ kind }: Warning): void => void heard.push(kind);
    await using percolator = await open(createTelemetry({ ...given, onWarning }));
    const runs: string[] = [];
    const worker = percolator.startWorker([copies(() => runs.push('run'))]);
    const committed = await percolator.transact(async (transaction) => {
      transaction.set(SEEN, '1');
      await write('other')(transaction);
      return 'committed';
    });
    assert.equal(committed, 'committed');
    await worker.idle();
    assert.deepEqual(runs, ['run'], 'not again, as after a failed commit');
    const loser = await percolator.begin();
    await percolator.transact(write('b'));
    await write('b')(loser);
    await assert.rejects(loser.commit(), { code: 'WRITE_CONFLICT' });
    (await percolator.begin()).discard();
    await worker.stop();
    await percolator.settled();
    assert.deepEqual(heard, ['callback']);
  });
}

test('a collector and its warnings are counted as long as it runs', async () => {
  const clock = new VirtualClock();
  const { telemetry, value } = collectTelemetry({ clock });
  const store = faulty();
  await using percolator = await open(telemetry, { store, clock });
  await clock.runUntil(percolator.transact(write('a')));
  const collector = percolator.startCollector({ onWarning: () => {} });
  await clock.advance(300_000);
  assert.ok(((await value('percolator.collection.cycles')) ?? 0) > 0);
  store.isDown = ['readRange'];
  await clock.advance(300_000);
  const warning = ['percolator.warning.active', 'percolator.warning=step'] as const;
  assert.equal(await value(...warning), 1);
  store.isDown = [];
  await clock.advance(300_000);
  assert.equal(await value(...warning), 0);
  await clock.runUntil(collector.stop());
});

test('a meter and a tracer of the wrong kind are refused in a sentence', () => {
  const wrong = { meter: 5 } as unknown as Parameters<typeof createTelemetry>[0];
  assert.throws(() => createTelemetry(wrong), {
    code: 'INVALID_ARGUMENT',
    message: 'meter must be a meter of OpenTelemetry, not 5',
  });
});

test('telemetry that is no telemetry is refused in a sentence', async () => {
  const wrong = {} as unknown as Telemetry;
  await assert.rejects(openPercolator({ store: createMemoryBigtable(), telemetry: wrong }), {
    code: 'INVALID_ARGUMENT',
    message: /^telemetry must be what createTelemetry returns, not \{\}$/,
  });
});

test('with the no-op meter and tracer of the API everything works as without', async () => {
  const meter = globalMetrics.getMeter('percolator');
  const tracer = globalTrace.getTracer('percolator');
  await using percolator = await open(createTelemetry({ meter, tracer }));
  await percolator.transact(write('a'));
  await using snapshot = await percolator.snapshot();
  assert.notEqual(await snapshot.get({ table: 't', row: 'a', column: 'c' }), undefined);
});

test('docs/operations.md has the table of all metrics, with kind, unit and attributes', () => {
  const page = path.join(import.meta.dirname, '../../docs/operations.md');
  const documented = readFileSync(page, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `percolator.'))
    .map((line) => {
      const [, name = '', kind = '', attributes = '', meaning = ''] = line.split('|');
      const names = [...attributes.matchAll(/`([^`]+)`/g)].map(([, one]) => one);
      assert.ok(meaning.trim().length > 10, `${name} is explained`);
      return { name: name.replaceAll('`', '').trim(), kind: kind.trim(), attributes: names };
    });
  const actual = Object.entries(METRICS).map(([name, { kind, unit, attributes }]) => ({
    name,
    kind: `${kind}, \`${unit}\``,
    attributes: [...attributes],
  }));
  assert.ok(actual.length > 20);
  assert.deepEqual(documented, actual);
});
