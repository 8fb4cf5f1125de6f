/**
 * A trial: a cluster in virtual time under a load, and what it says about latency and machines.
 *
 * A workload turns a trial into a simulation of the real engine: the crawl of figure 7, or the
 * brokerage of figure 9.
 */
import type { Calibration } from '../calibration/calibration.ts';
import type { KindUsage, MachineKind, Usage } from '../cluster.ts';
import { DOCUMENT_BYTES } from '../figure-7/measure.ts';
import { brokerageOf, type BrokerageResult } from '../figure-9/brokerage.ts';
import { performInThread } from '../simulations.ts';

/** How many machines, of which kind. */
export interface TrialSize {
  readonly tabletServers: number;
  /** 0: workers run on the machines of the tablet servers. */
  readonly workers: number;
}

export interface Trial extends TrialSize {
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

export interface TrialOutcome {
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
  simulate(trial: Trial, signal: AbortSignal): Promise<TrialOutcome>;
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
export function brokerageOutcome(result: BrokerageResult): TrialOutcome {
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

/*
 * The parts of a cluster that can be full, and how much of each a unit of load takes.
 *
 * A demand of 0.01 for processors means that half of one machine's processors are busy at a load of
 * 50 units a second. So a load needs load × demand machines that are busy all the time, and more if
 * each is to be free for some of the time.
 */

export type PartPlace = 'tablet servers' | 'workers' | 'oracle' | 'lock service';

export interface Demand {
  readonly place: PartPlace;
  /** `observer runs`: a worker has a limited number in flight. */
  readonly resource: 'processors' | 'disks' | 'network' | 'observer runs';
  /** Machines that are busy all the time for a load of one unit a second. */
  readonly perUnit: number;
  /** The same without work that shrinks when the part is busy; decides when the part is full. */
  readonly perUnitWhenFull: number;
}

/** What a trial took of each part. */
export function demandsOf(
  { usage, completedPerSecond, runs }: TrialOutcome,
  { workerKind, hasWorkers }: Workload,
  { oracle }: Calibration,
): readonly Demand[] {
  const of = (kind: string): KindUsage | undefined => usage.kinds.find((one) => one.kind === kind);
  const demand = (
    place: PartPlace,
    kind: string,
    resource: Demand['resource'] = 'processors',
  ): Demand => {
    const found = of(kind);
    const shares = {
      processors: found?.cores,
      disks: found?.disks,
      network: found?.cards,
      'observer runs': runs,
    };
    const perUnit = ((shares[resource] ?? 0) * (found?.machines ?? 0)) / completedPerSecond;
    return { place, resource, perUnit, perUnitWhenFull: perUnit };
  };
  const timestamps = usage.timestamps / usage.seconds / completedPerSecond;
  return [
    demand('tablet servers', 'tablet server'),
    demand('tablet servers', 'tablet server', 'disks'),
    demand('tablet servers', 'tablet server', 'network'),
    ...(hasWorkers
      ? [demand('workers', workerKind), demand('workers', workerKind, 'network')]
      : []),
    ...(runs === 0
      ? []
      : [
          hasWorkers
            ? demand('workers', workerKind, 'observer runs')
            : demand('tablet servers', 'tablet server', 'observer runs'),
        ]),
    // Each worker asks again as soon as it is answered, for all timestamps that it then needs. So a
    // busy oracle gets fewer and larger requests; it is full when timestamps alone take all its
    // time.
    {
      ...demand('oracle', 'oracle'),
      perUnitWhenFull: (timestamps * oracle.perTimestampUs) / 1e6 / oracle.cores,
    },
    demand('lock service', 'lock service'),
  ];
}

/**
 * The fewest tablet servers and workers whose resources are each busy for at most `busyMax` of the
 * time. The oracle and the lock service are one machine each, whatever the load, and may be busier.
 */
export function sizeFor(
  load: number,
  demands: readonly Demand[],
  { busyMax, hasWorkers }: { readonly busyMax: number; readonly hasWorkers: boolean },
): TrialSize {
  const machines = (place: PartPlace): number => {
    const most = Math.max(
      ...demands.filter((one) => one.place === place).map(({ perUnit }) => perUnit),
    );
    return Math.max(1, Math.ceil((load * most) / busyMax - ROUNDING));
  };
  return {
    tabletServers: machines('tablet servers'),
    workers: hasWorkers ? machines('workers') : 0,
  };
}

/** Without it, 5 machines that a rounding error makes 5.000000001 would be six. */
const ROUNDING = 1e-6;

export interface Part extends Pick<Demand, 'place' | 'resource'> {
  readonly machines: number;
  /** Share of the time, at the given load; at most 1. */
  readonly busy: number;
  /** The load, in units a second, at which the part works all the time. */
  readonly fullAt: number;
}

export function partsOf(
  load: number,
  size: TrialSize,
  demands: readonly Demand[],
): readonly Part[] {
  const machinesOf: Readonly<Record<PartPlace, number>> = {
    'tablet servers': size.tabletServers,
    workers: size.workers,
    oracle: 1,
    'lock service': 1,
  };
  return demands.map(({ place, resource, perUnit, perUnitWhenFull }) => {
    const machines = machinesOf[place];
    return {
      place,
      resource,
      machines,
      busy: Math.min(1, (load * perUnit) / machines),
      fullAt: machines / perUnitWhenFull,
    };
  });
}

/** The part that is full at the lowest load. */
export function firstFull(parts: readonly Part[]): Part {
  const [first, ...others] = parts;
  if (first === undefined) throw new Error('a cluster has parts');
  return others.reduce((least, one) => (one.fullAt < least.fullAt ? one : least), first);
}
