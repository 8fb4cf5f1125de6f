/**
 * A plan of the cluster that carries a load: a search (search.ts), and its check.
 *
 *   1. Try a few machines under a small load: what does a unit of load take of each part?
 *   2. From that, the tablet servers and workers that the whole load needs, with the margin.
 *   3. Try a part of those machines, with the same part of the load and of the repository, again
 *      and again, until what a unit takes no longer changes the plan. If the trial is too slow, or
 *      does not keep up, plan again with machines that are less busy. If the one oracle is full
 *      below the load, there is no plan.
 *   4. Check: try the planned cluster itself, or the largest part of it that this machine simulates
 *      in the given time. If it is too slow, plan more machines, and check again.
 */
import type { Calibration } from '../calibration/calibration.ts';
import type { LoadedCalibration } from '../calibration/load.ts';
import { assumedPlaces, varied } from '../calibration/sensitivity.ts';
import { HEAD_BYTES } from '../call.ts';
import type { Usage } from '../cluster.ts';
import type { OperationKind } from '../costs.ts';
import {
  type FoundCluster,
  isFastEnough,
  type LimitCheck,
  partOf,
  type PlanRequest,
  search,
  TooSlow,
  tryOut,
  UNITS,
} from './search.ts';
import {
  type Demand,
  demandsOf,
  type Part,
  partsOf,
  secondsOf,
  sizeFor,
  type Trial,
  type TrialSize,
} from './trial.ts';

export interface ClusterPlan {
  readonly size: TrialSize;
  /** Share of the time that a tablet server or worker was planned to be busy, at most. */
  readonly busyMax: number;
  /** What keeps them from being busier: the margin, or the latency. */
  readonly decidedBy: 'margin' | 'latency';
  /** At the planned load, from the trials of a part. */
  readonly parts: readonly Part[];
  /** Of the largest trial. */
  readonly check: LimitCheck;
  /** The parts of the cluster that was checked, under the load that it had. */
  readonly checkedParts: readonly Part[];
  /** Whether the check was as fast as wanted. */
  readonly isFastEnough: boolean;
  readonly alternatives: readonly Alternative[];
}

/** No cluster carries the load: its one oracle is full below that load. */
export class FullBelowLoad {
  readonly part: Part;

  constructor(part: Part) {
    this.part = part;
  }
}

const CHECKS_MAX = 4;
/** A cluster that was too slow gets this many times as many machines. */
const GROWTH = 1.15;

export async function planCluster(
  request: PlanRequest,
): Promise<ClusterPlan | TooSlow | FullBelowLoad> {
  const found = await search(request);
  if (found instanceof TooSlow) return found;
  const { workload, loaded, load } = request;
  const { demands, usage } = found;
  // The lock service has one machine, too, but the busier the workers, the less they ask of it.
  const oracle = partsOf(load, found.size, demands).find(({ place }) => place === 'oracle');
  if (oracle !== undefined && oracle.fullAt < load) return new FullBelowLoad(oracle);
  const { size, check } = await checkAll(request, found);
  // A cluster that was too slow has grown, and its parts are less busy.
  const busyMax = found.busyMax * (found.size.tabletServers / size.tabletServers);
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
      busyMax, // The cluster would grow as much at other costs.
      hasWorkers,
    }),
  };
}

/** Checks the largest part that there is time for; the size has grown if a check was too slow. */
async function checkAll(
  request: PlanRequest,
  { size: planned, check: done }: FoundCluster,
): Promise<{ readonly size: TrialSize; readonly check: LimitCheck }> {
  let size = planned;
  let check = done;
  for (let checks = 1; checks <= CHECKS_MAX; checks++) {
    const trial = largestPart(request, size);
    const { share, tabletServers, workers } = trial;
    // The last trial was of exactly these machines, or of as large a part.
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

/** Whether two clusters have the same machines. */
export function isSame(a: TrialSize, b: TrialSize): boolean {
  return a.tabletServers === b.tabletServers && a.workers === b.workers;
}

function grown({ tabletServers, workers }: TrialSize): TrialSize {
  return {
    tabletServers: Math.ceil(tabletServers * GROWTH),
    workers: Math.ceil(workers * GROWTH),
  };
}

/** The largest part that is simulated in about the given time; its share is 0 if there is none. */
function largestPart(request: PlanRequest, size: TrialSize): Trial {
  const { workload, checkSeconds, load } = request;
  const { simulatedPerSecond, warmUpSeconds, unit } = workload;
  const whole = partOf(request, size, size);
  const units =
    load * (warmUpSeconds + secondsOf({ units: UNITS[unit], perSecond: load }, workload));
  const affordable = (checkSeconds * simulatedPerSecond) / units;
  if (affordable >= 1) return whole;
  const part = {
    tabletServers: Math.floor(size.tabletServers * affordable),
    workers: Math.floor(size.workers * affordable),
  };
  return part.tabletServers < 1 ? { ...whole, share: 0 } : partOf(request, size, part);
}

/*
 * How sure a plan is: the machines that it would have if an assumed number of its calibration were
 * half or twice as much.
 *
 * That takes no further simulation: a trial has counted calls, rows, cells and bytes, so their
 * processor time at other costs is a sum. Queues are assumed to stay the same, so numbers that only
 * move latencies are not varied, though they move a plan that the latency has decided.
 */

interface Alternative {
  /** A place in the calibration. */
  readonly place: string;
  readonly halved: TrialSize;
  readonly doubled: TrialSize;
}

/**
 * The other numbers move latencies, or what machines do besides calls, or the one oracle. The share
 * of a repository that is in the cache is taken as it was in the trial. A plan says so (lines.ts).
 */
const MOVES_MACHINES = /^(storage|disk\.perMachine|network\.bytes|cluster\..*Cores|cache\.miss)/;

export interface Planned {
  readonly loaded: LoadedCalibration;
  readonly load: number;
  readonly demands: readonly Demand[];
  /** Of the trial that the demands are from. */
  readonly usage: Usage;
  readonly busyMax: number;
  readonly hasWorkers: boolean;
}

/** The numbers that change the plan, those that lead to the largest clusters first. */
export function alternativesTo(planned: Planned): readonly Alternative[] {
  const { loaded } = planned;
  const size = sizeWith(planned, loaded.calibration);
  return assumedPlaces(loaded)
    .filter((place) => MOVES_MACHINES.test(place))
    .map((place) => ({
      place,
      halved: sizeWith(planned, varied(loaded, { place, factor: 0.5 })),
      doubled: sizeWith(planned, varied(loaded, { place, factor: 2 })),
    }))
    .filter(({ halved, doubled }) => isOther(halved, size) || isOther(doubled, size))
    .toSorted((a, b) => most(b) - most(a));
}

function isOther(a: TrialSize, b: TrialSize): boolean {
  return a.tabletServers !== b.tabletServers || a.workers !== b.workers;
}

function most({ halved, doubled }: Alternative): number {
  return Math.max(machinesOf(halved), machinesOf(doubled));
}

export function machinesOf({ tabletServers, workers }: TrialSize): number {
  return tabletServers + workers;
}

function sizeWith(planned: Planned, calibration: Calibration): TrialSize {
  const { loaded, load, demands, usage, busyMax, hasWorkers } = planned;
  const base = loaded.calibration;
  const [before, after] = [timesOf(usage, base), timesOf(usage, calibration)];
  const server = ratio(after.serverUs, before.serverUs);
  const client = ratio(after.clientUs, before.clientUs);
  const part = hasWorkers ? 1 : serversPart(usage, before.serverUs, base);
  const changes = demands.map((demand) => {
    const { place, resource, perUnit, perUnitWhenFull } = demand;
    const isServer = place === 'tablet servers';
    const work = isServer ? part * server + (1 - part) * client : client;
    const cores = isServer ? 'tabletServerCores' : 'workerCores';
    const change = {
      processors: work / ratio(calibration.cluster[cores], base.cluster[cores]),
      disks:
        ratio(calibration.cache.missDiskUs, base.cache.missDiskUs) /
        ratio(calibration.disk.perMachine, base.disk.perMachine),
      'observer runs': 1,
      network: ratio(base.network.bytesPerSecond, calibration.network.bytesPerSecond),
    }[resource];
    return { place, resource, perUnit: perUnit * change, perUnitWhenFull };
  });
  return sizeFor(load, changes, { busyMax, hasWorkers });
}

/** The tablet servers' part of the work on machines that they share with workers. */
function serversPart(
  { kinds, seconds }: Usage,
  serverUs: number,
  { cluster }: Calibration,
): number {
  const servers = kinds.find(({ kind }) => kind === 'tablet server');
  const busy = (servers?.cores ?? 0) * (servers?.machines ?? 0) * cluster.tabletServerCores;
  return Math.min(1, ratio(serverUs, 1e6 * seconds * busy));
}

/** 1 if `b` is 0: a cost of 0 stays the same if it is halved or doubled. */
function ratio(a: number, b: number): number {
  return b === 0 ? 1 : a / b;
}

/** Processor time of all calls of a trial at the costs of a calibration. */
export function timesOf(
  { calls, oracleCalls, lockCalls }: Usage,
  { storage, cache }: Calibration,
): { readonly serverUs: number; readonly clientUs: number } {
  const { fixed, perByte } = storage.call;
  let serverUs = 0;
  let clientUs = (oracleCalls + lockCalls) * fixed.clientUs;
  for (const [kind, counts] of Object.entries(calls)) {
    const { fixed: row, perCell } = storage[kind as OperationKind];
    const { sent, rows, cells, bytes, misses } = counts;
    const isWrite = kind === 'mutate' || kind === 'conditionalMutate';
    const written = isWrite ? bytes - 2 * HEAD_BYTES * sent : 0;
    serverUs += sent * fixed.serverUs + (bytes * perByte.serverNs) / 1000;
    serverUs += rows * row.serverUs + cells * perCell.serverUs + misses * cache.missCpuUs;
    serverUs += (written * storage.writtenByteNs) / 1000;
    clientUs += sent * fixed.clientUs + (bytes * perByte.clientNs) / 1000;
    clientUs += (kind === 'scan' ? sent : rows) * row.clientUs + cells * perCell.clientUs;
  }
  return { serverUs, clientUs };
}
