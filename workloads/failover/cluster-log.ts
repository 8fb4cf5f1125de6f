/**
 * What the master of an HBase did, and when, as its log says: the cluster's own state.
 *
 *     "processing expiration"        it has found a server dead: its session with ZooKeeper is over
 *     "regionState=OPEN"             a region is served, and by which server
 *     "regionState=CLOSED"           it is served no more: it is split, or its table is dropped
 *     "Registering regionserver"     a server has come, or come back
 *
 * The sentences are those of HBase 2.6. The log has the time of this machine's clock, in UTC.
 */

export type ClusterEvent =
  | { readonly kind: 'dead'; readonly atMs: number; readonly server: string }
  | { readonly kind: 'registered'; readonly atMs: number; readonly server: string }
  | { readonly kind: 'closed'; readonly atMs: number; readonly region: string }
  | {
      readonly kind: 'open';
      readonly atMs: number;
      readonly server: string;
      readonly region: string;
    };

/** `host,port,start code`: a server that is started again is another one. */
const SERVER = String.raw`([\w.-]+,\d+,\d+)`;
const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)[,.](\d{3})Z/;
const DEAD = new RegExp(`processing expiration \\[${SERVER}\\]`);
const REGISTERED = new RegExp(`Registering regionserver=${SERVER}`);
const OPEN = new RegExp(
  `updating hbase:meta row=(\\w+), regionState=OPEN,.* regionLocation=${SERVER}`,
);
const CLOSED = /updating hbase:meta row=(\w+), regionState=CLOSED\b/;

/** In the order of the log. */
export function readEvents(log: string): readonly ClusterEvent[] {
  return log.split('\n').flatMap(eventOf);
}

function eventOf(line: string): readonly ClusterEvent[] {
  const [, time, milliseconds] = TIME.exec(line) ?? [];
  if (time === undefined) return [];
  const atMs = Date.parse(`${time}.${milliseconds}Z`);
  const [, dead] = DEAD.exec(line) ?? [];
  if (dead !== undefined) return [{ kind: 'dead', atMs, server: dead }];
  const [, registered] = REGISTERED.exec(line) ?? [];
  if (registered !== undefined) return [{ kind: 'registered', atMs, server: registered }];
  const [, closed] = CLOSED.exec(line) ?? [];
  if (closed !== undefined) return [{ kind: 'closed', atMs, region: closed }];
  const [, region, server] = OPEN.exec(line) ?? [];
  if (region === undefined || server === undefined) return [];
  return [{ kind: 'open', atMs, server, region }];
}

/** The failure as the cluster saw it; times are undefined for what has not happened. */
export interface Failover {
  /** When the last of the killed servers was found dead. */
  readonly detectedMs: number | undefined;
  /** Regions that the killed servers had. */
  readonly regions: number;
  /** When the last of those was served again; undefined also if there were none. */
  readonly reassignedMs: number | undefined;
  /** When as many servers had come back as were killed. */
  readonly returnedMs: number | undefined;
}

/** @param killedMs by the machine's clock; every server found dead after it counts as killed */
export function failoverOf(
  events: readonly ClusterEvent[],
  { killedMs, servers }: { readonly killedMs: number; readonly servers: number },
): Failover {
  const after = events.filter(({ atMs }) => atMs >= killedMs);
  const deaths = after.filter((event) => event.kind === 'dead');
  const dead = new Set(deaths.map(({ server }) => server));
  const lost = regionsOf(
    events.filter(({ atMs }) => atMs < killedMs),
    dead,
  );
  const reopened = new Map<string, number>();
  for (const event of after) {
    if (event.kind !== 'open' || !lost.has(event.region) || dead.has(event.server)) continue;
    if (!reopened.has(event.region)) reopened.set(event.region, event.atMs);
  }
  const returned = after.filter(({ kind }) => kind === 'registered');
  return {
    detectedMs: dead.size < servers ? undefined : Math.max(...deaths.map(({ atMs }) => atMs)),
    regions: lost.size,
    reassignedMs:
      lost.size === 0 || reopened.size < lost.size ? undefined : Math.max(...reopened.values()),
    returnedMs: returned[servers - 1]?.atMs,
  };
}

function regionsOf(
  events: readonly ClusterEvent[],
  servers: ReadonlySet<string>,
): ReadonlySet<string> {
  const places = new Map<string, string>();
  for (const event of events) {
    if (event.kind === 'open') places.set(event.region, event.server);
    if (event.kind === 'closed') places.delete(event.region);
  }
  return new Set([...places].filter(([, server]) => servers.has(server)).map(([region]) => region));
}
