/** Whether a process waits: for a timer, an answer, or an event that never comes. */
import type { EventLoopUtilization } from 'node:perf_hooks';

/** An event loop that works for less than this share of the time counts as idle. */
const BUSY_SHARE = 0.1;

/**
 * The event loop decides, not processor time: a process that has work, but gets no processor on a
 * busy machine, does not wait.
 */
export function isWaiting(before: EventLoopUtilization, after: EventLoopUtilization): boolean {
  const active = after.active - before.active;
  const idle = after.idle - before.idle;
  return active < BUSY_SHARE * (active + idle);
}
