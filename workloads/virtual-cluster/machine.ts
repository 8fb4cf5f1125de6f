/**
 * A machine of the cluster: cores, disks and a network card, each a queue (`Station`). It cools
 * while it is idle (`Warmth`). What runs on it hears of the world only through `deliver`.
 *
 *     alive     deliveries are heard at once
 *     paused    they wait until it continues, and its cores stand still; its clocks go on
 *     dead      they are never heard; what ran on it never runs again
 *
 * A machine that is started again is in its next life: nothing of the last one reaches it.
 */
import { assert, type Clock } from '#engine/base';
import type { EventLoop } from '../verification/world/event-loop.ts';
import type { Calibration } from './calibration/calibration.ts';

export type MachineKind =
  | 'tablet server'
  | 'worker'
  | 'loader'
  | 'client'
  | 'oracle'
  | 'lock service'
  | 'batch worker';

export interface MachineSize {
  readonly cores: number;
  readonly disks: number;
}

export class Machine {
  readonly name: string;
  readonly kind: MachineKind;
  readonly cores: Station;
  readonly disks: Station;
  /** The network card, which sends. */
  readonly card: Station = new Station(1);
  readonly clock: Clock;
  readonly warmth: Warmth;
  /** Counts its starts. */
  life = 1;
  isAlive = true;
  /** Called when it dies, and then forgotten. */
  readonly atDeath: Set<() => void> = new Set();
  /** When it died last. */
  diedUs: number = -Infinity;
  readonly #loop: EventLoop;
  /**
   * When its cores finish what has come, as known when it came. A later pause does not move this,
   * so the pause counts as idle: the machine cools.
   */
  #worksUntilUs = 0;
  #pausedUntilUs = 0;
  #waiting: (() => void)[] = [];
  readonly #pauses: { readonly fromUs: number; readonly us: number }[] = [];

  constructor(
    loop: EventLoop,
    { name, kind }: { readonly name: string; readonly kind: MachineKind },
    { cores, disks }: MachineSize,
    idle: Idle = ALWAYS_WARM,
  ) {
    this.#loop = loop;
    this.name = name;
    this.kind = kind;
    this.cores = new Station(cores);
    this.disks = new Station(disks);
    this.clock = new MachineClock(loop, this);
    this.warmth = new Warmth(idle);
  }

  get hasPaused(): boolean {
    return this.#pauses.length > 0;
  }

  /**
   * Work for a core and then for the card comes now; returns when both will be finished. It joins
   * both queues now: if it were booked at the card for the moment when the core is done, later work
   * would wait for a card that is still idle.
   */
  take(coreUs: number, cardUs: number): number {
    return this.work(coreUs) + this.afterCoreUs(this.card, cardUs);
  }

  /**
   * How much later than its work for a core a call's work for this station ends. In a pause core
   * and station wait at the same time, so the pause is left out here.
   */
  afterCoreUs(station: Station, us: number): number {
    const { nowUs } = this.#loop;
    return station.take(nowUs, us) - Math.max(nowUs, this.#pausedUntilUs);
  }

  /** Work for a core alone comes now, of so much time on a busy machine; returns its end. */
  work(us: number): number {
    const { nowUs } = this.#loop;
    if (this.warmth.isConstant) return this.cores.take(nowUs, us);
    const beginsUs = Math.max(nowUs, this.#pausedUntilUs);
    const idleUs = Math.max(0, beginsUs - this.#worksUntilUs);
    const finishUs = this.cores.take(nowUs, this.warmth.workUs(us, idleUs));
    this.#worksUntilUs = Math.max(this.#worksUntilUs, finishUs);
    return finishUs;
  }

  /** Hears something that is for the given life. */
  deliver(life: number, hear: () => void): void {
    if (!this.isAlive || life !== this.life) return;
    if (this.#loop.nowUs < this.#pausedUntilUs) this.#waiting.push(hear);
    else hear();
  }

  /** Stands still for this long. */
  pause(us: number): void {
    const { nowUs } = this.#loop;
    const from = Math.max(nowUs, this.#pausedUntilUs);
    const untilUs = nowUs + us;
    if (!this.isAlive || untilUs <= from) return;
    this.#pauses.push({ fromUs: from, us: untilUs - from });
    for (const station of [this.cores, this.disks, this.card]) station.stand(from, untilUs - from);
    this.#pausedUntilUs = untilUs;
    this.#loop.at(untilUs, { happen: () => this.#continue() });
  }

  /** How much later work ends because of pauses that began while the work was in the machine. */
  delayedUs(arrivedUs: number, finishUs: number): number {
    if (this.#pauses.length === 0) return 0;
    let delayUs = 0;
    for (const { fromUs, us } of this.#pauses) {
      if (fromUs > arrivedUs && fromUs < finishUs + delayUs) delayUs += us;
    }
    return delayUs;
  }

  kill(): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.diedUs = this.#loop.nowUs;
    this.#waiting = [];
    this.#pauses.length = 0;
    this.#pausedUntilUs = 0;
    this.#worksUntilUs = Math.min(this.#worksUntilUs, this.diedUs);
    for (const station of [this.cores, this.disks, this.card]) station.clear(this.diedUs);
    for (const hear of this.atDeath) hear();
    this.atDeath.clear();
  }

  start(): void {
    if (this.isAlive) return;
    this.isAlive = true;
    this.life++;
  }

  #continue(): void {
    if (this.#loop.nowUs < this.#pausedUntilUs) return; // It was paused again meanwhile.
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const hear of waiting) hear();
  }
}

/** A wall clock that begins in 1970 and a monotonic clock, both exact. */
class MachineClock implements Clock {
  readonly #loop: EventLoop;
  readonly #machine: Machine;

  constructor(loop: EventLoop, machine: Machine) {
    this.#loop = loop;
    this.#machine = machine;
  }

  wallMs(): number {
    return this.#loop.nowUs / 1000;
  }

  monotonicMs(): number {
    return this.#loop.nowUs / 1000;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const { life } = this.#machine;
      const hear = (): void => this.#machine.deliver(life, resolve);
      if (signal === undefined) {
        this.#loop.after(Math.max(0, ms) * 1000, { happen: hear });
        return;
      }
      const wake = (): void => {
        signal.removeEventListener('abort', wake); // Thousands of sleeps share one signal.
        hear();
      };
      this.#loop.after(Math.max(0, ms) * 1000, { happen: wake });
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  /** At the same time, after all code that this moment woke waits again. */
  yield(): Promise<void> {
    return this.sleep(0);
  }
}

/*
 * A queue with servers, first come first served: the cores of a machine, its disks, its card.
 *
 * The order of the calls decides which work comes first, and each call says when its work will be
 * finished. So a station needs no event of its own: later work cannot overtake earlier work.
 */

export class Station {
  readonly servers: number;
  /** Pieces of work so far. */
  arrivals = 0;
  /** Time in which servers worked, or will have to for what has come. */
  busyUs = 0;
  /** Time that pieces of work waited for a server, in all. */
  waitedUs = 0;
  /** When each server has finished what has come so far. */
  readonly #freeUs: Float64Array;
  #standsUntilUs = 0;

  constructor(servers: number) {
    assert(Number.isSafeInteger(servers) && servers > 0, 'a station has servers');
    this.servers = servers;
    this.#freeUs = new Float64Array(servers);
  }

  /** Work of `serviceUs` comes now; returns when it will be finished. */
  take(nowUs: number, serviceUs: number): number {
    const free = this.#freeUs;
    let first = 0;
    let freeUs = free[0] ?? 0;
    for (let i = 1; i < free.length && freeUs > nowUs; i++) {
      const other = free[i] ?? 0;
      if (other >= freeUs) continue;
      first = i;
      freeUs = other;
    }
    const waitUs = freeUs > nowUs ? freeUs - nowUs : 0;
    const finishUs = nowUs + waitUs + serviceUs;
    free[first] = finishUs;
    this.arrivals++;
    this.busyUs += serviceUs;
    this.waitedUs += waitUs;
    return finishUs;
  }

  /** No server works for this long from `nowUs` on, which may be the end of an earlier stand. */
  stand(nowUs: number, us: number): void {
    const free = this.#freeUs;
    this.#standsUntilUs = nowUs + us;
    for (let i = 0; i < free.length; i++) free[i] = Math.max(free[i] ?? 0, nowUs) + us;
  }

  /** All work that has come is lost. What of it was not finished does not count in `busyUs`. */
  clear(nowUs: number): void {
    this.busyUs -= this.backlogUs(nowUs);
    this.#freeUs.fill(nowUs);
    this.#standsUntilUs = 0;
  }

  /** When no server works any more, if nothing else comes. */
  get idleUs(): number {
    return Math.max(...this.#freeUs);
  }

  /** Time of work that has come and is not finished. */
  backlogUs(nowUs: number): number {
    const fromUs = Math.max(nowUs, this.#standsUntilUs);
    return this.#freeUs.reduce((sum, freeUs) => sum + Math.max(0, freeUs - fromUs), 0);
  }
}

/*
 * How cold a machine is. While it is idle, other processes take its caches, so its next work is
 * slower. `missing` is the processor time that it takes to fill them again:
 *
 *     idle for t    missing grows with the square root of the time, about as was measured:
 *                   missing² = missing² + refill² × t, up to that of a machine idle for `longest`
 *     work of w     refilled = missing (1 - e^(-w / warming)); takes this time in addition;
 *                   missing = missing - refilled
 *
 * On a shared machine a lone document takes four times the processor time of one among many. The
 * costs of operations are those of a busy machine.
 */

export type Idle = Calibration['idle'];

/** A machine that is always as fast as when it is busy. */
export const ALWAYS_WARM: Idle = { refillUs: 0, longestMs: 1, warmingUs: 1 };

export class Warmth {
  /** Processor time that work has taken in addition. */
  extraUs = 0;
  readonly #idle: Idle;
  #missingUs = 0;

  constructor(idle: Idle) {
    this.#idle = idle;
  }

  get isConstant(): boolean {
    return this.#idle.refillUs === 0;
  }

  /** Processor time of work that usually takes `us`, on a machine that was idle for `idleUs`. */
  workUs(us: number, idleUs: number): number {
    if (this.isConstant) return us;
    const { refillUs, longestMs, warmingUs } = this.#idle;
    const idleMs = (this.#missingUs / refillUs) ** 2 + idleUs / 1000;
    const missingUs = refillUs * Math.sqrt(Math.min(longestMs, idleMs));
    const refilledUs = missingUs * refilledShare(us, warmingUs);
    this.#missingUs = missingUs - refilledUs;
    this.extraUs += refilledUs;
    return us + refilledUs;
  }
}

/** A piece of work alone, after a warm machine was idle. */
export interface Alone {
  readonly idleMs: number;
  readonly us: number;
}

/** The processor time that such a piece of work takes in addition. */
export function extraUs({ refillUs, longestMs, warmingUs }: Idle, { idleMs, us }: Alone): number {
  return refillUs * Math.sqrt(Math.min(longestMs, idleMs)) * refilledShare(us, warmingUs);
}

function refilledShare(us: number, warmingUs: number): number {
  return 1 - Math.exp(-us / warmingUs);
}
