/** The run second by second, its dip and its recovery; and attempts that straddle a moment. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Arrival } from './attempts.ts';
import { recoveryOf, secondsOf } from './seconds.ts';
import { endsOf } from './findings.ts';

const FROM_MS = 5_000;

function arrival(dueMs: number, completedMs: number | undefined, codes: string[] = []): Arrival {
  const attempts = [...codes, 'committed'].map((outcome, i) => ({
    beganMs: dueMs + 100 * i,
    endedMs: dueMs + 100 * i + 50,
    outcome,
  }));
  return { dueMs, attempts, acknowledgedMs: dueMs + 500, completedMs };
}

describe('second by second,', () => {
  const arrivals = [
    arrival(4_900, 5_100), // Due in the warm-up, completed in second 0.
    arrival(5_200, 5_300),
    // Its first attempt begins in second 0 and ends in second 1.
    arrival(5_960, 7_460, ['STORE_UNAVAILABLE', 'COMMIT_UNKNOWN']),
    arrival(6_500, undefined),
  ];
  const [first, second, third] = secondsOf(arrivals, { fromMs: FROM_MS, seconds: 3 });

  test('arrivals count where they were due, and completions where they ended', () => {
    assert.deepEqual(
      [first, second, third].map((one) => [one?.arrived, one?.completed]),
      [
        [2, 2],
        [1, 0],
        [0, 1],
      ],
    );
  });

  test('a latency counts in the second in which its arrival was due', () => {
    assert.equal(first?.latencies.totalCount, 2);
    assert.ok(Math.abs((first?.latencies.maxValue ?? 0) / 1000 - 1_500) < 2);
    assert.equal(second?.latencies.totalCount, 0);
  });

  test('failed attempts count by code, in the second in which they ended', () => {
    assert.deepEqual(first?.failed, new Map());
    assert.deepEqual(
      second?.failed,
      new Map([
        ['STORE_UNAVAILABLE', 1],
        ['COMMIT_UNKNOWN', 1],
      ]),
    );
  });

  const none = { committed: 0, conflict: 0, unknown: 0, unavailable: 0 };

  test('an attempt straddles a moment if it began before and ended after, and a stretch of time if it overlaps it', () => {
    assert.deepEqual(endsOf(arrivals, 5_985), { ...none, unavailable: 1 });
    assert.deepEqual(endsOf(arrivals, 6_085), { ...none, unknown: 1 });
    assert.deepEqual(endsOf(arrivals, 5_985, 6_185), {
      ...none,
      unavailable: 1,
      unknown: 1,
      committed: 1,
    });
    assert.deepEqual(endsOf(arrivals, 6_400), none);
  });

  test('an attempt that another transaction stopped ended with a conflict', () => {
    for (const code of ['WRITE_CONFLICT', 'ROLLED_BACK', 'LOCKED']) {
      const stopped = [arrival(5_000, undefined, [code])];
      assert.deepEqual(endsOf(stopped, 5_025), { ...none, conflict: 1 }, code);
    }
  });
});

describe('the rate is back', () => {
  const at = { perSecond: 100, killedAt: 3, countedFrom: 5.5 };
  const seconds = (counts: readonly number[]): { completed: number }[] =>
    counts.map((completed) => ({ completed }));
  const before = [100, 100, 100];

  test('once no five seconds from then on fall short', () => {
    const dip = [60, 0, 0, 20];
    const counts = [...before, ...dip, ...Array.from({ length: 10 }, () => 110)];
    const { recoveredAt, lowestPercent, secondsBelow } = recoveryOf(seconds(counts), at);
    assert.deepEqual(
      { recoveredAt, lowestPercent, secondsBelow },
      { recoveredAt: 7, lowestPercent: 0, secondsBelow: 4 },
    );
  });

  test('not while the backlog hides seconds in which nothing is completed', () => {
    const counts = [...before, 0, 0, 0, 0, 0, 1, 180, 400, 240, 110, 30, 70, 170, 500, 240];
    const { recoveredAt } = recoveryOf(
      seconds([...counts, ...Array.from({ length: 8 }, () => 98)]),
      at,
    );
    assert.equal(recoveredAt, 15);
  });

  test('only after a second dip, if there is one', () => {
    const counts = [
      ...before,
      0,
      0,
      0,
      ...Array.from({ length: 8 }, () => 110),
      0,
      0,
      ...Array.from({ length: 8 }, () => 110),
    ];
    assert.equal(recoveryOf(seconds(counts), at).recoveredAt, 16);
  });

  test('not before the moment from which it counts', () => {
    const counts = Array.from({ length: 15 }, () => 100);
    assert.equal(recoveryOf(seconds(counts), at).recoveredAt, 6);
  });

  test('never, if the last seconds fall short', () => {
    const counts = [...before, 0, 0, 0, ...Array.from({ length: 8 }, () => 90)];
    assert.equal(recoveryOf(seconds(counts), at).recoveredAt, undefined);
  });
});
