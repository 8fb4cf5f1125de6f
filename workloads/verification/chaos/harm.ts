/**
 * What a cut hits (cuts.ts), given which oracle leads at that moment. Only hosts are chosen that
 * have something to send all the time: what they cannot send proves that the cut was there.
 */
import type { Host } from '../../harness/hosts/network.ts';
import type { Cut } from './cuts.ts';
import type { Places } from './places.ts';

interface Blocked {
  readonly from: Host;
  readonly to: Host;
}

/** What a cut does, and to which hosts. */
export interface Harm {
  readonly unplugged?: Host | undefined;
  readonly blocked?: readonly Blocked[];
  readonly killed?: Host | undefined;
  readonly stopped?: Host | undefined;
  /** Slots of clients that can reach no oracle, or not the store. */
  readonly stalled?: readonly string[];
}

interface Scene {
  readonly places: Places;
  /** Slots of all clients. */
  readonly clients: readonly string[];
  /** The host of the oracle that hands out timestamps. */
  readonly leader: Host;
  /** Whether the processes share the folder of a store, which no cut separates from them. */
  readonly isShared: boolean;
}

const ORACLES = ['oracle-1', 'oracle-2'];

export function harmOf({ what, victim, other }: Cut, scene: Scene): Harm {
  const { places, leader } = scene;
  const { zooKeeper, regionServers, master } = places;
  const hosts = [...usedHosts(scene), ...regionServers];
  switch (what) {
    case 'zookeeper':
      return { blocked: between(pick(regionServers, victim), zooKeeper) };
    case 'store': {
      const blocked = regionServers.flatMap((server) => between(leader, server));
      return { blocked, stalled: stalledBy(leader, scene) };
    }
    case 'leader':
      return { unplugged: leader, stalled: stalledBy(leader, scene) };
    case 'host': {
      const host = pick(hosts, victim);
      return { unplugged: host, stalled: stalledBy(host, scene) };
    }
    case 'flapping':
      return { unplugged: pick(hosts, victim) };
    case 'pair':
      return { blocked: between(...(pick(talking(scene), victim) ?? [])) };
    case 'one-way': {
      const way = pick(between(...(pick(talking(scene), victim) ?? [])), other);
      return { blocked: way === undefined ? [] : [way] };
    }
    case 'killed':
      return { killed: pick([...hosts, master ?? leader], victim) };
    case 'stopped':
      return { stopped: pick([...hosts, master ?? leader], victim) };
    default:
      return what satisfies never;
  }
}

/** Hosts of the engine with a process. */
function usedHosts({ places, clients }: Scene): readonly Host[] {
  const slots = [...clients, ...ORACLES, 'lock-service'];
  const used = new Set(slots.map((slot) => places.hostOf(slot)));
  return places.engine.filter((host) => used.has(host));
}

/**
 * Clients on a host that is unplugged. Those that share the folder of a store need only an oracle:
 * one on their host may lead, or come to lead while it is cut off, because no cut separates it from
 * the folder, either.
 */
function stalledBy(
  host: Host | undefined,
  { places, clients, isShared }: Scene,
): readonly string[] {
  const isOfOracle = ORACLES.some((slot) => places.hostOf(slot) === host);
  if (isShared && isOfOracle) return [];
  return clients.filter((slot) => places.hostOf(slot) === host);
}

/** Pairs of hosts that send something to each other all the time. */
function talking({ places, clients, leader }: Scene): readonly (readonly [Host, Host])[] {
  const { regionServers, zooKeeper, master } = places;
  const ofClients = clients.flatMap((slot) => {
    const host = places.hostOf(slot);
    return [leader, places.hostOf('lock-service'), ...regionServers].map(
      (to) => [host, to] as const,
    );
  });
  const ofServers = regionServers.flatMap((server, i) =>
    [zooKeeper, master, ...regionServers.slice(i + 1)].map((to) => [server, to] as const),
  );
  return [...ofClients, ...ofServers].filter(
    (pair): pair is readonly [Host, Host] =>
      pair[0] !== undefined && pair[1] !== undefined && pair[0] !== pair[1],
  );
}

/** Both directions. */
function between(a?: Host, b?: Host): readonly Blocked[] {
  if (a === undefined || b === undefined) return [];
  return [
    { from: a, to: b },
    { from: b, to: a },
  ];
}

function pick<T>(all: readonly T[], part: number): T | undefined {
  return all[Math.floor(part * all.length)];
}
