/** How simulations in threads end without a result. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scaleOf } from './figure-9/brokerage.ts';
import { type BrokerageSimulation, performInThread } from './simulations.ts';
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

test('a simulation ends with its signal, also one that was aborted before', async () => {
  const controller = new AbortController();
  const running = performInThread(SIMULATION, controller.signal);
  controller.abort(STOPPED);
  await assert.rejects(running, STOPPED);
  await assert.rejects(performInThread(SIMULATION, AbortSignal.abort(STOPPED)), STOPPED);
});

test('the error of a thread is that of its simulation', async () => {
  const { plan, kind } = SIMULATION;
  const { signal } = new AbortController();
  const none = performInThread({ kind, plan: { ...plan, tabletServers: 0 } }, signal);
  await assert.rejects(none, /there is a tablet server/);
});
