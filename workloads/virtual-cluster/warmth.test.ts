/** A machine that was idle is slow at first, by as much as its calibration says. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { type Extra, fitted } from './calibration/idle-costs.ts';
import { Cluster } from './cluster.ts';
import { EventLoop } from './event-loop.ts';
import { Machine } from './machine.ts';
import { PAPER, withoutCosts } from './testing.ts';
import { ALWAYS_WARM, extraUs, type Idle, Warmth } from './warmth.ts';

const IDLE: Idle = { refillUs: 2_000, coolingMs: 10, warmingUs: 50 };
/** So long that all is lost, and so much work that all is back. */
const ALL = 1e9;

describe('work', () => {
  test('takes the whole refill in addition after a long time, and none right after that', () => {
    const warmth = new Warmth(IDLE);
    assert.equal(warmth.workUs(ALL, ALL), ALL + 2_000);
    assert.equal(warmth.workUs(ALL, 0), ALL);
    assert.equal(warmth.extraUs, 2_000);
  });

  test('takes as much in all, in however many pieces it comes', () => {
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

  test('takes more the longer the machine was idle, up to the refill', () => {
    const took = [0, 100, 1_000, 10_000, 100_000].map((us) => new Warmth(IDLE).workUs(50, us));
    assert.deepEqual(
      took,
      took.toSorted((a, b) => a - b),
    );
    assert.equal(new Set(took).size, took.length);
    assert.ok(took.every((us) => us <= 2_050));
  });
});

test('a machine is idle from the end of its last work on, if it has several cores, too', () => {
  const loop = new EventLoop();
  const machine = new Machine(
    loop,
    { name: 'server', kind: 'tablet server' },
    { cores: 2, disks: 1 },
    IDLE,
  );
  const first = machine.work(1_000); // Nothing was idle before.
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
  const restarted = tookUs((machine, loop) => {
    machine.work(1e6); // Is lost.
    machine.kill();
    loop.nowUs = 11_000;
    machine.start();
  });
  near(restarted, expected);
});

test('oracle and lock service are always warm, the machines of engine and store are not', async () => {
  const calibration = { ...withoutCosts(PAPER), idle: IDLE };
  const cluster = new Cluster({ calibration, seed: 1, tabletServers: 1 });
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
    for (const idle of [IDLE, { refillUs: 500, coolingMs: 3, warmingUs: 400 }]) {
      const found = fitted(extrasOf(idle));
      for (const key of ['refillUs', 'coolingMs', 'warmingUs'] as const) {
        assert.ok(Math.abs(found[key] / idle[key] - 1) < 0.1, `${key}: ${found[key]}`);
      }
    }
  });

  test('loses nothing if pauses cost nothing', () => {
    const free = extrasOf(ALWAYS_WARM);
    assert.equal(fitted(free).refillUs, 0);
  });
});

function near(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) < 1e-6 * expected, `${actual} is not ${expected}`);
}
