/**
 * A closed loop: a fixed number of callers, each of which begins its next operation when its last
 * one ends.
 *
 * It measures throughput, not latency: when the storage is slow, the callers send fewer requests,
 * so the time of an operation does not show how long a user who arrived at a given moment would
 * have waited.
 */

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
  },
): Promise<void> {
  const end = run.first + run.operations;
  let next = run.first;
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
