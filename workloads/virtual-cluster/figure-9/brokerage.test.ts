/** The brokerage in virtual time, at a load that its tablet servers cannot serve. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadCalibration } from '../calibration/load.ts';
import { scaleOf, simulateBrokerage } from './brokerage.ts';

test('a load above the capacity was not kept up with, and is no mistake of the engine', async () => {
  const { calibration } = loadCalibration('paper-2010');
  const { storage } = calibration;
  const fixed = { ...storage.read.fixed, serverUs: 60 * storage.read.fixed.serverUs };
  const slow = { ...calibration, storage: { ...storage, read: { ...storage.read, fixed } } };
  const { keptUp, wrong, transactions } = await simulateBrokerage({
    calibration: slow,
    seed: 1,
    tabletServers: 2,
    clients: 1,
    tradeResultsPerSecond: 20,
    scale: scaleOf(100),
    warmUp: 1,
    seconds: 6,
    isChecked: true,
  });
  assert.equal(keptUp, false);
  assert.deepEqual(wrong, []);
  assert.ok(transactions > 0);
});
