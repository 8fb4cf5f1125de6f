/** Waits of tests for what other processes, connections and timers do. */
import assert from 'node:assert/strict';
import { systemClock } from '../base/index.ts';

/** Far longer than any of it takes, also on a machine with ten times the load. */
const PATIENCE_MS = 120_000;
const LOOK_MS = 2;

/** Looks repeatedly. @throws AssertionError if it is not so after two minutes */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const beganMs = systemClock.monotonicMs();
  for (;;) {
    const isIt = await isSo();
    const isLate = systemClock.monotonicMs() - beganMs > PATIENCE_MS;
    assert.ok(isIt || !isLate, `after two minutes it is still not so: ${String(isSo)}`);
    if (isIt) return;
    await systemClock.sleep(LOOK_MS);
  }
}
