/**
 * What the cluster did between two moments: calls and their costs, and how busy each kind of
 * machine was. Asserts what must hold in every run:
 *
 *   - Conservation: each call was answered, was lost, or is in flight.
 *   - Utilisation: no machine did more than its cores can. If no machine has died or paused, all of
 *     them together did the work that the calls asked of them, and what it took to warm up.
 *   - Little's law, if no call is in flight: the integral of the calls in flight is the sum of
 *     their latencies.
 */
import { sum } from 'simple-statistics';
import { assert } from '#engine/base';
import type { Calibration } from './calibration/calibration.ts';
import type { OperationKind } from './costs.ts';
import type { EventLoop } from '../verification/world/event-loop.ts';
import type { Machine, MachineKind, Station } from './machine.ts';
import type { LockService, OracleService } from './services.ts';
import type { CallCounts, Storage } from './storage.ts';
import { meanOrZero } from '../harness/statistics.ts';

/** The usage of all machines of one kind. */
export interface KindUsage {
  readonly kind: MachineKind;
  readonly machines: number;
  /** Share of the time of their cores, disks and cards in which they worked. */
  readonly cores: number;
  readonly disks: number;
  readonly cards: number;
  /** The share of the cores of the busiest machine. */
  readonly coresMax: number;
  /** How long work waited for a core, on average. */
  readonly coreWaitMeanUs: number;
}

export interface Usage {
  readonly seconds: number;
  readonly kinds: readonly KindUsage[];
  readonly calls: Readonly<Record<OperationKind, CallCounts>>;
  readonly timestamps: number;
  readonly oracleCalls: number;
  readonly lockCalls: number;
  /** Processor time of work in the background, which takes no core of these machines. */
  readonly maintenanceUs: number;
}

/** The parts of a cluster that are watched. */
interface Watched {
  readonly storage: Storage;
  readonly oracle: OracleService;
  readonly locks: LockService;
  readonly loop: EventLoop;
  readonly machines: readonly Machine[];
  readonly calibration: Calibration;
  /** Processor time that was asked of machines for other work than calls. */
  readonly otherWorkUs: number;
}

interface StationState {
  readonly arrivals: number;
  /** Work done so far. */
  readonly doneUs: number;
  readonly waitedUs: number;
}

interface State {
  readonly nowUs: number;
  readonly stations: ReadonlyMap<Station, StationState>;
  readonly calls: Readonly<Record<OperationKind, CallCounts>>;
  readonly timestamps: number;
  readonly oracleCalls: number;
  readonly lockCalls: number;
  readonly maintenanceUs: number;
}

/** Rounding of sums of millions of numbers. */
const ROUNDING = 1e-6;

export class UsageWindow {
  readonly #cluster: Watched;
  readonly #began: State;

  constructor(cluster: Watched) {
    this.#cluster = cluster;
    this.#began = stateOf(cluster);
  }

  end(): Usage {
    const cluster = this.#cluster;
    assertLaws(cluster);
    const began = this.#began;
    const now = stateOf(cluster);
    const us = now.nowUs - began.nowUs;
    const kinds = [...Map.groupBy(cluster.machines, ({ kind }) => kind)].map(([kind, machines]) =>
      usageOf(kind, machines, { began, now, us }),
    );
    return {
      seconds: us / 1e6,
      kinds,
      calls: difference(now.calls, began.calls),
      timestamps: now.timestamps - began.timestamps,
      oracleCalls: now.oracleCalls - began.oracleCalls,
      lockCalls: now.lockCalls - began.lockCalls,
      maintenanceUs: now.maintenanceUs - began.maintenanceUs,
    };
  }
}

function stateOf(cluster: Watched): State {
  const { storage, oracle, locks, loop, machines } = cluster;
  const stations = machines.flatMap(({ cores, disks, card }) => [cores, disks, card]);
  return {
    nowUs: loop.nowUs,
    stations: new Map(stations.map((station) => [station, stationState(station, loop.nowUs)])),
    calls: structuredClone(storage.counts),
    timestamps: oracle.timestamps,
    oracleCalls: oracle.counts.calls,
    lockCalls: locks.counts.calls,
    maintenanceUs: storage.maintenanceUs + storage.asideUs,
  };
}

function stationState(station: Station, nowUs: number): StationState {
  const { arrivals, busyUs, waitedUs } = station;
  return { arrivals, waitedUs, doneUs: busyUs - station.backlogUs(nowUs) };
}

interface Between {
  readonly began: State;
  readonly now: State;
  readonly us: number;
}

function usageOf(kind: MachineKind, machines: readonly Machine[], between: Between): KindUsage {
  const { us } = between;
  const share = (of: (machine: Machine) => Station): readonly number[] =>
    machines.map((machine) => {
      const station = of(machine);
      return us === 0 ? 0 : sinceBegan(station, between).doneUs / (us * station.servers);
    });
  const ofCores = machines.map((machine) => sinceBegan(machine.cores, between));
  const arrivals = sum(ofCores.map((one) => one.arrivals));
  const cores = share((machine) => machine.cores);
  return {
    kind,
    machines: machines.length,
    cores: meanOrZero(cores),
    disks: meanOrZero(share((machine) => machine.disks)),
    cards: meanOrZero(share(({ card }) => card)),
    coresMax: Math.max(...cores),
    coreWaitMeanUs: sum(ofCores.map(({ waitedUs }) => waitedUs)) / Math.max(1, arrivals),
  };
}

function sinceBegan(station: Station, { began, now }: Between): StationState {
  const before = began.stations.get(station) ?? { arrivals: 0, doneUs: 0, waitedUs: 0 };
  const after = now.stations.get(station) ?? before;
  return {
    arrivals: after.arrivals - before.arrivals,
    doneUs: after.doneUs - before.doneUs,
    waitedUs: after.waitedUs - before.waitedUs,
  };
}

function difference(after: State['calls'], before: State['calls']): State['calls'] {
  const entries = Object.entries(after).map(([kind, counts]) => {
    const earlier = before[kind as OperationKind];
    const parts = Object.entries(counts).map(([name, value]) => [
      name,
      Number(value) - earlier[name as keyof CallCounts],
    ]);
    return [kind, Object.fromEntries(parts)];
  });
  return Object.fromEntries(entries) as State['calls'];
}

function assertLaws(cluster: Watched): void {
  const { storage, oracle, locks, loop, machines, calibration } = cluster;
  const calls = Object.values(storage.counts);
  const total = (of: (counts: CallCounts) => number): number => sum(calls.map(of));
  const open = total(({ sent, answered, lost }) => sent - answered - lost);
  assert(open === storage.inFlight, 'each call is answered, lost or in flight');

  for (const { cores, disks, card } of machines) {
    for (const station of [cores, disks, card]) {
      const { doneUs } = stationState(station, loop.nowUs);
      const mostUs = station.servers * loop.nowUs;
      assert(doneUs <= mostUs * (1 + ROUNDING) + 1, 'nothing works for more than all the time');
    }
  }

  const hasLost = machines.some((machine) => machine.life > 1 || !machine.isAlive);
  const hasStood = machines.some(({ hasPaused }) => hasPaused);
  const askedUs =
    total(({ serverUs, clientUs }) => serverUs + clientUs) +
    total(({ misses }) => misses) * calibration.cache.missCpuUs +
    sum([oracle, locks].map(({ counts }) => counts.serverUs + counts.clientUs)) +
    storage.groupsUs +
    sum(machines.map(({ warmth }) => warmth.extraUs)) +
    cluster.otherWorkUs;
  const busyUs = sum(machines.map(({ cores }) => cores.busyUs));
  if (!hasLost && !hasStood) assertEqual(busyUs, askedUs, 'machines do the work of the calls');

  storage.countInFlight(0);
  if (storage.inFlight > 0) return;
  assertEqual(
    storage.inFlightUs,
    total(({ latencyUs }) => latencyUs),
    "Little's law holds",
  );
}

function assertEqual(a: number, b: number, what: string): void {
  assert(Math.abs(a - b) <= ROUNDING * Math.max(1, a, b), `${what}: ${a} is not ${b}`);
}
