/** The clocks of simulated machines: their speed, and what they do during a suspend. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Timeline } from '../world/event-loop.ts';
import { SimulatedClock, SimulatedProcess } from './process.ts';

function machine(rate: number): { timeline: Timeline; clock: SimulatedClock } {
  const timeline = new Timeline();
  const process = new SimulatedProcess(timeline, { name: 'A', id: 1 }, () => {});
  return { timeline, clock: new SimulatedClock(timeline, process, { skewMs: 0, rate }) };
}

async function passes(timeline: Timeline, ms: number): Promise<void> {
  const until = timeline.nowMs + ms;
  timeline.at(until, () => {});
  await timeline.run(() => timeline.nowMs >= until);
}

test('a monotonic clock runs at its own speed, and sleepers wake by it', async () => {
  const { timeline, clock } = machine(0.5);
  const began = clock.monotonicMs();
  let wokenAt = 0;
  void clock.sleep(100).then(() => {
    wokenAt = timeline.nowMs;
  });
  await passes(timeline, 300);
  assert.equal(wokenAt, 200);
  assert.equal(clock.monotonicMs() - began, 150);
});

test('while its machine is suspended, a monotonic clock pauses, and the wall clock continues', async () => {
  const { timeline, clock } = machine(1);
  const began = clock.monotonicMs();
  let wokenAt = 0;
  void clock.sleep(100).then(() => {
    wokenAt = timeline.nowMs;
  });
  await passes(timeline, 40);
  clock.suspend(1_000);
  await passes(timeline, 500);
  assert.equal(clock.monotonicMs() - began, 40);
  assert.equal(clock.wallMs(), 540);
  await passes(timeline, 1_000);
  assert.equal(wokenAt, 1_100);
  assert.equal(clock.monotonicMs() - began, 540);
  clock.suspend(10);
  await passes(timeline, 20);
  assert.equal(clock.monotonicMs() - began, 550);
});
