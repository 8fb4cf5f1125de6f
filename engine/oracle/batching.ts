/**
 * "Each Percolator worker batches timestamp requests across transactions by maintaining only one
 * pending RPC to the oracle" (section 2.3).
 *
 *     caller ──▶ waiting ─┐                        ┌─▶ answered in order of arrival
 *     caller ──▶ waiting ─┴▶ one request for all ──┘
 *     caller ──▶ waiting ───▶ the next request, because this one was sent before the call (P10)
 *
 * The same holds for the horizon, which a read asks for whose snapshot no lease covers (P31,
 * snapshot loses versions). After an outage that is every read of all transactions: with a request
 * for each, the process has more to send and to give up than it can, and no answer is in time.
 */
import { assert } from '../base/index.ts';
import type { Timestamp } from '../bigtable/index.ts';
import type { TimestampOracle, TimestampSource } from './oracle.ts';

interface TimestampCaller {
  readonly resolve: (timestamp: Timestamp) => void;
  readonly reject: (error: unknown) => void;
}

/** Lets many callers share one source; one request is pending at a time. */
export function batchTimestamps(source: TimestampSource): TimestampOracle {
  let waiting: TimestampCaller[] = [];
  let asking = false;
  let largest: Timestamp = 0;
  let horizon: Timestamp = 0;
  let drops = 0;

  async function askForAll(): Promise<void> {
    // Callers of the same turn of the event loop share the first request.
    await Promise.resolve();
    while (waiting.length > 0) {
      const callers = waiting;
      waiting = [];
      await answer(callers);
    }
    asking = false;
  }

  async function answer(callers: readonly TimestampCaller[]): Promise<void> {
    try {
      const allocation = await source.allocate(callers.length);
      const { first } = allocation;
      assert(first > largest, 'the oracle only moves forward');
      largest = first + callers.length - 1;
      noteHorizon(allocation.horizon); // Before the callers receive their timestamps.
      noteDrops(allocation.drops);
      callers.forEach(({ resolve }, i) => {
        resolve(first + i);
      });
    } catch (error) {
      for (const { reject } of callers) reject(error);
    }
  }

  /** Answers may overtake one another; the horizon and the count only move forward. */
  function noteHorizon(heard: Timestamp): Timestamp {
    horizon = Math.max(horizon, heard);
    return horizon;
  }

  function noteDrops(heard: number): number {
    drops = Math.max(drops, heard);
    return drops;
  }

  return {
    get horizon() {
      return horizon;
    },
    readHorizon: shared(async () => noteHorizon(await source.readHorizon())),
    raiseHorizon: async (wanted) => noteHorizon(await source.raiseHorizon(wanted)),
    get drops() {
      return drops;
    },
    announceDrop: async () => noteDrops(await source.announceDrop()),
    belongTo: (identity) => source.belongTo(identity),
    next: () =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        if (asking) return;
        asking = true;
        void askForAll();
      }),
  };
}

/** One call at a time: all that come while it is pending share the next one. */
function shared<T>(ask: () => Promise<T>): () => Promise<T> {
  let pending: Promise<T> | undefined;
  let next: Promise<T> | undefined;
  const begin = (): Promise<T> => {
    next = undefined;
    const asked = ask();
    const end = (): void => {
      if (pending === asked) pending = undefined;
    };
    pending = asked;
    asked.then(end, end);
    return asked;
  };
  return () => next ?? (pending === undefined ? begin() : (next = pending.then(begin, begin)));
}
