/**
 * What fails while the load runs, and how it comes back:
 *
 *     kill     `kill -9`, and started again
 *     pause    stopped where it is, and let go on
 *     cut      the hosts of region servers are cut off, and connected again
 *
 * Hosts are network namespaces of this machine:
 *
 *     host-1 ... host-n   a region server, a DataNode (the first three), and workers by turns
 *     host-n+1            ZooKeeper, NameNode, master, both oracles, the lock service
 *     where this is       the load and the checks; no cut separates it from a host that is not cut
 *
 * A third of the first n is unplugged at once: nothing reaches them, and nothing leaves them. Their
 * processes live on, and do not know that they are given up.
 */
import { sum } from 'simple-statistics';
import { type LocalHBase, systemClock } from '#engine';
import { live, type Progress } from '#harness';
import { certifyRun } from '../harness/hosts/coordinator.ts';
import { type Host, HostNetwork } from '../harness/hosts/network.ts';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import type { Engine } from '../harness/processes/index.ts';
import { type NamedProcesses, ownerOf, type VictimChoice, victimsOf } from './victims.ts';
import type { FailoverWorkload } from './workload.ts';

interface FailurePlan extends VictimChoice {
  readonly pause: boolean;
  /** Seconds from the beginning of the measurement to the failure. */
  readonly before: number;
  /** Seconds from the failure until it is undone. */
  readonly down: number;
}

interface Failing {
  readonly plan: FailurePlan;
  readonly hbase: LocalHBase;
  readonly engine: Engine;
  /** With `cut` alone. */
  readonly stage: Stage | undefined;
  readonly workload: Pick<FailoverWorkload, 'findUntold'>;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** Moments by the clock of the arrivals. */
export interface Failure {
  readonly killed: readonly string[];
  readonly killedMs: number;
  /** When the victims were started again, and when all were ready, if that is known. */
  readonly startedMs: number;
  readonly readyMs: number | undefined;
  /** Packets that hosts could not send while they were cut off; undefined without a cut. */
  readonly dropped: number | undefined;
}

/** How long a region server that goes on may take to find out that it was given up, and to end. */
const END_MS_MAX = 20_000;

/** Makes the failure, and undoes it. @param onFailure is called at the moment of the failure */
export async function fail(
  failing: Failing,
  fromMs: number,
  onFailure: () => void,
): Promise<Failure> {
  const { plan, engine, stage, progress, signal } = failing;
  const parts = failing[ownerOf(plan.kill)];
  await sleepUntil(fromMs + 1000 * plan.before, signal);
  const killed = plan.kill === 'oracle' ? [await engine.leasedOracle()] : victimsOf(plan);
  signal.throwIfAborted();
  const killedMs = monotonicMs();
  onFailure();
  const { did, undid } = WORDS[stage !== undefined ? 'cut' : plan.pause ? 'pause' : 'kill'];
  if (stage !== undefined) await stage.cut(killed);
  else if (plan.pause) for (const name of killed) parts.pause(name, 1000 * plan.down);
  else await Promise.all(killed.map((name) => parts.kill(name)));
  const names = killed.join(' and ');
  live.event(`${did} ${names}`);
  progress.note(`${did} ${names}`);
  const down = sleepUntil(killedMs + 1000 * plan.down, signal);
  // `findUntold` repeats its reads while the storage is away; the start does not wait for them.
  if (plan.kill === 'workers') await Promise.race([failing.workload.findUntold(), down]);
  await down;
  const startedMs = monotonicMs();
  const dropped = await stage?.heal(killed);
  await Promise.all(killed.map((name) => goOn(failing, parts, name)));
  live.event(`${undid} ${names}`);
  progress.note(`${undid} ${names}`);
  const readyMs = parts === engine ? monotonicMs() : undefined;
  return { killed, killedMs, startedMs, readyMs, dropped };
}

const WORDS = {
  kill: { did: 'killed', undid: 'started again:' },
  pause: { did: 'stopped', undid: 'went on:' },
  cut: { did: 'cut off the hosts of', undid: 'connected again the hosts of' },
} as const;

/**
 * Starts a killed victim again, or lets a stopped one go on. A region server that has stood still,
 * or was cut off, for too long ends itself when it goes on, and is then started again.
 */
async function goOn(
  { plan, hbase, signal }: Failing,
  parts: NamedProcesses,
  name: string,
): Promise<void> {
  if (!plan.pause && !plan.cut) return parts.start(name);
  if (plan.pause) parts.resume(name);
  if (parts !== hbase) return undefined;
  const endMs = monotonicMs() + END_MS_MAX;
  const isThere = (): boolean => hbase.processes().some((one) => one.name === name);
  while (isThere() && monotonicMs() < endMs) await sleepUntil(monotonicMs() + 100, signal);
  return isThere() ? undefined : parts.start(name);
}

async function sleepUntil(momentMs: number, signal: AbortSignal): Promise<void> {
  await systemClock.sleep(Math.max(0, momentMs - monotonicMs()), signal);
  signal.throwIfAborted();
}

/** What the other hosts need beyond one for each region server. */
const OTHERS = 1;

export class Stage {
  readonly #network: Pick<HostNetwork, 'unplug' | 'plug' | 'dropped'>;
  /** What each host that is cut off could not send before. */
  readonly #before = new Map<Host, number>();
  readonly #servers: readonly Host[];
  readonly #rest: Host;

  constructor(
    network: Pick<HostNetwork, 'unplug' | 'plug' | 'dropped'>,
    servers: readonly Host[],
    rest: Host,
  ) {
    this.#network = network;
    this.#servers = servers;
    this.#rest = rest;
  }

  /** The processes of the run, on all hosts and here, get certificates for one another. */
  static async make(regionServers: number): Promise<Stage> {
    const network = await HostNetwork.make(regionServers + OTHERS);
    const servers = network.hosts.slice(0, regionServers);
    const [rest] = network.hosts.slice(regionServers);
    if (rest === undefined) throw new Error('every host has a region server');
    certifyRun(network.hosts.map(({ address }) => address));
    return new Stage(network, servers, rest);
  }

  readonly placeOf = (name: string): Host => placeOf(name, this.#servers) ?? this.#rest;

  /** @param servers region servers by their names */
  async cut(servers: readonly string[]): Promise<void> {
    const hosts = servers.map((name) => this.placeOf(name));
    for (const host of hosts) this.#before.set(host, await this.#unsent(host));
    await Promise.all(hosts.map((host) => this.#network.unplug(host)));
  }

  /** Resolves with the packets that the hosts could not send since they were cut off. */
  async heal(servers: readonly string[]): Promise<number> {
    const hosts = servers.map((name) => this.placeOf(name));
    const since = async (host: Host): Promise<number> =>
      (await this.#unsent(host)) - (this.#before.get(host) ?? 0);
    const dropped = await Promise.all(hosts.map(since));
    await Promise.all(hosts.map((host) => this.#network.plug(host)));
    return sum(dropped);
  }

  async #unsent(host: Host): Promise<number> {
    return (await this.#network.dropped(host)).unplugged;
  }
}

const ON_SERVERS = /^(?:region-server|data-node|worker)-(\d+)$/;

/** Undefined for what has the host of the rest. */
export function placeOf<T>(name: string, servers: readonly T[]): T | undefined {
  const [, number] = ON_SERVERS.exec(name) ?? [];
  return number === undefined ? undefined : servers[(Number(number) - 1) % servers.length];
}
