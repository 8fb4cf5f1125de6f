/**
 * A moment on both clocks of a process, and a check that less than a given time has passed since.
 *
 * What a process believes for a limited time (a lease) must end before other processes stop
 * respecting it. The monotonic clock alone cannot tell: on most systems it stops while the machine
 * is suspended. The wall clock goes on, but may be set to another time. So both must agree:
 *
 *     less than `ms` on the monotonic clock    the time is not over
 *     about as much on the wall clock          the machine was not suspended, nor the clock set
 *
 * One case remains: the wall clock is set back by as much time as the machine was suspended, within
 * the tolerance. No clock of the process can detect that. In doubt the answer is no, which costs
 * the process a renewal, or a check of what it would otherwise believe.
 */
import type { Clock } from './clock.ts';

export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** How far the clocks may be apart: the wall clock's resolution, and a fraction of `ms`. */
const RESOLUTION_MS = 2;
/**
 * The fraction of `ms`: far below the margin that leases leave for clocks of different speeds, and
 * far above the drift between the clocks of one machine.
 */
const TOLERANCE = 1 / 20;

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

/**
 * Whether less than `ms` milliseconds have passed since `moment` on the monotonic clock, and about
 * as many on the wall clock. In doubt false.
 */
export function isWithin(clock: Clock, ms: number, moment: Moment): boolean {
  const passedMs = clock.monotonicMs() - moment.monotonicMs;
  const passedWallMs = clock.wallMs() - moment.wallMs;
  const apartMs = Math.abs(passedWallMs - passedMs);
  return passedMs < ms && apartMs <= RESOLUTION_MS + ms * TOLERANCE;
}
