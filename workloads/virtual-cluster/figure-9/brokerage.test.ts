/**
 * The brokerage in virtual time: a load that its servers cannot serve, a law at rest, and a
 * collector.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadCalibration } from '../calibration/load.ts';
import { Storage } from '../storage.ts';
import { scaleOf, simulateBrokerage } from './brokerage.ts';

const { calibration } = loadCalibration('paper-2010');
const plan = {
  calibration,
  seed: 1,
  tabletServers: 2,
  clients: 1,
  tradeResultsPerSecond: 20,
  scale: scaleOf(100),
  warmUp: 1,
  seconds: 6,
  isChecked: true,
};

test('a load above the capacity is not kept up with, which is no mistake of the engine', async () => {
  const { storage } = calibration;
  const fixed = { ...storage.read.fixed, serverUs: 60 * storage.read.fixed.serverUs };
  const slow = { ...calibration, storage: { ...storage, read: { ...storage.read, fixed } } };
  const { saturation, wrong, transactions } = await simulateBrokerage({
    ...plan,
    calibration: slow,
  });
  assert.ok(saturation !== null);
  assert.deepEqual(wrong, []);
  assert.ok(transactions > 0);
});

test("a brokerage at rest asserts Little's law", async ({ mock }) => {
  // Calls would be in flight for no time, but have latencies.
  mock.method(Storage.prototype, 'countInFlight', function (this: Storage, by: 1 | 0 | -1) {
    this.inFlight += by;
  });
  await assert.rejects(
    simulateBrokerage({ ...plan, warmUp: 0.2, seconds: 0.5 }),
    /Little's law holds/,
  );
});

test('a collector visits rows while the brokerage runs, and all checks pass', async () => {
  const collector = { messageLifetimeMs: 100, rowsPerStep: 64, pauseMs: 5 };
  const [without, collected] = await Promise.all([
    simulateBrokerage(plan),
    simulateBrokerage({ ...plan, collector }),
  ]);
  const rowsOf = ({ usage }: typeof without): number => usage.calls.scan.rows;
  assert.deepEqual([without.wrong, collected.wrong], [[], []]);
  assert.ok(rowsOf(collected) > rowsOf(without) + 1_000, `${rowsOf(collected)} rows`);
});
