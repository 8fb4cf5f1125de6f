/**
 * Finds the machines for a load by a series of trials, each of a share of the cluster: how busy
 * does a unit of load keep processors, disks and network, and how many machines does the whole load
 * then need?
 */
import type { LoadedCalibration } from '../calibration/load.ts';
import {
  type Demand,
  demandsOf,
  type Percentile,
  sizeFor,
  type Trial,
  type TrialOutcome,
  type TrialSize,
  type Workload,
} from './trial.ts';

export interface LimitCheck {
  /**
   * Share of the load, and of the machines planned before this trial; 1 for all. `Found.size` may
   * have some machines more.
   */
  readonly share: number;
  /** The machines of the trial. */
  readonly size: TrialSize;
  readonly outcome: TrialOutcome;
}

export interface FoundCluster {
  readonly size: TrialSize;
  /** Share of the time that a tablet server or worker was planned to be busy, at most. */
  readonly busyMax: number;
  /** From the last trial. */
  readonly demands: readonly Demand[];
  readonly usage: TrialOutcome['usage'];
  /** Of the last trial. */
  readonly check: LimitCheck;
}

/**
 * No such cluster was found: the last trial did not keep up, or was too slow although its machines
 * had little to do.
 */
export class TooSlow {
  readonly outcome: TrialOutcome;
  /**
   * How busy the busiest part of the tablet servers and workers was in that trial, as a share of
   * the time.
   */
  readonly busyMax: number;

  constructor(outcome: TrialOutcome, { workerKind }: Workload) {
    const kinds = outcome.usage.kinds.filter(
      ({ kind }) => kind === 'tablet server' || kind === workerKind,
    );
    this.outcome = outcome;
    this.busyMax = Math.max(
      outcome.runs,
      ...kinds.flatMap(({ cores, disks, cards }) => [cores, disks, cards]),
    );
  }
}

/** Machines of each kind in a trial of a part: few, but more than one. */
const SMALL: TrialSize = { tabletServers: 4, workers: 2 };
const ROUNDS_MAX = 12;
/** A plan that changes by a smaller share is the same. */
const SAME = 0.1;
/** After a trial that was too slow, the limit on how busy a part may be is multiplied by this. */
const LESS_BUSY = 0.75;
/** Where parts are less busy, little of the time is spent waiting for them. */
const BUSY_MIN = 0.1;
/** If a cluster with little to do takes this many times the latency, more machines do not help. */
const FAR_TOO_SLOW = 2;
/** First trials, each with a tenth of the load of the one before, until one keeps up. */
const FIRST_TRIALS_MAX = 3;

export async function search(request: PlanRequest): Promise<FoundCluster | TooSlow> {
  const first = await firstTrial(request);
  const { percentile, latencyMs, workload } = request;
  const isFar = !first.keptUp || first.latencyMs[percentile] > FAR_TOO_SLOW * latencyMs;
  if (isFar || first.completedPerSecond === 0) {
    return new TooSlow(first, workload);
  }
  return new ClusterSearch(request, first).run();
}

class ClusterSearch {
  readonly #request: PlanRequest;
  #busyMax: number;
  #demands: readonly Demand[];
  #size: TrialSize;
  /** The largest size that a trial has found too small. */
  #tooSmall: TrialSize = { tabletServers: 0, workers: 0 };

  constructor(request: PlanRequest, first: TrialOutcome) {
    this.#request = request;
    this.#busyMax = 1 - request.margin;
    this.#demands = this.#demandsOf(first);
    this.#size = this.#wanted();
  }

  async run(): Promise<FoundCluster | TooSlow> {
    for (let round = 1; ; round++) {
      const trial = partOf(this.#request, this.#size, SMALL);
      const outcome = await tryOut(this.#request, 'a part of the cluster', trial);
      // Without a completed unit, nothing shows what a unit takes.
      if (outcome.completedPerSecond === 0) return new TooSlow(outcome, this.#request.workload);
      this.#demands = this.#demandsOf(outcome);
      const wanted = this.#wanted();
      const isSettled = isAlike(this.#size, nextSize(this.#size, wanted, this.#tooSmall));
      if (!isSettled && round < ROUNDS_MAX) {
        this.#moveTo(wanted);
        continue;
      }
      if (isFastEnough(this.#request, outcome)) return this.#found(trial, outcome);
      if (this.#busyMax < BUSY_MIN) return new TooSlow(outcome, this.#request.workload);
      this.#busyMax *= LESS_BUSY;
      this.#moveTo(largerOf(this.#size, this.#wanted()));
    }
  }

  #demandsOf(outcome: TrialOutcome): readonly Demand[] {
    const { workload, loaded } = this.#request;
    return demandsOf(outcome, workload, loaded.calibration);
  }

  /** The size by what a unit took in the last trial. */
  #wanted(): TrialSize {
    const { load, workload } = this.#request;
    const limits = { busyMax: this.#busyMax, hasWorkers: workload.hasWorkers };
    return sizeFor(load, this.#demands, limits);
  }

  #moveTo(wanted: TrialSize): void {
    this.#tooSmall = noted(this.#tooSmall, this.#size, wanted);
    this.#size = nextSize(this.#size, wanted, this.#tooSmall);
  }

  #found({ share, tabletServers, workers }: Trial, outcome: TrialOutcome): FoundCluster {
    return {
      size: largerOf(this.#size, this.#wanted()),
      busyMax: this.#busyMax,
      demands: this.#demands,
      usage: outcome.usage,
      check: { share, size: { tabletServers, workers }, outcome },
    };
  }
}

/**
 * The sizes found too small, now with the present number of tablet servers if more are wanted, or
 * else of workers: where servers are too few, calls wait, and workers may seem too few only because
 * their runs take longer.
 */
function noted(tooSmall: TrialSize, size: TrialSize, wanted: TrialSize): TrialSize {
  if (wanted.tabletServers > size.tabletServers) {
    return { ...tooSmall, tabletServers: size.tabletServers };
  }
  return wanted.workers > size.workers ? { ...tooSmall, workers: size.workers } : tooSmall;
}

/**
 * The wanted size; but if a trial has found it too small, a size between the largest one found too
 * small and the present one. That happens because what a unit takes depends on the size: more
 * machines have more cache.
 */
function nextSize(size: TrialSize, wanted: TrialSize, tooSmall: TrialSize): TrialSize {
  const next = (kind: keyof TrialSize): number =>
    wanted[kind] > tooSmall[kind] || tooSmall[kind] === 0
      ? wanted[kind]
      : Math.ceil(Math.sqrt(tooSmall[kind] * size[kind]));
  return { tabletServers: next('tabletServers'), workers: next('workers') };
}

function largerOf(a: TrialSize, b: TrialSize): TrialSize {
  return {
    tabletServers: Math.max(a.tabletServers, b.tabletServers),
    workers: Math.max(a.workers, b.workers),
  };
}

/**
 * The outcome of a small cluster under a load that, by the calibration's costs of calls, leaves it
 * almost idle. If it does not keep up, the load is divided by ten, at most twice; the last outcome
 * may still not keep up.
 */
async function firstTrial(request: PlanRequest): Promise<TrialOutcome> {
  const { workload, loaded, load, seed } = request;
  let perSecond = Math.min(load, littleLoad(request));
  for (let tries = 1; ; tries++) {
    const outcome = await tryOut(request, 'a few machines with little to do', {
      calibration: loaded.calibration,
      tabletServers: SMALL.tabletServers,
      // As many as servers: they, too, should have little to do.
      workers: workload.hasWorkers ? SMALL.tabletServers : 0,
      perSecond,
      share: perSecond / load,
      units: UNITS[workload.unit] / 3,
      seed,
    });
    if (outcome.keptUp || tries === FIRST_TRIALS_MAX) return outcome;
    // Something other than cores is full: disks, for example.
    perSecond /= 10;
  }
}

/** The load, in units a second, that keeps a few servers about `BUSY_MIN` busy. */
function littleLoad({ workload, loaded }: PlanRequest): number {
  const { calibration } = loaded;
  const { call, conditionalMutate } = calibration.storage;
  const unitUs =
    workload.mutationsPerUnit *
    // 1 µs, because costs may be 0.
    (1 + call.fixed.serverUs + conditionalMutate.fixed.serverUs + call.fixed.clientUs);
  const cores = SMALL.tabletServers * calibration.cluster.tabletServerCores;
  return (BUSY_MIN * cores * 1e6) / unitUs;
}

function isAlike(a: TrialSize, b: TrialSize): boolean {
  const alike = (one: number, other: number): boolean =>
    Math.abs(one - other) <= SAME * Math.max(one, other);
  return alike(a.tabletServers, b.tabletServers) && alike(a.workers, b.workers);
}

/* What is asked of the planner, and trials of a part of a cluster. */

export interface PlanRequest {
  readonly loaded: LoadedCalibration;
  readonly workload: Workload;
  /** Units a second. */
  readonly load: number;
  /** The time within which `percentile` percent of the units must be done. */
  readonly latencyMs: number;
  readonly percentile: Percentile;
  /** Share of the time that tablet servers and workers are free. */
  readonly margin: number;
  /**
   * How long the check may take on this machine, about; 0: none but the last trial of the search.
   */
  readonly checkSeconds: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Told of each trial, before it. */
  readonly onTrial: (what: string, trial: Trial) => void;
}

/**
 * Units that a trial measures, about: a 99th percentile rests on 30 documents or 2 Trade-Results.
 */
export const UNITS = { documents: 3_000, 'Trade-Results': 200 };

/**
 * The smallest part of a cluster that has at least this many machines of each kind; all of it if it
 * has fewer.
 */
export function partOf(
  { workload, loaded, load, seed }: PlanRequest,
  size: TrialSize,
  least: TrialSize,
): Trial {
  const share = Math.min(
    1,
    Math.max(
      least.tabletServers / size.tabletServers,
      workload.hasWorkers ? least.workers / size.workers : 0,
    ),
  );
  // Rounded down: then each machine has at least its share of the load.
  const part = (machines: number): number => Math.max(1, Math.floor(machines * share + ROUNDING));
  return {
    calibration: loaded.calibration,
    tabletServers: part(size.tabletServers),
    workers: workload.hasWorkers ? part(size.workers) : 0,
    perSecond: load * share,
    share,
    units: UNITS[workload.unit],
    seed,
  };
}

/** Without it, 24 / 47 of 47 machines would be 23. */
const ROUNDING = 1e-6;

/** Simulates the trial. @throws the signal's reason once the signal is aborted */
export function tryOut(
  { workload, signal, onTrial }: PlanRequest,
  what: string,
  trial: Trial,
): Promise<TrialOutcome> {
  signal.throwIfAborted();
  onTrial(what, trial);
  return workload.simulate(trial, signal);
}

export function isFastEnough(
  { latencyMs, percentile }: Pick<PlanRequest, 'latencyMs' | 'percentile'>,
  outcome: TrialOutcome,
): boolean {
  return outcome.keptUp && outcome.latencyMs[percentile] <= latencyMs;
}
