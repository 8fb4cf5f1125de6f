/** The search for a plan, on clusters whose behaviour is a formula, and what a real trial counts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadCalibration } from '../calibration/load.ts';
import type { KindUsage, Usage } from '../cluster.ts';
import { demandsOf, firstFull, partsOf, sizeFor } from './parts.ts';
import { type Plan, planCluster } from './plan.ts';
import type { PlanRequest } from './request.ts';
import { TooSlow } from './search.ts';
import { timesOf } from './sureness.ts';
import { crawlWorkload, type Outcome, type Trial, type Workload } from './trial.ts';

const loaded = loadCalibration('cloud-bigtable');
const { signal } = new AbortController();

/** Processors of a server that a unit takes, and those of a worker. */
const SERVER_PER_UNIT = 0.001;
const WORKER_PER_UNIT = 0.0005;

/** Latency grows with how busy the servers are, as in a queue. */
function formula(
  change: Partial<{
    readonly serverPerUnit: (trial: Trial) => number;
    readonly latencyMs: (busy: number, trial: Trial) => number;
  }> = {},
): Workload & { readonly trials: Trial[] } {
  const { serverPerUnit = () => SERVER_PER_UNIT, latencyMs = (busy) => 10 / (1 - busy) } = change;
  const trials: Trial[] = [];
  return {
    trials,
    unit: 'documents',
    workerKind: 'worker',
    hasWorkers: true,
    mutationsPerUnit: 60,
    simulatedPerSecond: 1e9,
    warmUpSeconds: 1,
    simulate: (trial) => {
      trials.push(trial);
      const servers = (trial.perSecond * serverPerUnit(trial)) / trial.tabletServers;
      const workers = (trial.perSecond * WORKER_PER_UNIT) / trial.workers;
      const busy = Math.max(servers, workers);
      const over = Math.max(1, busy);
      const latency = busy >= 1 ? Infinity : latencyMs(busy, trial);
      return Promise.resolve({
        keptUp: busy < 1,
        completedPerSecond: trial.perSecond / over,
        latencyMs: { 50: latency / 2, 90: latency, 99: 2 * latency },
        usage: usageOf(trial, servers / over, workers / over),
        runs: 0,
      });
    },
  };
}

function usageOf({ tabletServers, workers }: Trial, server: number, worker: number): Usage {
  const kind = (name: KindUsage['kind'], machines: number, cores: number): KindUsage => ({
    kind: name,
    machines,
    cores,
    disks: 0,
    cards: 0,
    coresMax: cores,
    disksMax: 0,
    coreWaitMeanUs: 0,
    diskWaitMeanUs: 0,
    backlogUs: 0,
  });
  const none = {
    sent: 1,
    answered: 1,
    lost: 0,
    rows: 1,
    cells: 1,
    bytes: 100,
    latencyUs: 0,
    serverUs: 100,
    clientUs: 50,
    misses: 0,
  };
  return {
    seconds: 1,
    kinds: [
      kind('tablet server', tabletServers, server),
      kind('worker', workers, worker),
      kind('oracle', 1, 0.5),
      kind('lock service', 1, 0.01),
    ],
    calls: { read: none, mutate: none, conditionalMutate: none, scan: none },
    inFlight: 0,
    timestamps: 100,
    oracleCalls: 10,
    lockCalls: 1,
    maintenanceUs: 0,
    events: 0,
  };
}

async function planOf(workload: Workload, given: Partial<PlanRequest> = {}): Promise<Plan> {
  const found = await planCluster(requestOf(workload, given));
  assert.ok(!(found instanceof TooSlow));
  return found;
}

function requestOf(workload: Workload, given: Partial<PlanRequest>): PlanRequest {
  return {
    loaded,
    workload,
    load: 10_000,
    latencyMs: 1_000,
    percentile: '90',
    margin: 0.3,
    checkSeconds: 100,
    seed: 1,
    signal,
    onTrial: () => {},
    ...given,
  };
}

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

test('a percentile that no cluster can have is said', async () => {
  const found = await planCluster(requestOf(formula(), { latencyMs: 9 }));
  assert.ok(found instanceof TooSlow);
  assert.ok(found.outcome.keptUp && found.busyMax < 0.1);
  const [almost, far] = [formula(), formula()];
  await planCluster(requestOf(almost, { latencyMs: 9 }));
  await planCluster(requestOf(far, { latencyMs: 1 }));
  assert.ok(almost.trials.length > 2);
  assert.equal(far.trials.length, 1);
});

test('what a unit takes may depend on the size: a cache that many servers have', async () => {
  const serverPerUnit = ({ tabletServers, share }: Trial): number =>
    SERVER_PER_UNIT * (tabletServers / share < 28 ? 4 : 1);
  const { size } = await planOf(formula({ serverPerUnit }));
  // 15 would do if they had the cache, and 58 without it; the least that has it is 28.
  assert.ok(size.tabletServers >= 28 && size.tabletServers <= 32, String(size.tabletServers));
});

test('a whole cluster that is slower than its part grows', async () => {
  const latencyMs = (busy: number, { share }: Trial): number => (share < 1 ? 10 : 400) / (1 - busy);
  const { size, isFastEnough, check } = await planOf(formula({ latencyMs }));
  assert.ok(isFastEnough);
  assert.ok(size.tabletServers > 15, String(size.tabletServers));
  assert.ok(check.outcome.latencyMs[90] <= 1_000);
});

test('without time for all of it, the largest part is checked', async () => {
  // 30,000 documents in a second of warm-up and two measured: a third of the cluster.
  const slow = { ...formula(), simulatedPerSecond: 100 };
  const { check } = await planOf(slow, { checkSeconds: 100 });
  assert.ok(check.share > 0.25 && check.share < 0.5, String(check.share));
  const { check: none } = await planOf(slow, { checkSeconds: 0 });
  assert.ok(none.share <= check.share && none.outcome.keptUp);
});

test('an oracle is full of timestamps, not of calls', () => {
  const outcome: Outcome = {
    keptUp: true,
    completedPerSecond: 100,
    latencyMs: { 50: 1, 90: 1, 99: 1 },
    usage: usageOf({ tabletServers: 2, workers: 1 } as Trial, 0.5, 0.1),
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

test('a trial of the real engine counts the work that it asks of servers and clients', async () => {
  const workload = crawlWorkload({
    repository: 20_000,
    concurrency: 16,
    scanRest: 20,
    hasWorkers: true,
  });
  const trial = { tabletServers: 2, workers: 1, perSecond: 200, share: 1, units: 100, seed: 1 };
  const { calibration } = loaded;
  const outcome = await workload.simulate({ ...trial, calibration }, signal);
  assert.ok(outcome.keptUp && outcome.runs > 0 && outcome.runs < 1);
  const counted = Object.values(outcome.usage.calls).reduce((sum, one) => sum + one.serverUs, 0);
  const { serverUs } = timesOf(outcome.usage, calibration);
  assert.ok(Math.abs(serverUs / counted - 1) < 0.03, `${serverUs} instead of ${counted}`);
});
