/**
 * A machine of the cluster: cores, disks and a network card, each a queue; and what runs on it
 * hears of the world only through `deliver`.
 *
 *     alive     deliveries are heard at once
 *     paused    they wait until it continues, and its cores stand still; its clocks go on
 *     dead      they are never heard; what ran on it never runs again
 *
 * A machine that is started again is in its next life: nothing of the last one reaches it.
 */
import type { Clock } from '#engine/base';
import type { EventLoop } from './event-loop.ts';
import { Station } from './station.ts';
import { ALWAYS_WARM, type Idle, Warmth } from './warmth.ts';

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
