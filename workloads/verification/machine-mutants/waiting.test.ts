/** A process that gets no processor is not taken for one that waits. */
import assert from 'node:assert/strict';
import { performance } from 'node:perf_hooks';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { isWaiting } from './watch.ts';

const BEFORE = { idle: 1_000, active: 1_000, utilization: 0.5 };

test('a process waits if its event loop is idle, however long the time is', () => {
  const times = [
    [99, 1],
    [5_000, 1],
    [85, 15],
    [0, 100],
  ] as const;
  const found = times.map(([idle, active]) =>
    isWaiting(BEFORE, { idle: 1_000 + idle, active: 1_000 + active, utilization: 0 }),
  );
  assert.deepEqual(found, [true, true, false, false]);
});

test('a process that gets no processor in the middle of its work does not wait', async () => {
  await setImmediate(); // Before that there is no event loop to look at.
  const before = performance.eventLoopUtilization();
  // Stands still without processor time, as a process that the system does not run.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 120);
  assert.equal(isWaiting(before, performance.eventLoopUtilization()), false);
});
