/**
 * The search for a cluster that carries a load.
 *
 *   1. Try a few machines under a small load: what does a unit of load take of each part?
 *   2. From that, the machines that the whole load needs, with the margin.
 *   3. Try the same part of those machines, of the load and of the repository, again and again:
 *      until what a unit takes no longer changes the plan. If the trial is too slow, or does not keep
 *      up, parts may be less busy.
 *   4. Check: try the planned cluster itself, or the largest part of it that this machine simulates
 *      in the given time. If it is too slow, plan more machines, and check again.
 */
import type { LoadedCalibration } from '../calibration/load.ts';
import { type Demand, demandsOf, partsOf, type Part, sizeFor } from './parts.ts';
import { type Alternative, alternativesTo } from './sureness.ts';
import {
  type Outcome,
  type Percentile,
  secondsOf,
  type Size,
  type Trial,
  type Workload,
} from './trial.ts';

export interface PlanRequest {
  readonly loaded: LoadedCalibration;
  readonly workload: Workload;
  /** Units a second. */
  readonly load: number;
  /** The part of the units given by the percentile must be done within so many milliseconds. */
  readonly latencyMs: number;
  readonly percentile: Percentile;
  /** Share of the time that each part is free. */
  readonly margin: number;
  /** How long the check may take on this machine; 0: no check. */
  readonly checkSeconds: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Told of each trial, before it. */
  readonly onTrial: (what: string, trial: Trial) => void;
}

export interface Check {
  /** Of the planned cluster: 1 for all of it. */
  readonly share: number;
  readonly size: Size;
  readonly outcome: Outcome;
}

export interface Plan {
  readonly size: Size;
  /** The busiest that a part was planned to be. */
  readonly busyMax: number;
  /** What keeps parts from being busier: the margin, or the latency. */
  readonly decidedBy: 'margin' | 'latency';
  /** At the planned load, from the trials of a part. */
  readonly parts: readonly Part[];
  /** Of the largest trial. */
  readonly check: Check;
  /** The same parts as the check found them; its part of the load is taken for all of it. */
  readonly checkedParts: readonly Part[];
  /** Whether the check was as fast as wanted. */
  readonly isFastEnough: boolean;
  readonly alternatives: readonly Alternative[];
}

/** There is no such cluster: the last trial was too slow although hardly anything was busy. */
export class TooSlow {
  readonly outcome: Outcome;
  readonly busyMax: number;

  constructor(outcome: Outcome, busyMax: number) {
    this.outcome = outcome;
    this.busyMax = busyMax;
  }
}

/** Machines of each kind of a trial of a part: few, but more than one. */
const SMALL: Size = { tabletServers: 4, workers: 2 };
/** Units that a trial measures, about: enough for a 99th percentile. */
const UNITS = { documents: 3_000, 'Trade-Results': 200 };
const ROUNDS_MAX = 12;
/** A plan that changes by less is the same. */
const SAME = 0.1;
/** By how much a part that makes a trial too slow is less busy in the next one. */
const LESS_BUSY = 0.75;
/** Below, waiting for parts is no longer what takes time. */
const BUSY_MIN = 0.1;
/** A cluster with little to do that takes so many times the latency: more machines do not help. */
const FAR_TOO_SLOW = 2;
const CHECKS_MAX = 4;
/** By how much a cluster that was too slow grows. */
const GROWTH = 1.15;

export async function planCluster(request: PlanRequest): Promise<Plan | TooSlow> {
  const found = await search(request);
  if (found instanceof TooSlow) return found;
  const { workload, loaded, load } = request;
  const { busyMax, demands, usage } = found;
  const { size, check } = await checkAll(request, found);
  const { outcome, share } = check;
  const { hasWorkers } = workload;
  return {
    size,
    busyMax,
    decidedBy: busyMax < 1 - request.margin ? 'latency' : 'margin',
    parts: partsOf(load, size, demands),
    check,
    checkedParts: partsOf(
      load * share,
      check.size,
      demandsOf(outcome, workload, loaded.calibration),
    ),
    isFastEnough: isFastEnough(request, outcome),
    alternatives: alternativesTo({
      loaded,
      load,
      demands,
      usage,
      // A cluster that was too slow has grown, and would grow as much at other costs.
      busyMax: (busyMax * found.size.tabletServers) / size.tabletServers,
      hasWorkers,
    }),
  };
}

interface Found {
  readonly size: Size;
  readonly busyMax: number;
  readonly demands: readonly Demand[];
  readonly usage: Outcome['usage'];
  /** The last trial. */
  readonly check: Check;
}

async function search(request: PlanRequest): Promise<Found | TooSlow> {
  const { workload, loaded, load, margin } = request;
  const { hasWorkers } = workload;
  let busyMax = 1 - margin;
  const first = await firstTrial(request);
  const fastest = first.latencyMs[request.percentile];
  if (fastest > FAR_TOO_SLOW * request.latencyMs) {
    return new TooSlow(first, Math.max(...first.usage.kinds.map(({ cores }) => cores)));
  }
  let demands = demandsOf(first, workload, loaded.calibration);
  let size = sizeFor(load, demands, { busyMax, hasWorkers });
  let tooSmall: Size = { tabletServers: 0, workers: 0 };
  for (let round = 1; ; round++) {
    const trial = partOf(request, size, SMALL);
    const outcome = await tryOut(request, 'a part of the cluster', trial);
    demands = demandsOf(outcome, workload, loaded.calibration);
    let wanted = sizeFor(load, demands, { busyMax, hasWorkers });
    if (isAlike(size, nextSize(size, wanted, tooSmall)) || round >= ROUNDS_MAX) {
      if (isFastEnough(request, outcome)) {
        const { usage } = outcome;
        const { share, tabletServers, workers } = trial;
        const check = { share, size: { tabletServers, workers }, outcome };
        return { size: largerOf(size, wanted), busyMax, demands, usage, check };
      }
      if (busyMax < BUSY_MIN) return new TooSlow(outcome, busyMax);
      busyMax *= LESS_BUSY;
      wanted = largerOf(size, sizeFor(load, demands, { busyMax, hasWorkers }));
    }
    tooSmall = noted(tooSmall, size, wanted);
    size = nextSize(size, wanted, tooSmall);
  }
}

/** Where servers are too few, calls wait, and workers need more runs in flight than they would. */
function noted(tooSmall: Size, size: Size, wanted: Size): Size {
  if (wanted.tabletServers > size.tabletServers) {
    return { ...tooSmall, tabletServers: size.tabletServers };
  }
  return wanted.workers > size.workers ? { ...tooSmall, workers: size.workers } : tooSmall;
}

/**
 * The wanted size; but between one that a trial has found too small and the present one, if the
 * wanted one is not above it: what a unit takes depends on the size, where more machines have more
 * cache.
 */
function nextSize(size: Size, wanted: Size, tooSmall: Size): Size {
  const next = (kind: keyof Size): number =>
    wanted[kind] > tooSmall[kind] || tooSmall[kind] === 0
      ? wanted[kind]
      : Math.ceil(Math.sqrt(tooSmall[kind] * size[kind]));
  return { tabletServers: next('tabletServers'), workers: next('workers') };
}

function largerOf(a: Size, b: Size): Size {
  return {
    tabletServers: Math.max(a.tabletServers, b.tabletServers),
    workers: Math.max(a.workers, b.workers),
  };
}

/** Of a small cluster with so little to do that it certainly keeps up. */
async function firstTrial(request: PlanRequest): Promise<Outcome> {
  const { workload, loaded, load, seed } = request;
  const { calibration } = loaded;
  const { call, conditionalMutate } = calibration.storage;
  const unitUs =
    workload.mutationsPerUnit *
    (1 + call.fixed.serverUs + conditionalMutate.fixed.serverUs + call.fixed.clientUs);
  const cores = SMALL.tabletServers * calibration.cluster.tabletServerCores;
  const perSecond = Math.min(load, (BUSY_MIN * cores * 1e6) / unitUs);
  const outcome = await tryOut(request, 'a few machines with little to do', {
    calibration,
    tabletServers: SMALL.tabletServers,
    workers: workload.hasWorkers ? SMALL.tabletServers : 0,
    perSecond,
    share: perSecond / load,
    units: UNITS[workload.unit] / 3,
    seed,
  });
  if (!outcome.keptUp) {
    throw new Error('a few machines do not keep up with a load that is small by the calibration');
  }
  return outcome;
}

/** The smallest part of a cluster that has at least so many machines of each kind. */
function partOf({ workload, loaded, load, seed }: PlanRequest, size: Size, least: Size): Trial {
  const share = Math.min(
    1,
    Math.max(
      least.tabletServers / size.tabletServers,
      workload.hasWorkers ? least.workers / size.workers : 0,
    ),
  );
  // Rounded down: then each machine has at least its share of the load.
  const part = (machines: number): number => Math.max(1, Math.floor(machines * share));
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

function isAlike(a: Size, b: Size): boolean {
  const alike = (one: number, other: number): boolean =>
    Math.abs(one - other) <= SAME * Math.max(one, other);
  return alike(a.tabletServers, b.tabletServers) && alike(a.workers, b.workers);
}

/** The largest trial that there is time for, and the size that it is right for. */
async function checkAll(
  request: PlanRequest,
  { size: planned, check: done }: Found,
): Promise<{ readonly size: Size; readonly check: Check }> {
  let size = planned;
  let check = done;
  for (let checks = 1; checks <= CHECKS_MAX; checks++) {
    const trial = largestPart(request, size);
    const { share, tabletServers, workers } = trial;
    // A trial of all that was planned at first, or of as large a part, has been done.
    const isDone = share < 1 ? share <= done.share : isSame(size, done.size);
    if (isDone) break;
    const what = share === 1 ? 'the planned cluster' : 'the largest part that there is time for';
    const outcome = await tryOut(request, what, trial);
    check = { share, size: { tabletServers, workers }, outcome };
    if (isFastEnough(request, outcome) || checks === CHECKS_MAX) break;
    size = grown(size);
  }
  return { size, check };
}

function isSame(a: Size, b: Size): boolean {
  return a.tabletServers === b.tabletServers && a.workers === b.workers;
}

function grown({ tabletServers, workers }: Size): Size {
  return {
    tabletServers: Math.ceil(tabletServers * GROWTH),
    workers: Math.ceil(workers * GROWTH),
  };
}

function largestPart(request: PlanRequest, size: Size): Trial {
  const { workload, checkSeconds, load } = request;
  const { simulatedPerSecond, warmUpSeconds, unit } = workload;
  const whole = partOf(request, size, size);
  const units = load * (warmUpSeconds + secondsOf({ units: UNITS[unit], perSecond: load }));
  const affordable = (checkSeconds * simulatedPerSecond) / units;
  if (affordable >= 1) return whole;
  const part = {
    tabletServers: Math.floor(size.tabletServers * affordable),
    workers: Math.floor(size.workers * affordable),
  };
  return part.tabletServers < 1 ? { ...whole, share: 0 } : partOf(request, size, part);
}

function tryOut(
  { workload, signal, onTrial }: PlanRequest,
  what: string,
  trial: Trial,
): Promise<Outcome> {
  signal.throwIfAborted();
  onTrial(what, trial);
  return workload.simulate(trial, signal);
}

function isFastEnough(
  { latencyMs, percentile }: Pick<PlanRequest, 'latencyMs' | 'percentile'>,
  outcome: Outcome,
): boolean {
  return outcome.keptUp && outcome.latencyMs[percentile] <= latencyMs;
}
