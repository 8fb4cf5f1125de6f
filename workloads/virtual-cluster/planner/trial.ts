/**
 * A trial: a cluster in virtual time under a load, and what it says about latency and machines.
 *
 * A workload turns a trial into a simulation of the real engine: the crawl of figure 7, or the
 * brokerage of figure 9.
 */
import { DOCUMENT_BYTES } from '../figure-7/measure.ts';
import type { Calibration } from '../calibration/calibration.ts';
import type { MachineKind, Usage } from '../cluster.ts';
import { type BrokerageResult, brokerageOf } from '../figure-9/brokerage.ts';
import { performInThread } from '../simulations.ts';

/** How many machines, of which kind. */
export interface Size {
  readonly tabletServers: number;
  /** 0: workers run on the machines of the tablet servers. */
  readonly workers: number;
}

export interface Trial extends Size {
  readonly calibration: Calibration;
  /** Units of load a second. */
  readonly perSecond: number;
  /** The part of the planned cluster that is tried: it has that part of load and repository. */
  readonly share: number;
  /** Units that are measured, about. */
  readonly units: number;
  readonly seed: number;
}

export const PERCENTILES = ['50', '90', '99'] as const;
export type Percentile = (typeof PERCENTILES)[number];

export interface Outcome {
  readonly keptUp: boolean;
  /** Units a second that were completed. */
  readonly completedPerSecond: number;
  readonly latencyMs: Readonly<Record<Percentile, number>>;
  readonly usage: Usage;
  /** Observer runs in flight, as a share of those that workers may have; 0 without observers. */
  readonly runs: number;
}

export interface Workload {
  /** What the load consists of, in the plural. */
  readonly unit: 'documents' | 'Trade-Results';
  /** The machines on which the engine runs, if it has machines of its own. */
  readonly workerKind: MachineKind;
  readonly hasWorkers: boolean;
  /** Conditional mutations that a unit costs a tablet server, at most: for the first trial. */
  readonly mutationsPerUnit: number;
  /** Units that one core of this machine simulates in a second; a guess. */
  readonly simulatedPerSecond: number;
  readonly warmUpSeconds: number;
  /** A trial takes at least this long, in virtual seconds. */
  readonly secondsMin: number;
  /** @throws Error if the simulated cluster has done something wrong */
  simulate(trial: Trial, signal: AbortSignal): Promise<Outcome>;
}

/**
 * In a shorter time the scanners' pauses decide the result; in a longer one most of the work is
 * idle scans.
 */
const SECONDS_MIN = 1.5;
const SECONDS_MAX = 60;
/** A crawl is measured for this many rests of a worker: in less time, all may rest throughout. */
const RESTS_MIN = 3;
/** Units that a trial measures in any case, however long they take to arrive. */
const UNITS_MIN = 10;

/** Virtual seconds that a trial measures. */
export function secondsOf(
  { units, perSecond }: Pick<Trial, 'units' | 'perSecond'>,
  { secondsMin }: Pick<Workload, 'secondsMin'>,
): number {
  const seconds = Math.min(SECONDS_MAX, units / perSecond);
  return Math.max(seconds, UNITS_MIN / perSecond, secondsMin);
}

interface CrawlSettings {
  /** Documents in the repository before the crawl. */
  readonly repository: number;
  readonly concurrency: number;
  readonly scanRest: number;
  /** Whether workers have machines of their own. */
  readonly hasWorkers: boolean;
}

/**
 * For each document that arrives in a trial, this many are in memory and stand for the repository.
 */
const IN_MEMORY_PER_ARRIVAL = 10;
const IN_MEMORY = { min: 50_000, max: 4_000_000 };
/** About how many documents are in the history that is judged. */
const JUDGED_DOCUMENTS = 1_000;

export function crawlWorkload(settings: CrawlSettings): Workload {
  const { repository, concurrency, scanRest, hasWorkers } = settings;
  const warmUpSeconds = 1;
  const secondsMin = Math.max(SECONDS_MIN, (RESTS_MIN * scanRest) / 1_000);
  return {
    unit: 'documents',
    workerKind: 'worker',
    hasWorkers,
    mutationsPerUnit: 60,
    simulatedPerSecond: 1_500,
    warmUpSeconds,
    secondsMin,
    simulate: async (trial, signal) => {
      const { calibration, tabletServers, workers, perSecond, share, seed } = trial;
      const seconds = secondsOf(trial, { secondsMin });
      const arriving = perSecond * (warmUpSeconds + seconds);
      const whole = Math.max(1, Math.round(repository * share));
      const inMemory = Math.round(
        Math.min(IN_MEMORY.max, Math.max(IN_MEMORY.min, IN_MEMORY_PER_ARRIVAL * arriving)),
      );
      const documents = Math.min(whole, inMemory);
      const result = await performInThread(
        {
          kind: 'crawl',
          documents: { repository: documents, documentBytes: DOCUMENT_BYTES, seed },
          plan: {
            calibration: withWorkers(calibration, workers),
            tabletServers,
            scale: whole / documents,
            perSecond,
            warmUp: warmUpSeconds,
            seconds,
            concurrency,
            scanRest,
            historyShare: Math.max(1, Math.round(arriving / JUDGED_DOCUMENTS)),
            seed,
          },
        },
        signal,
      );
      const { completedPerSecond, growth, latency, usage, wrong, runsInFlight } = result;
      refuseWrong(wrong);
      return {
        keptUp: !growth.isSaturated && latency !== null,
        completedPerSecond,
        latencyMs: {
          50: latency?.medianMs ?? Infinity,
          90: latency?.p90Ms ?? Infinity,
          99: latency?.p99Ms ?? Infinity,
        },
        usage,
        runs: runsInFlight / (concurrency * (hasWorkers ? workers : tabletServers)),
      };
    },
  };
}

function withWorkers(calibration: Calibration, workerMachines: number): Calibration {
  return { ...calibration, cluster: { ...calibration.cluster, workerMachines } };
}

export function brokerageWorkload(): Workload {
  const warmUpSeconds = 5;
  return {
    unit: 'Trade-Results',
    workerKind: 'client',
    hasWorkers: true, // Customers do not run on the store's machines.
    mutationsPerUnit: 2_000,
    simulatedPerSecond: 50,
    warmUpSeconds,
    secondsMin: SECONDS_MIN,
    simulate: async (trial, signal) => {
      const { calibration, tabletServers, workers, perSecond, seed } = trial;
      const result = await performInThread(
        {
          kind: 'brokerage',
          plan: {
            calibration,
            seed,
            tabletServers,
            clients: workers,
            tradeResultsPerSecond: perSecond,
            ...brokerageOf(perSecond),
            warmUp: warmUpSeconds,
            seconds: secondsOf(trial, { secondsMin: SECONDS_MIN }),
            isChecked: true,
          },
        },
        signal,
      );
      return brokerageOutcome(result);
    },
  };
}

/** @throws Error if the simulated cluster has done something wrong, even if it did not keep up */
export function brokerageOutcome(result: BrokerageResult): Outcome {
  const { saturation, tradeResultsPerSecond, medianMs, p90Ms, p99Ms, usage, wrong } = result;
  refuseWrong(wrong);
  return {
    keptUp: saturation === null,
    completedPerSecond: tradeResultsPerSecond,
    latencyMs: { 50: medianMs, 90: p90Ms, 99: p99Ms },
    usage,
    runs: 0,
  };
}

function refuseWrong(wrong: readonly string[]): void {
  if (wrong.length > 0) throw new Error(`the simulated cluster is wrong: ${wrong.join('; ')}`);
}
