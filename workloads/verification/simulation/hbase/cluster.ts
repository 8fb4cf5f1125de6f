/**
 * A simulated HBase in virtual time: what happens to its regions and servers, at moments that the
 * seed decides.
 *
 *     move, split, merge   a region leaves its server, and is open again somewhat later
 *     in a batch           the same, between two actions of one batch
 *     pause                a server stands still. If its session ends meanwhile, its regions are
 *                          opened elsewhere; it goes on, answers with what it had, notices that it
 *                          is dead, and comes back as a new process at the same address
 *     cutOff               a server is cut off from ZooKeeper and the master, and from no client. Its
 *                          regions are opened elsewhere, once its log has been recovered; it goes on,
 *                          answers with what it had, and notices as after a pause. Only where a run
 *                          asks for it
 *     crash                a server's process ends; its regions wait until its session ends, or a new
 *                          process begins at its address
 */
import {
  SimulatedHBase,
  type SimulatedHBaseOptions,
  type SimulatedRegion,
  type SimulatedServer,
  type SimulatedTable,
} from '../../../../engine/testing/hbase/simulated-hbase.ts';
import { type Services, servicesOf } from '../../../../engine/testing/hbase/services.ts';
import { type Random, unreachable } from '../../../../engine/base/index.ts';
import { chance, chooseBetween } from '../chance.ts';
import type { Timeline } from '../../world/event-loop.ts';

/** What happens to the cluster, in events per second of virtual time. */
export const CLUSTER_EVENTS = ['move', 'split', 'merge', 'pause', 'crash'] as const;
export type ClusterEvent = (typeof CLUSTER_EVENTS)[number] | 'cutOff';

/** What happens to one call. */
export const CALL_FAULTS = [
  /** The connection breaks: calls on it whose answer has not left yet get none. */
  'breakConnection',
  /** The server stands still after it has answered, before the answer leaves. */
  'pauseBeforeAnswer',
  /** The server stands still once its answer has left, and the answer is long on its way. */
  'pauseAfterAnswer',
  /** The process of the server ends after it has applied the call. */
  'crashBeforeAnswer',
  /** Applied, and answered with an exception that does not say so. */
  'failAfter',
  /** Refused, because the server is busy. */
  'busy',
] as const;
export type CallFault = (typeof CALL_FAULTS)[number];

export interface HBaseKnobs {
  /** How many region servers there are. */
  readonly servers: number;
  /** Events per second. Absent: never. */
  readonly events: Readonly<Partial<Record<ClusterEvent, number>>>;
  /** Shares of calls. Absent: never. */
  readonly calls: Readonly<Partial<Record<CallFault, number>>>;
  /** The share of a batch's actions before which the action's region leaves its server. */
  readonly moveInBatch: number;
  /** How long a request or an answer is on its way, at most, in milliseconds. */
  readonly delayMsMax: number;
  /** A server without a sign of life for this long has lost its regions. */
  readonly sessionMs: number;
  /** Longest pause of a server. */
  readonly pauseMsMax: number;
  /** How long a server goes on without its session, at most, before it notices. */
  readonly noticeMsMax: number;
  /** How long a region is on its way to its next server, at most. */
  readonly openMsMax: number;
  /**
   * The share of the rests between two tries of a call in which the machine of its process stops.
   * Only where the client runs alone. Absent: none.
   */
  readonly stopInRest?: number | undefined;
  /** Whether ranges are read in reverse. Only where the client runs alone. Default false. */
  readonly reverse?: boolean | undefined;
}

/** A random subset of the names, each with up to twice the usual rate. */
export function randomRates<Name extends string>(
  random: Random,
  names: readonly Name[],
  usual: number,
): Partial<Record<Name, number>> {
  const rates = names.flatMap((name) =>
    random.fraction() < 0.6 ? [[name, usual * random.pick([0.3, 1, 2])]] : [],
  );
  return Object.fromEntries(rates) as Partial<Record<Name, number>>;
}

const MASTER = 'master:16000';
/**
 * How long HBase takes at least, in milliseconds, from when a server can write no more until its
 * regions are open elsewhere: what the client relies on (`PROOF_MS` in servers.ts).
 */
const RECOVERY_MS_MIN = 1_000;
/** How long a server that is cut off goes on without its session, at most, in milliseconds. */
const CUT_OFF_MS_MAX = 6_000;
/** For draws of chance: ids that no process has. */
const EVENT_ID = 2_000_000;
const BATCH_ID = 2_100_000;
const REGION_ID = 2_200_000;

/** A process of a server, as the network sees it. */
interface ServerProcess {
  /** Which process it is at this address: a connection is to one of them. */
  number: number;
  pausedUntilMs: number;
  /** What was in its sockets when it stopped. */
  waiting: (() => void)[];
}

export class HBaseCluster {
  readonly hbase: SimulatedHBase;
  readonly services: Services;
  /** The addresses that a client is given: one process that answers is enough to find all. */
  readonly seeds: readonly string[];
  /** How often each event has happened; of the faults of calls, how often one was drawn. */
  readonly counts: Partial<Record<ClusterEvent | CallFault | 'moveInBatch' | 'expired', number>> =
    {};
  /** False at the beginning and at the end of a run: then nothing happens to the cluster. */
  troubled = false;
  /** Called when the process at an address has ended. */
  readonly onEnd: Set<(address: string) => void> = new Set();
  readonly #seed: number;
  readonly #knobs: HBaseKnobs;
  readonly #timeline: Timeline;
  readonly #processes = new Map<string, ServerProcess>();
  #drawn = 0;

  constructor(
    { seed, knobs, timeline }: { seed: number; knobs: HBaseKnobs; timeline: Timeline },
    options: Pick<SimulatedHBaseOptions, 'onApplied' | 'onTable'>,
  ) {
    this.#seed = seed;
    this.#knobs = knobs;
    this.#timeline = timeline;
    const servers = Array.from({ length: knobs.servers }, (_, i) => `server${i}:16020`);
    this.seeds = [MASTER, ...servers];
    this.hbase = new SimulatedHBase({
      master: MASTER,
      servers,
      rowsPerAnswer: 1 + this.#choose(EVENT_ID, 5),
      beforeAction: (region) => this.#inBatch(region),
      onApplied: options.onApplied,
      onTable: (table, isDropped) => {
        options.onTable?.(table, isDropped);
        if (!isDropped) this.#openUnassigned(table);
      },
    });
    this.services = servicesOf(this.hbase);
    for (const address of this.seeds) {
      this.#processes.set(address, { number: 1, pausedUntilMs: 0, waiting: [] });
    }
  }

  /** From now on things happen. */
  trouble(): void {
    this.troubled = true;
    const events: readonly ClusterEvent[] = [...CLUSTER_EVENTS, 'cutOff'];
    events.forEach((event, i) => this.#scheduleNext(event, EVENT_ID + 1 + i, 0));
  }

  count(what: keyof HBaseCluster['counts']): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  /** The number of the process at the address; undefined if none listens there. */
  processAt(address: string): number | undefined {
    if (this.hbase.server(address)?.state === 'down') return undefined;
    return this.#processes.get(address)?.number;
  }

  /** Runs `action` at the server, now or when it goes on. */
  atServer(address: string, action: () => void): void {
    const process = this.#processes.get(address) as ServerProcess;
    if (this.#timeline.nowMs < process.pausedUntilMs) process.waiting.push(action);
    else action();
  }

  /** @returns whether the server was working until now */
  pause(address: string, drawn: number): boolean {
    const server = this.hbase.server(address);
    const process = this.#processes.get(address) as ServerProcess;
    if (server?.state !== 'serving' || this.#timeline.nowMs < process.pausedUntilMs) return false;
    const { sessionMs, pauseMsMax } = this.#knobs;
    // Most pauses are longer than a session.
    const ms = chooseBetween(drawn < 0.2 ? 1 : sessionMs, pauseMsMax, drawn);
    process.pausedUntilMs = this.#timeline.nowMs + ms;
    // Its last sign of life to ZooKeeper may be as old as a third of its session.
    const expiresMs = Math.ceil(sessionMs * (2 / 3 + this.#draw(REGION_ID) / 3));
    if (expiresMs < ms) this.#timeline.after(expiresMs, () => this.#expire(server));
    this.#timeline.after(ms, () => this.#goOn(server, process));
    return true;
  }

  #goOn(server: SimulatedServer, process: ServerProcess): void {
    const { waiting } = process;
    process.waiting = [];
    // Its threads go on in another order: the queue, from a random action on.
    const first = this.#choose(REGION_ID, waiting.length);
    for (const action of [...waiting.slice(first), ...waiting.slice(0, first)]) action();
    if (server.state === 'expired') this.#noticeSoon(server, this.#knobs.noticeMsMax);
  }

  /** A server without a session notices, ends, and starts again. */
  #noticeSoon(server: SimulatedServer, msMax: number): void {
    this.#timeline.after(this.#choose(REGION_ID, msMax), () => {
      this.#end(server);
      this.#timeline.after(this.#choose(REGION_ID, this.#knobs.sessionMs), () =>
        this.#start(server),
      );
    });
  }

  /** @returns whether the server was working until now */
  cutOff(address: string): boolean {
    const server = this.hbase.server(address);
    const process = this.#processes.get(address) as ServerProcess;
    if (server?.state !== 'serving' || this.#timeline.nowMs < process.pausedUntilMs) return false;
    this.#expire(server, RECOVERY_MS_MIN);
    this.#noticeSoon(server, CUT_OFF_MS_MAX);
    return true;
  }

  /** @returns whether the server was working until now */
  crash(address: string): boolean {
    const server = this.hbase.server(address);
    const process = this.#processes.get(address) as ServerProcess;
    if (server?.state !== 'serving' || this.#timeline.nowMs < process.pausedUntilMs) return false;
    const { sessionMs } = this.#knobs;
    const { number } = process;
    this.#end(server);
    this.#timeline.after(sessionMs, () => {
      if (process.number === number) this.#expire(server);
    });
    this.#timeline.after(this.#choose(REGION_ID, 2 * sessionMs), () => this.#start(server));
    return true;
  }

  #expire(server: SimulatedServer, openMsMin?: number): void {
    const regions = this.hbase.expire(server);
    if (regions.length > 0 && server.state === 'expired') this.count('expired');
    for (const region of regions) this.#openSoon(region, openMsMin);
  }

  #end(server: SimulatedServer): void {
    this.hbase.end(server);
    const process = this.#processes.get(server.address) as ServerProcess;
    process.waiting = [];
    for (const tell of this.onEnd) tell(server.address);
  }

  #start(server: SimulatedServer): void {
    if (server.state !== 'down') return;
    this.#expire(server); // The master sees that it is another process.
    this.hbase.start(server);
    (this.#processes.get(server.address) as ServerProcess).number++;
  }

  /** Opens the regions of a new table for which there was no server. */
  #openUnassigned({ name }: SimulatedTable): void {
    for (const region of this.hbase.regionsOf(name)) {
      if (region.server === undefined) this.#openSoon(region);
    }
  }

  #openSoon(region: SimulatedRegion, openMsMin = 1): void {
    this.#timeline.after(openMsMin + this.#choose(REGION_ID, this.#knobs.openMsMax), () => {
      if (!this.hbase.regionsOf().includes(region)) return;
      const serving = this.hbase.servers.filter(({ state }) => state === 'serving');
      const server = serving[this.#choose(REGION_ID, serving.length - 1)];
      if (server === undefined) this.#openSoon(region);
      else this.hbase.open(region, server);
    });
  }

  /** An open region leaves its server, and is opened again soon. */
  #leave(region: SimulatedRegion): void {
    this.hbase.close(region);
    this.#openSoon(region);
  }

  /** Only open regions are moved, split and merged. */
  #isOpen({ server }: SimulatedRegion): boolean {
    if (server?.state !== 'serving') return false;
    return (
      this.#timeline.nowMs >= (this.#processes.get(server.address) as ServerProcess).pausedUntilMs
    );
  }

  #inBatch(region: SimulatedRegion): void {
    if (!this.troubled || !this.#isOpen(region)) return;
    if (this.#draw(BATCH_ID) >= this.#knobs.moveInBatch) return;
    this.count('moveInBatch');
    this.#leave(region);
  }

  #scheduleNext(event: ClusterEvent, id: number, number: number): void {
    const perSecond = this.#knobs.events[event] ?? 0;
    if (perSecond === 0) return;
    const draw = (purpose: number): number => chance(this.#seed, id, number, purpose);
    this.#timeline.after((-Math.log(1 - draw(0)) * 1000) / perSecond, () => {
      if (!this.troubled) return;
      this.#happen(event, draw(1), draw(2));
      this.#scheduleNext(event, id, number + 1);
    });
  }

  #happen(event: ClusterEvent, which: number, drawn: number): void {
    const { hbase } = this;
    const regions = hbase.regionsOf().filter((region) => this.#isOpen(region));
    const region = regions[chooseBetween(0, regions.length - 1, which)];
    const server = hbase.servers[chooseBetween(0, hbase.servers.length - 1, which)];
    if (region === undefined || server === undefined) return;
    if (this.#change(event, { region, server, regions, drawn })) this.count(event);
  }

  /** @returns whether the event changed anything */
  #change(
    event: ClusterEvent,
    {
      region,
      server,
      regions,
      drawn,
    }: {
      readonly region: SimulatedRegion;
      readonly server: SimulatedServer;
      readonly regions: readonly SimulatedRegion[];
      readonly drawn: number;
    },
  ): boolean {
    const { hbase } = this;
    switch (event) {
      case 'move':
        this.#leave(region);
        return true;
      case 'split': {
        // Never at the first row of the table.
        const [, ...rows] = [...(hbase.tables.get(region.table)?.rows.keys() ?? [])].toSorted();
        const at = rows[chooseBetween(0, rows.length - 1, drawn)] ?? '';
        const daughters = hbase.split(region, at);
        for (const daughter of daughters) this.#openSoon(daughter);
        return daughters.length > 0;
      }
      case 'merge': {
        const next = regions.find(
          ({ table, start }) => table === region.table && start === region.end,
        );
        const merged = next && hbase.merge(region, next);
        if (merged) this.#openSoon(merged);
        return merged !== undefined;
      }
      case 'pause':
        return this.pause(server.address, drawn);
      case 'crash':
        return this.crash(server.address);
      case 'cutOff':
        return this.cutOff(server.address);
      default:
        return unreachable(event);
    }
  }

  /** A stream, unlike other draws: taking one event out changes all later ones. */
  #draw(id: number): number {
    return chance(this.#seed, id, this.#drawn++, 0);
  }

  /** From 0 to `max`. */
  #choose(id: number, max: number): number {
    return chooseBetween(0, max, this.#draw(id));
  }
}
