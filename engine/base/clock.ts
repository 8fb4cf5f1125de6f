/**
 * The only door through which time enters the engine.
 *
 * Everything that waits or looks at a watch takes a `Clock`. The simulator passes a virtual one,
 * which is why a run can be replayed bit for bit, and why nothing else may touch timers.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface Clock {
  /** Wall-clock time in milliseconds since 1970. May jump; never used to decide what is correct. */
  wallMs(): number;
  /** Milliseconds since an arbitrary moment; never goes back. For durations. */
  monotonicMs(): number;
  /** Resolves after `ms` milliseconds, or at once when `signal` aborts (it does not reject). */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Resolves when everything that is already runnable has run. */
  yield(): Promise<void>;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: async (ms, signal) => {
    try {
      await sleep(ms, undefined, { signal });
    } catch (error) {
      if (signal?.aborted !== true) throw error;
    }
  },
  yield: () =>
    new Promise((resolve) => {
      setImmediate(resolve);
    }),
};
