/**
 * What the findings of figure 10 say of runs that end in different ways, and how a run goes on
 * while servers are dead and when they start again.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadCalibration } from '../calibration/load.ts';
import { simulateBrokerage } from '../figure-9/brokerage.ts';
import {
  type FailurePoint,
  failurePlan,
  figure10Findings,
  type Figure10Plan,
  secondsAfter,
  variantsOf,
} from './figure-10.ts';

const PLAN: Figure10Plan = {
  loaded: loadCalibration('paper-2010'),
  seed: 1,
  load: 10,
  before: 10,
  after: 30,
  variants: [],
};
const POINT: FailurePoint = {
  servers: 15,
  detectionSeconds: 12,
  logBytes: 1e8,
  recoverySeconds: 13,
  lowestShare: 0.02,
  result: { wrong: [], judged: 100, endedAt: Array.from({ length: 400 }, (_, i) => i / 10) },
};

function headlineWith(changed: Partial<FailurePoint>): string {
  const { headline, check } = figure10Findings(PLAN, [{ ...POINT, ...changed }]);
  assert.equal(check.passed, true, check.detail);
  return headline.replace(/^.* tablet servers leaves /, '');
}

test('the headline says how and when the throughput came back, if it did', () => {
  assert.equal(
    headlineWith({}),
    '2 % of the throughput, and it is back after 13 s, 12 s of which pass until the deaths are noticed.',
  );
  assert.equal(
    headlineWith({ recoverySeconds: null }),
    '2 % of the throughput, and it is not back before the end.',
  );
  assert.equal(
    headlineWith({ recoverySeconds: 4, lowestShare: 0.8 }),
    '80 % of the throughput, and it is back after 4 s, before the deaths are noticed.',
  );
  assert.equal(headlineWith({ recoverySeconds: 0, lowestShare: 0.95 }), '95 % of the throughput.');
});

test('a run whose transactions failed, so that nothing was checked, has no numbers', () => {
  const failed = { ...POINT, result: { ...POINT.result, judged: 0 } };
  const { headline, check, tables } = figure10Findings(PLAN, [POINT, failed]);
  assert.equal(check.passed, false);
  assert.match(check.detail, /^with 15 servers: transactions failed/);
  assert.deepEqual([headline, tables], ['There are no numbers.', []]);
});

test('a run without throughput before the kill has no numbers', () => {
  const { check } = figure10Findings(PLAN, [{ ...POINT, lowestShare: Number.NaN }]);
  assert.equal(check.passed, false);
  assert.match(check.detail, /no Trade-Result ended before the kill/);
});

test('customers go on while transactions wait for dead servers, however many wait', async () => {
  const small = { ...PLAN, before: 1, after: 2 };
  const plan = failurePlan(small, { servers: 3, detectionSeconds: 0.5, logBytes: 1e6 });
  assert.equal(plan.inFlightMax, Infinity);
  const { saturation, wrong } = await simulateBrokerage(plan);
  assert.doesNotMatch(saturation ?? '', /given up/);
  assert.deepEqual(wrong, []);
  // On each client ten transactions wait before the deaths are noticed.
  const givenUp = await simulateBrokerage({ ...plan, inFlightMax: 10 });
  assert.match(givenUp.saturation ?? '', /given up/);
});

test('killed servers get tablets when they start again', async () => {
  const small = { ...PLAN, before: 1, after: 2 };
  const plan = failurePlan(small, { servers: 3, detectionSeconds: 0.5, logBytes: 1e6 });
  const tablets: number[] = [];
  const disturb: typeof plan.disturb = async (cluster, beginMs) => {
    await plan.disturb?.(cluster, beginMs);
    tablets.push(...cluster.tabletServers.map((server) => cluster.tablets.of(server).length));
  };
  const { wrong } = await simulateBrokerage({ ...plan, disturb });
  assert.deepEqual(wrong, []);
  assert.equal(tablets.length, 3);
  assert.ok(Math.min(...tablets) > 0, `tablets of each server: ${tablets.join()}`);
});

test('killed servers start again no sooner than two detection times after the kill', () => {
  for (const name of ['paper-2010', 'hbase', 'cloud-bigtable']) {
    const loaded = loadCalibration(name);
    const plan = { ...PLAN, loaded, after: 60 };
    for (const variant of variantsOf(loaded.calibration, true)) {
      const restartSeconds = 0.8 * secondsAfter(plan, variant); // RESTART_SHARE of figure-10.ts.
      assert.ok(restartSeconds >= 2 * variant.detectionSeconds, name);
      assert.equal(failurePlan(plan, variant).seconds, secondsAfter(plan, variant));
      const point = { ...POINT, ...variant };
      const [chart] = figure10Findings(plan, [point]).charts;
      assert.match(chart?.caption ?? '', new RegExp(` again after ${restartSeconds.toFixed(0)} s`));
      assert.equal(chart?.series[0]?.points.length, plan.before + secondsAfter(plan, variant));
    }
  }
  assert.equal(secondsAfter({ after: 60 }, { detectionSeconds: 12 }), 60);
});
