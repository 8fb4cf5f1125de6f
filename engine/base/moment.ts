/**
 * A moment on both clocks of a process, and whether it is certainly less than so long ago.
 *
 * What a process believes for a limited time (a lease) must end before other processes stop
 * respecting it. The monotonic clock alone cannot tell: on most systems it stands still while the
 * machine is suspended. The wall clock goes on, but may be set to another time. So both must agree:
 *
 *     less than `ms` on the monotonic clock    the usual case
 *     less than `ms` on the wall clock         the machine was not suspended, nor the clock set forward
 *     the wall clock has not fallen behind     it was not set back, which could hide a suspend
 *
 * What remains: a wall clock that is set back by as much as the machine is suspended, give or take
 * the tolerance below. No clock of the process could notice that.
 */
import type { Clock } from './clock.ts';

export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** How far the wall clock may fall behind: its resolution, and the difference of the clocks' speeds. */
const RESOLUTION_MS = 2;
const DRIFT = 1 / 20;

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

/** Whether less than `ms` milliseconds have passed since `moment`, by both clocks. In doubt false. */
export function isWithin(clock: Clock, ms: number, moment: Moment): boolean {
  const passedMs = clock.monotonicMs() - moment.monotonicMs;
  const passedWallMs = clock.wallMs() - moment.wallMs;
  const isSetBack = passedWallMs < passedMs * (1 - DRIFT) - RESOLUTION_MS;
  return passedMs < ms && passedWallMs < ms && !isSetBack;
}
