/** When a transaction began, for the judge of the real-time order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TimestampOracle } from '../../../engine/oracle/index.ts';
import type { Percolator } from '../../../engine/percolator.ts';
import { clockOf } from './machine.ts';
import { planOf } from './plan.ts';
import { SimulatedProcess } from './process.ts';
import type { TransactionRecording } from './recording.ts';
import type { SimulatedRun } from './run.ts';
import { Transactions } from './transactions.ts';
import { World } from './world.ts';

test('a snapshot of the past does not hide when a transaction asked for the same timestamp', async () => {
  const plan = planOf(1);
  const world = new World(1, plan.knobs);
  const process = new SimulatedProcess(world.timeline, { name: 'client', id: 1 }, () => {});
  const recorded: TransactionRecording[] = [];
  const run = { plan, world, transactions: recorded } as unknown as SimulatedRun;
  const transactions = new Transactions(run, process, clockOf(world, process));
  await world.timeline.run(() => world.timeline.ticks > 2);
  const asked = world.timeline.ticks;
  const startTimestamp = await transactions
    .timed({ next: async () => 7 } as TimestampOracle)
    .next();

  const snapshot = { startTimestamp, close: async () => {}, [Symbol.asyncDispose]: async () => {} };
  const percolator = { snapshot: async () => snapshot } as unknown as Percolator;
  await transactions.snapshot(percolator, [], startTimestamp);
  transactions.record(startTimestamp); // As the run of an observer does when its body begins.
  const [past, own] = recorded;
  assert.deepEqual([past?.past, own?.past], [true, undefined]);
  assert.equal(own?.beganAt, asked);
});
