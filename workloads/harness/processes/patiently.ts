/** What a user would do whose store does not answer for a moment: the same again, up to a limit. */
import { isRetryable, systemClock } from '#engine';
import { monotonicMs } from '../load/monotonic-clock.ts';

const REST_MS = 50;

/**
 * Makes the call until it succeeds. Rejects with its last error if that can never succeed, or if
 * `forMs` milliseconds have passed since the first call.
 */
export async function patiently<T>(forMs: number, call: () => Promise<T>): Promise<T> {
  const untilMs = monotonicMs() + forMs;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isRetryable(error) || monotonicMs() > untilMs) throw error;
      await systemClock.sleep(REST_MS);
    }
  }
}
