/** Whether a process waits: for a timer, an answer, or an event that never comes. */
import type { EventLoopUtilization } from 'node:perf_hooks';

/** The share of a time below which the event loop's work counts as none. */
const BUSY_SHARE = 0.1;

/**
 * Decided by the event loop, not by processor time: a process that has work, but gets no processor
 * on a busy machine, does not wait.
 */
export function isWaiting(before: EventLoopUtilization, after: EventLoopUtilization): boolean {
  const active = after.active - before.active;
  const idle = after.idle - before.idle;
  return active < BUSY_SHARE * (active + idle);
}
