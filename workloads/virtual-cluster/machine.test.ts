/** Queues compared with what queueing theory says of them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { createRandom } from '#engine/base';
import { EventLoop } from '../verification/world/event-loop.ts';
import { type Extra, fitted, perRootMs } from './calibration/this-machine.ts';
import { VirtualCluster } from './cluster.ts';
import { ALWAYS_WARM, extraUs, type Idle, Machine, Station, Warmth } from './machine.ts';
import { PAPER, withoutCosts } from './testing.ts';

test('work waits for the first server that is free', () => {
  const station = new Station(2);
  assert.equal(station.take(0, 10), 10);
  assert.equal(station.take(0, 30), 30);
  assert.equal(station.take(5, 10), 20); // After the first.
  assert.equal(station.take(5, 10), 30); // After the third.
  assert.equal(station.take(100, 1), 101);
  assert.equal(station.busyUs, 61);
  assert.equal(station.waitedUs, 5 + 15);
});

test('the waits of random arrivals are those of the queue M/M/1', () => {
  const station = new Station(1);
  const random = createRandom(7);
  const exponential = (mean: number): number => -mean * Math.log(1 - random.fraction());
  let nowUs = 0;
  for (let i = 0; i < 300_000; i++) {
    nowUs += exponential(10);
    station.take(nowUs, exponential(7));
  }
  const load = 0.7;
  const expectedUs = (load * 7) / (1 - load);
  const waitUs = station.waitedUs / station.arrivals;
  assert.ok(Math.abs(waitUs / expectedUs - 1) < 0.05, `${waitUs} instead of ${expectedUs}`);
  assert.ok(Math.abs(station.busyUs / nowUs - load) < 0.01);
});

test('a station that stands still does its work later, and a cleared one never does it', () => {
  const station = new Station(1);
  station.take(0, 10);
  station.stand(4, 100);
  assert.equal(station.backlogUs(4), 6); // It has worked for 4; standing still is no work.
  assert.equal(station.take(4, 5), 115);
  assert.equal(station.backlogUs(50), 11);
  assert.equal(station.backlogUs(112), 3);
  station.clear(50);
  assert.equal(station.busyUs, 4);
  assert.equal(station.backlogUs(50), 0);
  assert.equal(station.take(50, 5), 55);
});

/* A machine that was idle is slow at first, by as much as its calibration says. */

const IDLE: Idle = { refillUs: 200, longestMs: 50, warmingUs: 50 };
/** So long a pause that the machine misses the most, and so much work that it refills it all. */
const ALL = 1e9;

describe('work', () => {
  test('takes the most extra time after a long pause, and none right after that', () => {
    const warmth = new Warmth(IDLE);
    const mostUs = 200 * Math.sqrt(50);
    near(warmth.workUs(ALL, ALL), ALL + mostUs);
    assert.equal(warmth.workUs(ALL, 0), ALL);
    near(warmth.extraUs, mostUs);
  });

  test('takes the same time in all, in however many pieces it comes', () => {
    const pieces = fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(pieces, fc.integer({ min: 0, max: 100_000 }), (some, idleUs) => {
        const [whole, parts] = [new Warmth(IDLE), new Warmth(IDLE)];
        const total = some.reduce((sum, us) => sum + us, 0);
        const expected = whole.workUs(total, idleUs);
        const took = some.map((us, i) => parts.workUs(us, i === 0 ? idleUs : 0));
        near(
          took.reduce((sum, us) => sum + us, 0),
          expected,
        );
      }),
    );
  });

  test('that takes no time does not end the time that the machine was idle', () => {
    const [warmth, expected] = [new Warmth(IDLE), new Warmth(IDLE)];
    warmth.workUs(0, 5_000);
    near(warmth.workUs(100, 5_000), expected.workUs(100, 10_000));
  });

  test('takes more the longer the machine was idle, up to the longest time', () => {
    const extra = (idleMs: number): number => new Warmth(IDLE).workUs(50, 1000 * idleMs) - 50;
    assert.equal(extra(0), 0);
    near(extra(1), 200 * (1 - Math.exp(-1)));
    near(extra(4), 2 * extra(1));
    assert.ok(extra(49) < extra(50));
    assert.equal(extra(50), extra(100));
  });

  test('takes no extra time on a machine that is always warm', () => {
    const warmth = new Warmth(ALWAYS_WARM);
    assert.equal(warmth.workUs(100, 5_000), 100);
    assert.equal(warmth.extraUs, 0);
  });

  test('takes as much extra time after several pauses as after one of their total length', () => {
    const warmth = new Warmth(IDLE);
    warmth.workUs(0, 3_000);
    warmth.workUs(0, 4_000);
    near(warmth.workUs(50, 2_000), 50 + extraUs(IDLE, { idleMs: 9, us: 50 }));
  });
});

test('a machine is idle from the end of its last work on, even if it has several cores', () => {
  const loop = new EventLoop();
  const machine = new Machine(
    loop,
    { name: 'server', kind: 'tablet server' },
    { cores: 2, disks: 1 },
    IDLE,
  );
  const first = machine.work(1_000); // The machine was not idle before.
  assert.equal(first, 1_000);
  loop.nowUs = 500;
  assert.equal(machine.work(100), 600, 'the other core is as warm');
  loop.nowUs = 11_000;
  near(machine.work(100) - 11_000, 100 + extraUs(IDLE, { idleMs: 10, us: 100 }));
});

test('a machine that stands still, or is dead, is idle', () => {
  const tookUs = (disturb: (machine: Machine, loop: EventLoop) => void): number => {
    const loop = new EventLoop();
    const size = { cores: 1, disks: 1 };
    const machine = new Machine(loop, { name: 'server', kind: 'tablet server' }, size, IDLE);
    machine.work(1_000);
    loop.nowUs = 1_000;
    disturb(machine, loop);
    return machine.work(100) - loop.nowUs;
  };
  const expected = 100 + extraUs(IDLE, { idleMs: 10, us: 100 });
  const paused = tookUs((machine, loop) => {
    machine.pause(10_000);
    loop.nowUs = 11_000;
  });
  near(paused, expected);
  const inPause = tookUs((machine, loop) => {
    machine.pause(10_000);
    loop.nowUs = 2_000;
  });
  near(inPause, 9_000 + expected);
  const restarted = tookUs((machine, loop) => {
    machine.work(1e6); // This work is lost.
    machine.kill();
    loop.nowUs = 11_000;
    machine.start();
  });
  near(restarted, expected);
});

test('oracle and lock service are always warm, the machines of engine and store are not', async () => {
  const calibration = { ...withoutCosts(PAPER), idle: IDLE };
  const cluster = new VirtualCluster({ calibration, seed: 1, tabletServers: 1 });
  const { oracleMachine, lockMachine, tabletServers } = cluster;
  const machines = [oracleMachine, lockMachine, ...tabletServers, cluster.addMachine('worker')];
  await cluster.run(async () => {
    await cluster.clock.sleep(1_000);
    const extras = await Promise.all(
      machines.map(async (machine) => {
        const before = machine.warmth.extraUs;
        await cluster.work(machine, 100);
        return machine.warmth.extraUs - before > 0;
      }),
    );
    assert.deepEqual(extras, [false, false, true, true]);
    cluster.window().end(); // Asserts that machines did the work that was asked of them.
  });
});

describe('the curve that is fitted to measurements', () => {
  const extrasOf = (idle: Idle): readonly Extra[] =>
    [10, 200].flatMap((us) =>
      [2, 10, 50].map((idleMs) => {
        const alone = { idleMs, us };
        return { alone, us: extraUs(idle, alone) };
      }),
    );

  test('is the one that they were made from', () => {
    for (const idle of [IDLE, { refillUs: 500, longestMs: 50, warmingUs: 400 }]) {
      const found = fitted(extrasOf(idle));
      for (const key of ['refillUs', 'longestMs', 'warmingUs'] as const) {
        assert.ok(Math.abs(found[key] / idle[key] - 1) < 0.1, `${key}: ${found[key]}`);
      }
    }
  });

  test('has nothing to refill if pauses cost nothing', () => {
    const free = extrasOf(ALWAYS_WARM);
    assert.equal(fitted(free).refillUs, 0);
  });

  test('grows with the root of the pause where a group waits for the disk', () => {
    const extras = [4, 25, 100].map((idleMs) => ({ idleMs, us: 30 * Math.sqrt(idleMs) }));
    near(perRootMs(extras), 30);
    // A short pause decides little: an error there is only a few microseconds.
    const [short, ...long] = extras;
    assert.ok(short !== undefined);
    assert.ok(perRootMs([{ ...short, us: short.us / 4 }, ...long]) > 29);
    assert.equal(perRootMs([{ idleMs: 4, us: -1 }]), 0);
  });
});

function near(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) < 1e-6 * expected, `${actual} is not ${expected}`);
}
