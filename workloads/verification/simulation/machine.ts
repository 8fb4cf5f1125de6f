/**
 * Common to all processes that use the storage: a clock of their own, and repeated attempts to open
 * what they need.
 */
import { hasCode, isRetryable } from '../../../engine/base/index.ts';
import { chooseBetween } from './chance.ts';
import { SimulatedClock, type SimulatedProcess } from './process.ts';
import type { World } from './world.ts';

export interface Machine {
  readonly process: SimulatedProcess;
  readonly clock: SimulatedClock;
}

/** For draws of chance about a process as such, without a message. */
const SKEW = 20;
const RATE = 21;
const STOP = 22;
/** The rest after a failure, before the next attempt. */
const REST_MS = 30;

export function clockOf(world: World, process: SimulatedProcess): SimulatedClock {
  const { skewMs, drift = 0 } = world.knobs;
  const around0 = (purpose: number): number => 2 * world.draw(process, 0, purpose) - 1;
  return new SimulatedClock(world.timeline, process, {
    skewMs: skewMs * around0(SKEW),
    rate: 1 + drift * around0(RATE),
    onSleep: () => {
      if (!world.troubled || !world.waits.stopsAtSleep(process)) return;
      process.pause(chooseBetween(1, world.longestStopMs, world.draw(process, 0, STOP)));
    },
  });
}

/** Opens something in the storage, with as many attempts as it takes. */
export async function untilOpen<T>(clock: SimulatedClock, open: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (!isRetryable(error) && !hasCode(error, 'STORE_IN_DOUBT')) throw error;
      await clock.sleep(REST_MS);
    }
  }
}
