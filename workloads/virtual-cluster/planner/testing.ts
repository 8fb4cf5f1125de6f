/** For tests of the planner: a workload whose clusters behave by a formula, and requests for it. */
import assert from 'node:assert/strict';
import { type LoadedCalibration, loadCalibration } from '../calibration/load.ts';
import type { Usage } from '../usage.ts';
import { kindUsage, usageOf } from '../usage.fixture.ts';
import { FullBelowLoad, type ClusterPlan, planCluster } from './plan.ts';
import { type PlanRequest, TooSlow } from './search.ts';
import type { Trial, Workload } from './trial.ts';

export const loaded: LoadedCalibration = loadCalibration('cloud-bigtable');
export const signal: AbortSignal = new AbortController().signal;

/** Seconds of a server's processors that a unit takes, and of a worker's. */
export const SERVER_PER_UNIT = 0.001;
const WORKER_PER_UNIT = 0.0005;

/** Latency grows with how busy the servers are, as in a queue. */
export function formula(
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
    secondsMin: 1.5,
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
        usage: trialUsage(trial, servers / over, workers / over),
        runs: 0,
      });
    },
  };
}

export function trialUsage(
  { tabletServers, workers }: Trial,
  server: number,
  worker: number,
): Usage {
  const counted = { sent: 1, answered: 1, lost: 0, rows: 1, cells: 1, bytes: 100 };
  const calls = { ...counted, latencyUs: 0, serverUs: 100, clientUs: 50, misses: 0 };
  const kinds = [
    kindUsage('tablet server', tabletServers, server),
    kindUsage('worker', workers, worker),
    kindUsage('oracle', 1, 0.5),
    kindUsage('lock service', 1, 0.01),
  ];
  return usageOf(kinds, {
    calls: { read: calls, mutate: calls, conditionalMutate: calls, scan: calls },
    timestamps: 100,
    oracleCalls: 10,
    lockCalls: 1,
  });
}

export async function planOf(
  workload: Workload,
  given: Partial<PlanRequest> = {},
): Promise<ClusterPlan> {
  const found = await planCluster(requestOf(workload, given));
  assert.ok(!(found instanceof TooSlow || found instanceof FullBelowLoad));
  return found;
}

export function requestOf(workload: Workload, given: Partial<PlanRequest>): PlanRequest {
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
