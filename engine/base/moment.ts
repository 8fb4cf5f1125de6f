/**
 * A moment on both clocks of a process, and whether it is certainly less than so long ago.
 *
 * What a process believes for a limited time (a lease) must end before other processes stop
 * respecting it. The monotonic clock alone cannot tell: on most systems it stands still while the
 * machine is suspended. The wall clock goes on, but may be set to another time. So both must agree:
 *
 *     less than `ms` on the monotonic clock    the usual case
 *     as much on the wall clock                the machine was not suspended, nor the clock set
 *
 * What remains is a wall clock that is set back by as much as the machine was suspended, give or take
 * the tolerance: no clock of the process could notice that. In doubt the answer is no, and costs the
 * process a renewal, or a look at what it would otherwise believe.
 */
import type { Clock } from './clock.ts';

export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** How far the clocks may be apart: the wall clock's resolution, and a part of the time that is believed in. */
const RESOLUTION_MS = 2;
/** Far below what leases leave for clocks of different speeds; far above the drift of one machine's clocks. */
const TOLERANCE = 1 / 20;

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

/** Whether less than `ms` milliseconds have passed since `moment`, by both clocks. In doubt false. */
export function isWithin(clock: Clock, ms: number, moment: Moment): boolean {
  const passedMs = clock.monotonicMs() - moment.monotonicMs;
  const passedWallMs = clock.wallMs() - moment.wallMs;
  const apartMs = Math.abs(passedWallMs - passedMs);
  return passedMs < ms && apartMs <= RESOLUTION_MS + ms * TOLERANCE;
}
