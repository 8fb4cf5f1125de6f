/** How simulations in threads end without a result. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scaleOf } from './figure-9/brokerage.ts';
import { type BrokerageSimulation, performAll, performInThread } from './simulations.ts';
import { PAPER } from './testing.ts';

const STOPPED = new Error('stopped');

const SIMULATION: BrokerageSimulation = {
  kind: 'brokerage',
  plan: {
    calibration: PAPER,
    seed: 1,
    tabletServers: 2,
    clients: 1,
    tradeResultsPerSecond: 1,
    scale: scaleOf(100),
    warmUp: 0.2,
    seconds: 1,
    isChecked: false,
  },
};

test('a simulation ends with its signal, even if the signal was aborted before', async () => {
  const controller = new AbortController();
  const running = performInThread(SIMULATION, controller.signal);
  controller.abort(STOPPED);
  await assert.rejects(running, STOPPED);
  await assert.rejects(performInThread(SIMULATION, AbortSignal.abort(STOPPED)), STOPPED);
});

const BROKEN: BrokerageSimulation = {
  ...SIMULATION,
  plan: { ...SIMULATION.plan, tabletServers: 0 },
};

test('the error of a thread is that of its simulation', async () => {
  const { signal } = new AbortController();
  await assert.rejects(performInThread(BROKEN, signal), /there is a tablet server/);
});

test('after the first failure no simulation reports a result', async () => {
  const { signal } = new AbortController();
  const reported: number[] = [];
  const all = performAll(
    [BROKEN, SIMULATION, SIMULATION, SIMULATION],
    { jobs: 2, signal },
    (index) => {
      reported.push(index);
    },
  );
  await assert.rejects(all, /there is a tablet server/);
  reported.length = 0;
  // The second of the four began earlier, and would have ended.
  await performInThread(SIMULATION, signal);
  assert.deepEqual(reported, []);
});
