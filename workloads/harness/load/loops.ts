/**
 * Loops that do many operations, several at a time.
 *
 * A closed loop has a fixed number of callers, each of which begins its next operation when its
 * last one ends. It measures throughput, not latency: when the storage is slow, the callers send
 * fewer requests, so the time of an operation does not show how long a user who arrived at a given
 * moment would have waited.
 */
import { performance } from 'node:perf_hooks';
import { createLatencyHistogram, type Histogram } from '#results';
import { live } from '../watch/live.ts';
import { LiveTimes } from '../watch/live-times.ts';

/**
 * Begins the operations in the order of their numbers, from `first` on; rejects with the first
 * failure.
 */
export async function closedLoop(
  operate: (operation: number) => Promise<void>,
  run: {
    readonly first: number;
    readonly operations: number;
    /** Operations in flight. */
    readonly concurrency: number;
    readonly signal: AbortSignal;
    /** How the page of a watched run calls them. Default: operations. */
    readonly name?: string;
  },
): Promise<void> {
  const end = run.first + run.operations;
  let next = run.first;
  const { name: series = 'operations' } = run;
  using _ = live.show([{ panel: 'throughput', series, rate: () => Math.min(next, end) }]);
  const caller = async (): Promise<void> => {
    while (next < end && !run.signal.aborted) await operate(next++);
  };
  try {
    await Promise.all(Array.from({ length: run.concurrency }, caller));
  } finally {
    next = end; // After a failure the other callers begin nothing more.
  }
  run.signal.throwIfAborted();
}

export interface LoopResult {
  readonly done: number;
  readonly seconds: number;
  /** Microseconds. */
  readonly latencies: Histogram;
}

export interface LoopOptions {
  readonly concurrency: number;
  /** The loop ends when this many operations have begun, or when the time is over. */
  readonly count?: number | undefined;
  readonly seconds?: number | undefined;
  readonly signal: AbortSignal;
}

/**
 * A closed loop that measures the latency of each operation, and ends after a count or a time. The
 * latency is that of these callers, not of users who arrive at any moment. Rejects with the first
 * failure.
 */
export async function timedLoop(
  one: (n: number) => Promise<void>,
  { concurrency, count = Infinity, seconds = Infinity, signal }: LoopOptions,
): Promise<LoopResult> {
  const latencies = createLatencyHistogram();
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1_000;
  let begun = 0;
  let done = 0;
  const times = new LiveTimes();
  const { isWatched } = live;
  using _ = live.show([
    { panel: 'throughput', series: 'operations', rate: () => done },
    { panel: 'latency', series: 'an operation', times },
  ]);
  const run = async (): Promise<void> => {
    while (begun < count && performance.now() < endMs) {
      signal.throwIfAborted();
      const n = begun++;
      const beganMs = performance.now();
      await one(n);
      const us = Math.max(1, Math.round((performance.now() - beganMs) * 1_000));
      latencies.recordValue(us);
      if (isWatched) times.record(us);
      done++;
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, run));
  } finally {
    begun = count; // After a failure the other callers begin nothing more.
  }
  return { done, seconds: (performance.now() - startedMs) / 1_000, latencies };
}

/**
 * A loop over items as they come, such as the captures of a crawl. It keeps a failure until the
 * other items in flight are done. So the caller may then close what they use, and a failure is not
 * lost if it happens while the loop waits for the next item.
 *
 * Begins the items in their order, at most `inFlight` at a time, and none after a failure. Rejects
 * with the first failure, of an item or of their source, when none is in flight.
 */
export async function forEachInFlight<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  inFlight: number,
  handle: (item: Item) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const keep = (error: unknown): void => void failures.push(error);
  try {
    for await (const item of items) {
      if (failures.length > 0) break;
      const handled = handle(item)
        .catch(keep)
        .finally(() => running.delete(handled));
      running.add(handled);
      if (running.size >= inFlight) await Promise.race(running);
    }
  } catch (error) {
    keep(error);
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}
