/**
 * How sure a plan is: the machines that it would have if an assumed number of its calibration were
 * half or twice as much.
 *
 * That takes no further simulation: a trial has counted calls, rows, cells and bytes, so their
 * processor time at other costs is a sum. Queues are assumed to stay the same, so numbers that only
 * move latencies are not varied, though they move a plan that the latency has decided.
 */
import type { Calibration } from '../calibration/calibration.ts';
import type { LoadedCalibration } from '../calibration/load.ts';
import { assumedPlaces, varied } from '../calibration/sensitivity.ts';
import { HEAD_BYTES } from '../call.ts';
import type { Usage } from '../cluster.ts';
import type { OperationKind } from '../costs.ts';
import { type Demand, sizeFor } from './parts.ts';
import type { Size } from './trial.ts';

export interface Alternative {
  /** A place in the calibration. */
  readonly place: string;
  readonly halved: Size;
  readonly doubled: Size;
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

function isOther(a: Size, b: Size): boolean {
  return a.tabletServers !== b.tabletServers || a.workers !== b.workers;
}

function most({ halved, doubled }: Alternative): number {
  return Math.max(machinesOf(halved), machinesOf(doubled));
}

export function machinesOf({ tabletServers, workers }: Size): number {
  return tabletServers + workers;
}

function sizeWith(planned: Planned, calibration: Calibration): Size {
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
