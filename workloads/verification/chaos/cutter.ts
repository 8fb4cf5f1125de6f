/**
 * Makes the cuts of a round (cuts.ts), one after the other:
 *
 *   1. Choose what it hits, now that it is known which oracle leads.
 *   2. Cut, kill or stop, and wait for as long as the cut lasts.
 *   3. Ask the network what it has dropped: a cut that hit nothing is a violation.
 *   4. Heal, and wait until every client has begun and committed a transaction since: one that has
 *      not after `LIVENESS_MS` is a violation.
 *
 * What ends on its own of HBase, because it was cut off for longer than its session, is started
 * again, as an operator would have it.
 */
import { connectOracle, type LocalHBase, systemClock } from '#engine';
import { live } from '#harness';
import type { Dropped, Host, HostNetwork } from '../../harness/hosts/network.ts';
import { monotonicMs } from '../../harness/load/monotonic-clock.ts';
import type { Violation } from '../judges/index.ts';
import type { PastCut } from './cut-judges.ts';
import { CUTS, type Cut, type CutName } from './cuts.ts';
import type { Fleet } from './fleet.ts';
import type { Goal } from './goal.ts';
import { type Harm, harmOf } from './harm.ts';
import type { Places } from './places.ts';

/**
 * How soon after a heal every client has committed, in milliseconds. A region server that was cut
 * off for longer than its session starts anew, and a system's TCP waits before it tries again for
 * up to as long as it was cut.
 */
const LIVENESS_MS = 90_000;
/** Milliseconds between two looks. */
const LOOK_MS = 100;
/** Moments of a host that flaps, in milliseconds. */
const FLAP_MS = 250;
/** How much longer a cut lasts that has not hit anything yet, in milliseconds. */
const HIT_MS = 5_000;
/**
 * How often a process of HBase may end within `LIVENESS_MS`. More often, it does not come back,
 * whatever is done about it.
 */
const RESTARTS_MAX = 10;
/** How long the oracles are asked which of them leads, in milliseconds. */
const LEADER_MS = 3_000;

export interface CutCounts {
  /** Cuts that have hit something. */
  readonly cuts: ReadonlyMap<CutName, number>;
  /** Packets that hosts could not send. */
  readonly dropped: Dropped;
  /** Processes killed or stopped together with all others of their host. */
  readonly processes: number;
  /** Processes of HBase that ended on their own, or were killed, and were started again. */
  readonly restarts: number;
  /** Milliseconds from each heal until every client had committed. */
  readonly recoveriesMs: readonly number[];
}

export interface CutterOptions {
  readonly network: HostNetwork;
  readonly places: Places;
  readonly fleet: Fleet;
  readonly goal: Goal;
  /** The addresses of the oracles, the one of `oracle-1` first. */
  readonly oracles: readonly string[];
  /** Absent: the store is not on hosts. */
  readonly hbase: LocalHBase | undefined;
  /** Slots of all clients. */
  readonly clients: readonly string[];
  readonly isOver: () => boolean;
}

/**
 * Kills or stops a process, unless the cut is past before there is one to hit, and resolves with
 * its slot.
 */
type During = (isPast: () => boolean) => Promise<string | undefined>;

export class Cutter {
  readonly past: PastCut[] = [];
  readonly violations: Violation[] = [];
  readonly #options: CutterOptions;
  readonly #counts = new Map<CutName, number>();
  readonly #dropped = { unplugged: 0, blocked: 0 };
  readonly #recoveriesMs: number[] = [];
  #processes = 0;
  #restarts = 0;

  constructor(options: CutterOptions) {
    this.#options = options;
  }

  get counts(): CutCounts {
    return {
      cuts: this.#counts,
      dropped: this.#dropped,
      processes: this.#processes,
      restarts: this.#restarts,
      recoveriesMs: this.#recoveriesMs,
    };
  }

  /** How many cuts have hit something. */
  get hits(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Starts again what ends of HBase, until the signal, or one that ends again and again. */
  async keepHBase(signal: AbortSignal): Promise<void> {
    const { hbase } = this.#options;
    if (hbase === undefined) return;
    const names = hbase.processes().map(({ name }) => name);
    const startedMs = new Map<string, readonly number[]>();
    while (!signal.aborted) {
      const running = new Set(hbase.processes().map(({ name }) => name));
      for (const name of names.filter((one) => !running.has(one))) {
        const nowMs = monotonicMs();
        const recent = startedMs.get(name)?.filter((atMs) => atMs > nowMs - LIVENESS_MS) ?? [];
        if (recent.length >= RESTARTS_MAX) {
          const message = `${name} has ended ${RESTARTS_MAX} times within ${LIVENESS_MS / 1000} s; its log is in ${hbase.logs}`;
          this.violations.push({ claim: 'cuts: HBase comes back', message });
          return;
        }
        startedMs.set(name, [...recent, nowMs]);
        this.#restarts++;
        await hbase.start(name);
      }
      await systemClock.sleep(LOOK_MS, signal);
    }
  }

  /** @param during is called once, while the cut lasts, if it is to be a double one */
  async make(cut: Cut, during: During): Promise<void> {
    let leader = await this.#leader();
    // Something else takes its time: no cut would say much now.
    while (leader === undefined && !this.#options.isOver()) leader = await this.#leader();
    if (leader === undefined) return;
    const { places, clients, hbase } = this.#options;
    const harm = harmOf(cut, { places, clients, leader, isShared: hbase === undefined });
    const hosts = [harm.unplugged, ...(harm.blocked ?? []).map(({ from }) => from)].filter(
      (host) => host !== undefined,
    );
    const before = await this.#droppedBy(hosts);
    const hit = await this.#begin(harm, cut);
    live.event(`cut off: ${CUTS[cut.what]}`);
    const fromMs = monotonicMs();
    const isPast = (): boolean => this.#options.isOver() || monotonicMs() > fromMs + cut.forMs;
    const hitting = cut.isDouble ? during(isPast) : undefined;
    hitting?.catch(() => {}); // It is awaited when the cut is past, and may fail before.
    if (cut.what === 'flapping' && harm.unplugged) await this.#flap(harm.unplugged, isPast);
    else while (!isPast()) await systemClock.sleep(LOOK_MS);
    const hitSlot = await hitting;
    const after = await this.#droppedSince(before, hosts);
    const untilMs = monotonicMs();
    await this.#heal(harm);
    this.#prove(cut, hit, { before, after });
    const { stalled = [] } = harm;
    this.past.push({ what: CUTS[cut.what], fromMs, untilMs, stalled, hit: hitSlot });
    await this.#awaitLife(cut);
  }

  async #begin({ unplugged, blocked = [], killed, stopped }: Harm, { forMs }: Cut) {
    const { network } = this.#options;
    if (unplugged !== undefined) await network.unplug(unplugged);
    for (const { from, to } of blocked) await network.block(from, to);
    if (killed !== undefined) return this.#killAll(killed);
    return stopped === undefined ? 0 : this.#stopAll(stopped, forMs);
  }

  async #heal({ unplugged, blocked = [], stopped }: Harm): Promise<void> {
    const { network, hbase } = this.#options;
    if (unplugged !== undefined) await network.plug(unplugged);
    for (const { from, to } of blocked) await network.unblock(from, to);
    if (stopped !== undefined) for (const name of this.#ofHBase(stopped)) hbase?.resume(name);
  }

  /** It ends unplugged. */
  async #flap(host: Host, isPast: () => boolean): Promise<void> {
    const { network } = this.#options;
    while (!isPast()) {
      await systemClock.sleep(FLAP_MS);
      await network.plug(host);
      await systemClock.sleep(FLAP_MS);
      await network.unplug(host);
    }
    await systemClock.sleep(FLAP_MS);
  }

  async #killAll(host: Host): Promise<number> {
    const { hbase, fleet, places } = this.#options;
    const names = this.#ofHBase(host);
    await Promise.all(names.map(async (name) => hbase?.kill(name)));
    return names.length + fleet.killAll((slot) => places.hostOf(slot) === host);
  }

  #stopAll(host: Host, forMs: number): number {
    const { hbase, fleet, places } = this.#options;
    const names = this.#ofHBase(host);
    for (const name of names) hbase?.pause(name);
    return names.length + fleet.stopAll((slot) => places.hostOf(slot) === host, forMs);
  }

  #ofHBase(host: Host): readonly string[] {
    const { hbase, places } = this.#options;
    const names = hbase?.processes().map(({ name }) => name) ?? [];
    return names.filter((name) => places.hostOf(name) === host);
  }

  async #droppedBy(hosts: readonly Host[]): Promise<Dropped> {
    let [unplugged, blocked] = [0, 0];
    for (const host of new Set(hosts)) {
      const of = await this.#options.network.dropped(host);
      unplugged += of.unplugged;
      blocked += of.blocked;
    }
    return { unplugged, blocked };
  }

  /** On a busy machine, nothing may be sent for a while: the cut lasts until something was. */
  async #droppedSince(before: Dropped, hosts: readonly Host[]): Promise<Dropped> {
    const untilMs = monotonicMs() + HIT_MS;
    for (;;) {
      const after = await this.#droppedBy(hosts);
      const isHit = after.unplugged + after.blocked > before.unplugged + before.blocked;
      if (isHit || hosts.length === 0) return after;
      if (monotonicMs() > untilMs || this.#options.isOver()) return after;
      await systemClock.sleep(LOOK_MS);
    }
  }

  #prove(
    { what, forMs }: Cut,
    hit: number,
    { before, after }: { readonly before: Dropped; readonly after: Dropped },
  ): void {
    const unplugged = after.unplugged - before.unplugged;
    const blocked = after.blocked - before.blocked;
    this.#dropped.unplugged += unplugged;
    this.#dropped.blocked += blocked;
    this.#processes += hit;
    if (unplugged + blocked + hit > 0) {
      this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
      return;
    }
    if (this.#options.isOver()) return; // It was cut short.
    const message = `no packet was dropped and no process hit in ${Math.round(forMs)} ms: ${CUTS[what]}`;
    this.violations.push({ claim: 'cuts: each hits something', message });
  }

  async #awaitLife({ what }: Cut): Promise<void> {
    const { goal, clients, isOver } = this.#options;
    const healedMs = monotonicMs();
    let waiting = clients;
    while (!isOver()) {
      goal.readOn();
      waiting = waiting.filter((slot) => goal.lastBegan(slot) < healedMs);
      if (waiting.length === 0) {
        this.#recoveriesMs.push(monotonicMs() - healedMs);
        return;
      }
      if (monotonicMs() > healedMs + LIVENESS_MS) {
        const message = `process ${waiting.join(' and ')} committed nothing within ${LIVENESS_MS / 1000} s of the heal: ${CUTS[what]}`;
        this.violations.push({ claim: 'cuts: after the heal all requests finish', message });
        return;
      }
      await systemClock.sleep(LOOK_MS);
    }
  }

  /** The host of the oracle that hands out timestamps; undefined if none does for a while. */
  async #leader(): Promise<Host | undefined> {
    const { oracles, places } = this.#options;
    const clients = oracles.map((address) =>
      connectOracle({ addresses: [address], timeoutMs: LEADER_MS, insecure: true }),
    );
    const asked = clients.map((client, i) =>
      client.next().then(() => places.hostOf(`oracle-${i + 1}`)),
    );
    const leader = await Promise.any(asked).catch(() => undefined);
    await Promise.all(clients.map((client) => client.close()));
    return leader;
  }
}
