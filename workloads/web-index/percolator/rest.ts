/**
 * Waits until all is indexed. `Worker.idle` does not wait for a cell that rests after a failure of
 * its observer. But the pages of such a cell are missing in the index, so a load is not over until
 * the observer has succeeded or given up.
 */
import { systemClock, type Worker } from '#engine';

/** Milliseconds between two looks at the cells that rest. The first rest is about as long. */
const LOOK_MS = 50;

/**
 * Resolves when no cell is dirty except for parked ones.
 * @param signal ends the waiting; needed if the worker may be stopped meanwhile
 */
export async function untilAtRest(
  worker: Worker,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  let wasFailing: boolean;
  do {
    wasFailing = worker.failing > 0;
    if (wasFailing) await systemClock.sleep(LOOK_MS, signal);
    await worker.idle(); // Also after the last success, which may have made other cells dirty.
  } while ((wasFailing || worker.failing > 0) && !signal.aborted);
}
