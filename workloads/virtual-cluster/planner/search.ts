/**
 * The machines for a load, found by trials of a part of them, from one trial of a few to the next:
 * what does a unit of load take of each part, and what would the whole load need?
 */
import { type Demand, demandsOf, sizeFor } from './parts.ts';
import { isFastEnough, partOf, type PlanRequest, tryOut, UNITS } from './request.ts';
import type { Outcome, Size, Trial } from './trial.ts';

export interface Check {
  /** Of the planned cluster: 1 for all of it. */
  readonly share: number;
  readonly size: Size;
  readonly outcome: Outcome;
}

export interface Found {
  readonly size: Size;
  readonly busyMax: number;
  readonly demands: readonly Demand[];
  readonly usage: Outcome['usage'];
  /** The last trial. */
  readonly check: Check;
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
const ROUNDS_MAX = 12;
/** A plan that changes by less is the same. */
const SAME = 0.1;
/** By how much a part that makes a trial too slow is less busy in the next one. */
const LESS_BUSY = 0.75;
/** Below, waiting for parts is no longer what takes time. */
const BUSY_MIN = 0.1;
/** A cluster with little to do that takes so many times the latency: more machines do not help. */
const FAR_TOO_SLOW = 2;

export async function search(request: PlanRequest): Promise<Found | TooSlow> {
  const first = await firstTrial(request);
  const fastest = first.latencyMs[request.percentile];
  if (fastest > FAR_TOO_SLOW * request.latencyMs) {
    return new TooSlow(first, Math.max(...first.usage.kinds.map(({ cores }) => cores)));
  }
  return new Search(request, first).run();
}

class Search {
  readonly #request: PlanRequest;
  #busyMax: number;
  #demands: readonly Demand[];
  #size: Size;
  /** The largest size that a trial has found too small. */
  #tooSmall: Size = { tabletServers: 0, workers: 0 };

  constructor(request: PlanRequest, first: Outcome) {
    this.#request = request;
    this.#busyMax = 1 - request.margin;
    this.#demands = this.#demandsOf(first);
    this.#size = this.#wanted();
  }

  async run(): Promise<Found | TooSlow> {
    for (let round = 1; ; round++) {
      const trial = partOf(this.#request, this.#size, SMALL);
      const outcome = await tryOut(this.#request, 'a part of the cluster', trial);
      this.#demands = this.#demandsOf(outcome);
      const wanted = this.#wanted();
      const isSettled = isAlike(this.#size, nextSize(this.#size, wanted, this.#tooSmall));
      if (!isSettled && round < ROUNDS_MAX) {
        this.#moveTo(wanted);
        continue;
      }
      if (isFastEnough(this.#request, outcome)) return this.#found(trial, outcome);
      if (this.#busyMax < BUSY_MIN) return new TooSlow(outcome, this.#busyMax);
      this.#busyMax *= LESS_BUSY;
      this.#moveTo(largerOf(this.#size, this.#wanted()));
    }
  }

  #demandsOf(outcome: Outcome): readonly Demand[] {
    const { workload, loaded } = this.#request;
    return demandsOf(outcome, workload, loaded.calibration);
  }

  /** By what a unit took in the last trial. */
  #wanted(): Size {
    const { load, workload } = this.#request;
    const limits = { busyMax: this.#busyMax, hasWorkers: workload.hasWorkers };
    return sizeFor(load, this.#demands, limits);
  }

  #moveTo(wanted: Size): void {
    this.#tooSmall = noted(this.#tooSmall, this.#size, wanted);
    this.#size = nextSize(this.#size, wanted, this.#tooSmall);
  }

  #found({ share, tabletServers, workers }: Trial, outcome: Outcome): Found {
    return {
      size: largerOf(this.#size, this.#wanted()),
      busyMax: this.#busyMax,
      demands: this.#demands,
      usage: outcome.usage,
      check: { share, size: { tabletServers, workers }, outcome },
    };
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

function isAlike(a: Size, b: Size): boolean {
  const alike = (one: number, other: number): boolean =>
    Math.abs(one - other) <= SAME * Math.max(one, other);
  return alike(a.tabletServers, b.tabletServers) && alike(a.workers, b.workers);
}
