/**
 * The claims of the rest between two scans:
 * short while something happens, cheap while nothing does.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Bigtable, ChangeListener } from '../bigtable/index.ts';
import { createMemoryBigtable, openTestDatabase, VirtualClock } from '../testing/index.ts';
import { Rest } from './scans.ts';
import { Worker } from './worker.ts';
import { settingsOf, type WorkerOptions } from './worker-options.ts';

interface Said {
  readonly afterMs: number;
  readonly say: () => void;
}

function open(options: WorkerOptions = {}): {
  readonly clock: VirtualClock;
  readonly rest: Rest;
  /** As if another process had set cells in these tables; by default, in a companion table. */
  readonly hint: (tables?: readonly string[]) => void;
  readonly hintUnknown: () => void;
  /** How long the next rest takes; meanwhile something may be `said`, `afterMs` into it. */
  readonly sleep: (said?: Said) => Promise<number>;
} {
  const clock = new VirtualClock();
  const listeners = new Set<ChangeListener>();
  const hint = (tables: readonly string[] = ['t.notify']): void =>
    listeners.forEach((listener) => listener(new Set(tables)));
  const hintUnknown = (): void => listeners.forEach((listener) => listener());
  const rest = new Rest(clock, withHints(createMemoryBigtable(), listeners), settingsOf(options));
  const sleep = async (said?: Said): Promise<number> => {
    const beganMs = clock.monotonicMs();
    const slept = rest.sleep(new AbortController().signal);
    if (said !== undefined) await clock.advance(said.afterMs);
    said?.say();
    await clock.runUntil(slept);
    return clock.monotonicMs() - beganMs;
  };
  return { clock, rest, hint, hintUnknown, sleep };
}

function withHints(store: Bigtable, listeners: Set<ChangeListener>): Bigtable {
  const onChange = (listener: ChangeListener): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return Object.assign(store, { onChange });
}

test('a rest is a sixteenth of the time that nothing has happened, at least 5 ms and at most 250', async () => {
  const { clock, rest, sleep } = open();
  assert.equal(await sleep(), 5);
  await clock.advance(155);
  assert.equal(await sleep(), 10); // 160 ms since the beginning.
  await clock.advance(10_000);
  assert.equal(await sleep(), 250);
  rest.wasBusy();
  assert.equal(await sleep(), 5);
});

test('with idleMs alone all rests have that length, whatever is hinted', async () => {
  const { clock, hint, sleep } = open({ idleMs: 20 });
  await clock.advance(10_000);
  assert.equal(await sleep(), 20);
  assert.equal(await sleep({ afterMs: 10, say: () => hint() }), 20);
});

test('a hint ends a long rest at once, and one that comes too soon after a scan ends it after 5 ms', async () => {
  const { clock, rest, hint, sleep } = open();
  await clock.advance(10_000);
  assert.equal(await sleep({ afterMs: 100, say: () => hint() }), 100);
  rest.scanBegins();
  assert.equal(await sleep({ afterMs: 2, say: () => hint() }), 5);
  rest.scanBegins();
  assert.equal(await sleep(), 250, 'the hints were not about this worker');
});

test('a hint of changes that notify no cell ends no rest; one of unknown changes does', async () => {
  const { clock, hint, sleep } = open();
  await clock.advance(10_000);
  assert.equal(await sleep({ afterMs: 100, say: () => hint(['t', 'notify']) }), 250);
  assert.equal(await sleep({ afterMs: 100, say: () => hint(['t', 'u.i2.notify']) }), 100);
  const unknown = open();
  await unknown.clock.advance(10_000);
  assert.equal(await unknown.sleep({ afterMs: 100, say: unknown.hintUnknown }), 100);
});

test('a storage that hints without pause is scanned every idleMs, and no more often', async () => {
  const { clock, rest, hint, sleep } = open({ idleMs: 8, idleMsMax: 100 });
  await clock.advance(10_000);
  for (let i = 0; i < 10; i++) {
    rest.scanBegins();
    assert.equal(await sleep({ afterMs: 1, say: () => hint() }), 8);
  }
});

test('a hint that comes during a scan is followed by one soon: the one in progress may miss the change', async () => {
  const { clock, rest, hint, sleep } = open();
  await clock.advance(10_000);
  rest.scanBegins();
  hint();
  await clock.advance(1_000); // The scan takes long.
  assert.equal(await sleep(), 5);
  rest.scanBegins();
  assert.equal(await sleep(), 250, 'a hint shortens no second rest');
});

test('after the end there is no listener to the storage, and the rest is over', async () => {
  const { clock, rest, hint, sleep } = open();
  await clock.advance(10_000);
  assert.equal(await sleep({ afterMs: 50, say: () => rest.end() }), 50);
  for (let scan = 0; scan < 2; scan++) rest.scanBegins(); // The first was woken by the end.
  assert.equal(await sleep({ afterMs: 100, say: () => hint() }), 250, 'no hint ended the rest');
});

test('a worker that rests long scans at once when the storage hints and for idle, and stops at once', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const listeners = new Set<ChangeListener>();
  const [writer, reader] = [database.client('writer'), database.client('reader')];
  const context = { ...reader.context, store: withHints(reader.context.store, listeners) };
  const runs: string[] = [];
  const run = async (_: unknown, { row }: { readonly row: string }): Promise<void> => {
    runs.push(row);
  };
  const observer = { name: 'observer', table: 't', column: 'seen', run };
  const worker = new Worker(context, [observer], { idleMsMax: 60_000 });
  await database.clock.advance(3_600_000);
  await writer.write({ 'x:seen': '1' });
  await database.clock.advance(1_000);
  assert.deepEqual(runs, [], 'it rests');
  listeners.forEach((listener) => listener());
  await database.clock.advance(1);
  assert.deepEqual(runs, ['x']);

  await database.clock.advance(3_600_000);
  const beganMs = database.clock.monotonicMs();
  await database.clock.runUntil(worker.idle());
  assert.ok(database.clock.monotonicMs() - beganMs < 100, 'a caller waits');
  await database.clock.advance(3_600_000);
  await worker.stop(); // Without time moving on.
  assert.equal(listeners.size, 0);
});

test('a change of the process for which its worker has no room is found by a scan as soon as there is room', async () => {
  // With so many columns, there is room for fifty cells of each.
  const columns = Array.from({ length: 2_000 }, (_, i) => `seen ${i}`);
  const database = await openTestDatabase({ observed: columns });
  const a = database.client('A');
  const [runsEnd, rows] = [Promise.withResolvers<void>(), new Set<string>()];
  const run = async (_: unknown, { row }: { readonly row: string }): Promise<void> => {
    await runsEnd.promise;
    rows.add(row);
  };
  const observers = columns.map((column) => ({ name: 'observer', table: 't', column, run }));
  const options = { concurrency: 1, idleMsMax: 3_600_000, slowMs: 1e9 };
  await using worker = new Worker(a.context, observers, options);
  await database.clock.advance(600_000); // The next rest takes half a minute.
  const names = Array.from({ length: 55 }, (_, i) => `row ${i}`);
  for (const name of names) await a.write({ [`${name}:seen 0`]: '1' });
  runsEnd.resolve();
  await database.clock.advance(1_000);
  assert.deepEqual([...rows].toSorted(), names.toSorted());
  assert.equal(worker.counters.clean + worker.counters.runs, names.length);
});

test('a longest rest that is shorter than the shortest is refused', () => {
  assert.throws(() => settingsOf({ idleMs: 10, idleMsMax: 9 }), /idleMsMax.*\(10\), not 9/);
});

test('a caller of idle who waits no longer keeps the worker from no rest', async () => {
  const database = await openTestDatabase({ observed: ['seen'] });
  const a = database.client('A');
  const runsEnd = Promise.withResolvers<void>();
  const run = (): Promise<void> => runsEnd.promise;
  const observers = [{ name: 'observer', table: 't', column: 'seen', run }];
  await using worker = new Worker(a.context, observers, { slowMs: 1e9 });
  await a.write({ 'x:seen': '1' });
  const stop = new AbortController();
  const idle = worker.idle({ signal: stop.signal });
  await database.clock.advance(100);
  stop.abort(new Error('the user went away'));
  await assert.rejects(idle, { message: 'the user went away' });
  await database.clock.advance(60_000);
  const before = a.store.trace.length;
  await database.clock.advance(10_000);
  const calls = a.store.trace.length - before;
  runsEnd.resolve();
  assert.ok(calls < 500, `${calls} calls in ten seconds, of which scans rest 250 ms`);
});
