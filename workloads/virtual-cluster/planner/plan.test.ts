/**
 * The search for a plan, on clusters whose behaviour is a formula, and what a real trial counts.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LoadedCalibration, parseCalibration } from '../calibration/load.ts';
import { keptCalibration } from '../testing.ts';
import { kindUsage, usageOf } from '../usage.fixture.ts';
import {
  crawlWorkload,
  demandsOf,
  firstFull,
  partsOf,
  secondsOf,
  sizeFor,
  type Trial,
  type TrialOutcome,
  type Workload,
} from './trial.ts';
import { alternativesTo, FullBelowLoad, planCluster, timesOf } from './plan.ts';
import { partOf, TooSlow } from './search.ts';
import {
  formula,
  loaded,
  planOf,
  requestOf,
  SERVER_PER_UNIT,
  signal,
  trialUsage,
} from './testing.ts';

test('machines are the load times what a unit takes, with the margin, and all of them are checked', async () => {
  const workload = formula();
  const { size, decidedBy, check, parts, isFastEnough } = await planOf(workload);
  assert.deepEqual(size, { tabletServers: 15, workers: 8 }); // 10 / 0.7 and 5 / 0.7
  assert.equal(decidedBy, 'margin');
  assert.ok(isFastEnough);
  assert.deepEqual([check.share, check.size], [1, size]);
  const [servers] = parts;
  assert.ok(Math.abs((servers?.busy ?? 0) - 10 / 15) < 1e-9);
  assert.ok(Math.abs((servers?.fullAt ?? 0) - 15_000) < 1e-6);
  const last = workload.trials.at(-1);
  assert.deepEqual([last?.tabletServers, last?.workers, last?.perSecond], [15, 8, 10_000]);
});

test('where a busy cluster is too slow, the latency decides', async () => {
  const { size, decidedBy, busyMax, check } = await planOf(formula(), { latencyMs: 20 });
  assert.equal(decidedBy, 'latency');
  assert.ok(busyMax < 0.7 && busyMax > 0.3, String(busyMax));
  assert.ok(size.tabletServers >= 20 && size.tabletServers < 32, String(size.tabletServers));
  assert.ok(check.outcome.latencyMs[90] <= 20);
});

test('a latency that no cluster reaches has no plan, and one trial shows it if the latency is far too low', async () => {
  const found = await planCluster(requestOf(formula(), { latencyMs: 9 }));
  assert.ok(found instanceof TooSlow);
  assert.ok(found.outcome.keptUp && found.busyMax < 0.1 && found.busyMax > 0.05);
  const [almost, far] = [formula(), formula()];
  await planCluster(requestOf(almost, { latencyMs: 9 }));
  await planCluster(requestOf(far, { latencyMs: 1 }));
  assert.ok(almost.trials.length > 2);
  assert.equal(far.trials.length, 1);
});

test('a trial in which nothing is completed ends the search', async () => {
  for (const trials of [0, 1]) {
    const workload = formula();
    const simulate: Workload['simulate'] = async (trial, ending) => {
      const outcome = await workload.simulate(trial, ending);
      const isStuck = workload.trials.length > trials;
      return isStuck ? { ...outcome, completedPerSecond: 0 } : outcome;
    };
    const found = await planCluster(requestOf({ ...workload, simulate }, {}));
    assert.ok(found instanceof TooSlow);
    assert.ok(workload.trials.every(({ workers, perSecond }) => workers > 0 && perSecond > 0));
  }
});

test('a first trial that asks too much of a few machines is repeated with less', async () => {
  const heavy = formula({ serverPerUnit: () => 0.2 });
  const { size } = await planOf(heavy);
  assert.equal(size.tabletServers, Math.ceil((10_000 * 0.2) / 0.7));
  const [first, second] = heavy.trials;
  assert.ok((first?.perSecond ?? 0) * 0.2 > 4, 'the first trial has too few machines');
  assert.ok((second?.perSecond ?? 0) * 0.2 < 4);

  const impossible = formula({ serverPerUnit: () => 1e9 });
  const found = await planCluster(requestOf(impossible, {}));
  assert.ok(found instanceof TooSlow);
  assert.equal(found.outcome.keptUp, false);
});

test('a cluster that is too slow is reported as busy as its busiest part', async () => {
  const disks = formula({ latencyMs: () => 1e6 });
  const withDisks = {
    ...disks,
    simulate: async (trial: Trial) => {
      const outcome = await disks.simulate(trial, signal);
      const kinds = outcome.usage.kinds.map((kind) =>
        kind.kind === 'tablet server' ? { ...kind, disks: 0.8 } : kind,
      );
      return { ...outcome, usage: { ...outcome.usage, kinds }, runs: 0.2 };
    },
  };
  const found = await planCluster(requestOf(withDisks, {}));
  assert.ok(found instanceof TooSlow);
  assert.equal(found.busyMax, 0.8);
});

test('a part has at least as many machines of each kind as it should, and its share of the load', () => {
  for (let tabletServers = 4; tabletServers < 400; tabletServers++) {
    for (const least of [4, Math.ceil(tabletServers / 2)]) {
      const size = { tabletServers, workers: tabletServers };
      const part = partOf(requestOf(formula(), {}), size, { tabletServers: least, workers: 2 });
      assert.deepEqual([part.tabletServers, part.workers], [least, least], String(tabletServers));
      assert.equal(part.share, least / tabletServers);
    }
  }
});

test('a trial is short where much arrives, and long enough for some units where little does', () => {
  assert.equal(secondsOf({ units: 3_000, perSecond: 1e6 }, { secondsMin: 1.5 }), 1.5);
  assert.equal(secondsOf({ units: 3_000, perSecond: 200 }, { secondsMin: 1.5 }), 15);
  assert.equal(secondsOf({ units: 3_000, perSecond: 1 }, { secondsMin: 1.5 }), 60);
  assert.equal(secondsOf({ units: 3_000, perSecond: 0.01 }, { secondsMin: 1.5 }), 1_000);
});

test('what a unit takes may depend on the size: a cache that many servers have', async () => {
  const serverPerUnit = ({ tabletServers, share }: Trial): number =>
    SERVER_PER_UNIT * (tabletServers / share < 28 ? 4 : 1);
  const { size } = await planOf(formula({ serverPerUnit }));
  // 15 would do if they had the cache, and 58 without it; the fewest that have it are 28.
  assert.ok(size.tabletServers >= 28 && size.tabletServers <= 32, String(size.tabletServers));
});

test('a whole cluster that is slower than its part grows', async () => {
  const latencyMs = (busy: number, { share }: Trial): number => (share < 1 ? 10 : 400) / (1 - busy);
  const plan = await planOf(formula({ latencyMs }));
  const { size, isFastEnough, check, decidedBy, busyMax } = plan;
  assert.ok(isFastEnough);
  assert.equal(decidedBy, 'latency');
  assert.ok(Math.abs(busyMax - (0.7 * 15) / size.tabletServers) < 1e-9, String(busyMax));
  assert.ok(size.tabletServers > 15, String(size.tabletServers));
  assert.ok(check.outcome.latencyMs[90] <= 1_000);
});

test('without time to check the whole cluster, the largest part that there is time for is checked', async () => {
  // 25,000 documents in a second of warm-up and 1.5 measured: two fifths of the cluster.
  const slow = { ...formula(), simulatedPerSecond: 100 };
  const { check } = await planOf(slow, { checkSeconds: 100 });
  assert.deepEqual([check.share, check.size], [6 / 15, { tabletServers: 6, workers: 3 }]);
  const before = slow.trials.length;
  const { check: none } = await planOf(slow, { checkSeconds: 0 });
  // Only the search has run: a trial of a few machines, and one of the smallest part.
  assert.equal(slow.trials.length - before, 2);
  assert.deepEqual([none.share, none.size], [4 / 15, { tabletServers: 4, workers: 2 }]);
});

test('an oracle is full of timestamps, not of calls', () => {
  const outcome: TrialOutcome = {
    keptUp: true,
    completedPerSecond: 100,
    latencyMs: { 50: 1, 90: 1, 99: 1 },
    usage: trialUsage({ tabletServers: 2, workers: 1 } as Trial, 0.5, 0.1),
    runs: 0,
  };
  const demands = demandsOf(outcome, formula(), loaded.calibration);
  const parts = partsOf(1_000, sizeFor(1_000, demands, { busyMax: 1, hasWorkers: true }), demands);
  const oracle = parts.find(({ place }) => place === 'oracle');
  assert.equal(oracle?.busy, 1); // Half of it at a tenth of the load.
  const { perTimestampUs, cores } = loaded.calibration.oracle;
  assert.ok(Math.abs((oracle?.fullAt ?? 0) - (1e6 * cores) / perTimestampUs) < 1);
  assert.equal(firstFull(parts).place, 'tablet servers');
});

test('a load at which the one oracle is full has no plan, and nothing is checked', async () => {
  const { perTimestampUs, cores } = loaded.calibration.oracle;
  const perUnit = (1e6 * cores) / perTimestampUs / 9_000; // It is full at 9,000 units a second.
  const workload = formula();
  const withTimestamps = {
    ...workload,
    simulate: async (trial: Trial) => {
      const outcome = await workload.simulate(trial, signal);
      const timestamps = perUnit * outcome.completedPerSecond;
      return { ...outcome, usage: { ...outcome.usage, timestamps } };
    },
  };
  const found = await planCluster(requestOf(withTimestamps, {}));
  assert.ok(found instanceof FullBelowLoad);
  assert.deepEqual([found.part.place, Math.round(found.part.fullAt)], ['oracle', 9_000]);
  assert.ok(workload.trials.every(({ share }) => share < 1));
  const { parts } = await planOf(withTimestamps, { load: 8_900 });
  assert.equal(firstFull(parts).place, 'oracle');
});

test('an assumed number is listed with the plans for half and twice of it, if it changes the machines', async () => {
  const { alternatives, size } = await planOf(formula());
  const of = (place: string) => alternatives.find((one) => one.place === place);
  // Half of one core is one core.
  assert.deepEqual(of('cluster.tabletServerCores'), {
    place: 'cluster.tabletServerCores',
    halved: size,
    doubled: { ...size, tabletServers: 8 },
  });
  assert.deepEqual(of('cluster.workerCores'), {
    place: 'cluster.workerCores',
    halved: { ...size, workers: 15 },
    doubled: { ...size, workers: 4 },
  });
  const calls = of('storage.call.fixed.serverUs');
  assert.ok((calls?.halved.tabletServers ?? 0) < size.tabletServers);
  assert.ok((calls?.doubled.tabletServers ?? 0) > size.tabletServers);
  assert.equal(of('log.wait.medianUs'), undefined, 'which only moves latencies');
  const most = alternatives.map(({ halved, doubled }) =>
    Math.max(halved.tabletServers + halved.workers, doubled.tabletServers + doubled.workers),
  );
  assert.deepEqual(
    most,
    most.toSorted((a, b) => b - a),
  );
});

/** The calibration, with calls that cost one side nothing. */
function freeOn(side: 'server' | 'client'): LoadedCalibration {
  const text = JSON.stringify(loaded.entries, (key, node: unknown) => {
    const isServers = key === 'writtenByteNs' || key === 'missCpuUs';
    const isFree = key === `${side}Us` || key === `${side}Ns` || (side === 'server' && isServers);
    return isFree ? { ...(node as object), value: 0 } : node;
  });
  const numbers = JSON.parse(text) as unknown;
  return parseCalibration({ name: 'free', about: 'a test', numbers }, 'a test');
}

test('other plans have whole machines, even if calls cost one side nothing', async () => {
  for (const side of ['server', 'client'] as const) {
    const { alternatives } = await planOf(formula(), { loaded: freeOn(side) });
    assert.ok(alternatives.length > 0);
    for (const { place, halved, doubled } of alternatives) {
      const machines = [halved, doubled].flatMap(({ tabletServers, workers }) => [
        tabletServers,
        workers,
      ]);
      assert.ok(machines.every(Number.isInteger), `${side}, ${place}: ${machines.join()}`);
    }
  }
});

test('where the machines that tablet servers and workers share did nothing in the trial, only the number of cores changes the plan', () => {
  const each = { resource: 'processors', perUnit: 1e-3, perUnitWhenFull: 1e-3 } as const;
  const alternatives = alternativesTo({
    loaded,
    load: 10_000,
    demands: [{ place: 'tablet servers', ...each }],
    usage: usageOf([kindUsage('tablet server', 2, 0)]),
    busyMax: 0.7,
    hasWorkers: false,
  });
  assert.deepEqual(
    alternatives.map(({ place, doubled }) => [place, doubled.tabletServers]),
    [['cluster.tabletServerCores', 8]],
  );
});

for (const name of ['cloud-bigtable', 'this-machine']) {
  test(`a trial of the real engine counts the work of servers and clients at the costs of ${name}`, async () => {
    const workload = crawlWorkload({
      repository: 20_000,
      concurrency: 16,
      scanRest: 20,
      hasWorkers: true,
    });
    const trial = { tabletServers: 2, workers: 1, perSecond: 200, share: 1, units: 100, seed: 1 };
    const { calibration } = keptCalibration(name);
    const { keptUp, runs, usage } = await workload.simulate({ ...trial, calibration }, signal);
    assert.ok(keptUp && runs > 0 && runs < 1);
    const times = timesOf({ ...usage, oracleCalls: 0, lockCalls: 0 }, calibration);
    for (const side of ['serverUs', 'clientUs'] as const) {
      const counted = Object.values(usage.calls).reduce((sum, one) => sum + one[side], 0);
      assert.ok(
        Math.abs(times[side] / counted - 1) < 0.03,
        `${side}: ${times[side]} instead of ${counted}`,
      );
    }
  });
}
