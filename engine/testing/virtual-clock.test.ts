/** The claims of the virtual clock. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from './index.ts';

test('time stands still until told to move', async () => {
  const clock = new VirtualClock(1000);
  await clock.yield();
  assert.equal(clock.wallMs(), 1000);
  await clock.advance(250);
  assert.equal(clock.wallMs(), 1250);
  assert.equal(clock.monotonicMs(), 1250);
});

test('sleepers wake at their own time, and for the same time in the order they went to sleep', async () => {
  const clock = new VirtualClock();
  const woken: string[] = [];
  const sleeper = async (name: string, ms: number): Promise<void> => {
    await clock.sleep(ms);
    woken.push(`${name} at ${clock.monotonicMs()}`);
  };
  void sleeper('late', 30);
  void sleeper('first', 10);
  void sleeper('second', 10);
  void sleeper('never', 31);
  await clock.advance(30);
  assert.deepEqual(woken, ['first at 10', 'second at 10', 'late at 30']);
});

test('a sleeper that sleeps again on waking is woken again by the same advance', async () => {
  const clock = new VirtualClock();
  let ticks = 0;
  void (async () => {
    for (;;) {
      await clock.sleep(10);
      await clock.yield();
      ticks += 1;
    }
  })();
  await clock.advance(100);
  assert.equal(ticks, 10);
});

test('an aborted sleep ends at once and does not reject', async () => {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const slept = clock.sleep(60_000, controller.signal);
  controller.abort();
  await slept;
  await clock.sleep(60_000, controller.signal);
  assert.equal(clock.monotonicMs(), 0);
});

test('an hour of waiting passes at once when everything waits', async () => {
  const clock = new VirtualClock();
  const answer = await clock.runUntil(
    (async () => {
      for (let minute = 0; minute < 60; minute++) await clock.sleep(60_000);
      return clock.monotonicMs();
    })(),
  );
  assert.equal(answer, 3_600_000);
});

test('time never goes back when two callers move it at once', async () => {
  const clock = new VirtualClock();
  const late = clock.runUntil(clock.sleep(100));
  await clock.advance(10);
  const beforeMs = clock.monotonicMs();
  await late;
  await clock.advance(0);
  assert.ok(beforeMs <= clock.monotonicMs());
  assert.equal(clock.monotonicMs(), 100);
});

test('runUntil rejects as the promise does', async () => {
  const clock = new VirtualClock();
  const failing = clock.sleep(5).then(() => {
    throw new Error('late failure');
  });
  await assert.rejects(clock.runUntil(failing), /late failure/);
});

test('waiting for what will never happen is a failed assertion, not a hang', async () => {
  const clock = new VirtualClock();
  await assert.rejects(clock.runUntil(new Promise(() => undefined)), /a caller sleeps/);
});
