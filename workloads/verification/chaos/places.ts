/**
 * Which process of a round is on which host, and which hosts have something to say to each other:
 * a cut between two that have not would hit nothing.
 *
 *     on HBase    host-1   ZooKeeper
 *                 host-2   NameNode, master
 *                 then     a region server and a DataNode each
 *     the rest             the oracles, each with a witness, the lock service, and the clients,
 *                          on a host each, and again from the first if there are more of them
 *
 * The watcher is where the parent is, which no cut separates from anything. An embedded
 * store is served by the parent, through its folder, which no cut separates from anything either.
 */
import type { Host } from '../../harness/hosts/network.ts';

export interface Places {
  readonly zooKeeper: Host | undefined;
  /** With the NameNode. */
  readonly master: Host | undefined;
  readonly regionServers: readonly Host[];
  /** Of these, the first have the oracles, in their order. */
  readonly engine: readonly Host[];
  /** By slot, or by the name of a process of HBase; undefined for the watcher. */
  readonly hostOf: (name: string) => Host | undefined;
}

/** Region servers aside, hosts that a round on HBase needs at least: two have the rest of HBase. */
const HBASE_HOSTS = 2;
const ENGINE_HOSTS_MIN = 2;
const ORACLES = 2;

export function hostsMin(regionServers: number): number {
  return regionServers === 0 ? ENGINE_HOSTS_MIN : HBASE_HOSTS + regionServers + ENGINE_HOSTS_MIN;
}

/**
 * @param hosts at least `hostsMin`
 * @param regionServers 0 if the store is not an HBase that the round starts
 */
export function placesOn(hosts: readonly Host[], regionServers: number): Places {
  const [zooKeeper, master] = regionServers === 0 ? [] : hosts;
  const others = regionServers === 0 ? hosts : hosts.slice(HBASE_HOSTS);
  const servers = others.slice(0, regionServers);
  const engine = others.slice(regionServers);
  const ofEngine = (index: number): Host | undefined => engine[index % engine.length];
  const hostOf = (name: string): Host | undefined => {
    const [, kind = '', number = ''] = /^(\D*?)-?(\d*)$/.exec(name) ?? [];
    switch (kind) {
      case 'zookeeper':
        return zooKeeper;
      case 'name-node':
      case 'master':
        return master;
      case 'region-server':
      case 'data-node':
        return servers[Number(number) - 1];
      case 'oracle':
      case 'witness':
        return ofEngine(Number(number) - 1);
      case 'lock-service':
        return ofEngine(ORACLES);
      case '':
        return ofEngine(ORACLES + Number(number));
      default:
        return undefined;
    }
  };
  return { zooKeeper, master, regionServers: servers, engine, hostOf };
}
