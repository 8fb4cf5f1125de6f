/**
 * A closed loop: a fixed number of callers, each of which begins its next operation when the last has ended.
 *
 * It measures throughput, not latency: when the storage is slow, the callers ask less, so how long an
 * operation took says nothing about how long somebody who came at a given moment would have waited.
 */

/** Runs the operations numbered from `first` on, begun in that order; rejects with the first failure. */
export async function closedLoop(
  operate: (operation: number) => Promise<void>,
  run: {
    readonly first: number;
    readonly operations: number;
    /** Operations in flight. */
    readonly concurrency: number;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const end = run.first + run.operations;
  let next = run.first;
  const caller = async (): Promise<void> => {
    while (next < end && !run.signal.aborted) await operate(next++);
  };
  await Promise.all(Array.from({ length: run.concurrency }, caller));
  run.signal.throwIfAborted();
}
