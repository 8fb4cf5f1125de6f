/** Capped exponential backoff with full jitter: losers must not meet again in step (P23). */
import type { Context } from './context.ts';

/** Milliseconds to wait before attempt number `attempt` + 1; the first attempt is number 1. */
export function backoffMs({ options, random }: Context, attempt: number): number {
  const ceiling = Math.min(options.backoffMsMax, options.backoffMsMin * 2 ** Math.min(attempt, 20));
  return ceiling * random.fraction();
}
