/**
 * A closed loop that measures the latency of each operation, and ends after a count or a time. The
 * latency is that of these callers, not of users who arrive at any moment (closed-loop.ts).
 */
import { performance } from 'node:perf_hooks';
import { createLatencyHistogram, type Histogram } from '#results';

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

/** Begins the next operation whenever one ends. Rejects with the first failure. */
export async function closedLoop(
  one: (n: number) => Promise<void>,
  { concurrency, count = Infinity, seconds = Infinity, signal }: LoopOptions,
): Promise<LoopResult> {
  const latencies = createLatencyHistogram();
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1_000;
  let begun = 0;
  let done = 0;
  const run = async (): Promise<void> => {
    while (begun < count && performance.now() < endMs) {
      signal.throwIfAborted();
      const n = begun++;
      const beganMs = performance.now();
      await one(n);
      latencies.recordValue(Math.max(1, Math.round((performance.now() - beganMs) * 1_000)));
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
