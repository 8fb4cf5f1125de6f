/**
 * A process of the explorer: it hears of the world only through `deliver`, and acts only then.
 *
 *     alive     deliveries are heard at once
 *     paused    they wait until it goes on; it does not know that it was paused
 *     dead      they are never heard, and its promises never settle
 *
 * Its clock stands still until a choice lets time pass. Only short sleeps, such as a backoff, end
 * at once: a process that sleeps before it sends acts like one whose message takes long. Its own
 * clock moves on by them, or it would look at a lock forever without ever waiting long enough. Who
 * only sleeps, again and again, polls for something: that ends when the process hears something.
 */
import type { Clock } from '../../../../engine/base/index.ts';

/** Longer than any backoff, shorter than any rest that is meant to be one. */
const SHORT_MS = 300;
/** After so many short sleeps, the next one waits until the process hears something. */
const SHORT_SLEEPS_MAX = 8;

export interface ExplorerSleeper {
  readonly process: ExplorerProcess;
  readonly wakeMs: number;
  readonly wake: () => void;
}

export interface ProcessTime {
  readonly nowMs: number;
  readonly sleepers: ExplorerSleeper[];
}

export class ExplorerProcess {
  readonly index: number;
  /** Its name in this life, which is its liveness token, too. */
  readonly name: string;
  readonly clock: Clock;
  isAlive = true;
  isPaused = false;
  /** The time for which its machine was suspended: its monotonic clock stood still. */
  suspendedMs = 0;
  /** Since when it is suspended. */
  suspendedSinceMs: number | undefined;
  #waiting: (() => void)[] = [];
  /** Ends of short sleeps that wait until it hears something. */
  readonly #polling: (() => void)[] = [];
  #sleptMs = 0;
  #shortSleeps = 0;
  readonly #time: ProcessTime;

  constructor(index: number, name: string, time: ProcessTime) {
    this.index = index;
    this.name = name;
    this.#time = time;
    this.clock = {
      wallMs: () => this.#time.nowMs + this.#sleptMs,
      monotonicMs: () => this.#monotonicMs(),
      sleep: (ms, signal) => this.#sleep(ms, signal),
      yield: () => Promise.resolve(),
    };
  }

  deliver(hear: () => void): void {
    if (!this.isAlive) return;
    this.#shortSleeps = 0;
    if (this.isPaused) {
      this.#waiting.push(hear);
      return;
    }
    hear();
    for (const wake of this.#polling.splice(0, Infinity)) wake();
  }

  /** @param suspends whether its machine is suspended, so that its monotonic clock stands still */
  pause(suspends: boolean): void {
    this.isPaused = true;
    if (suspends) this.suspendedSinceMs = this.#time.nowMs;
  }

  /** It hears what has waited, in that order. */
  resume(): void {
    this.isPaused = false;
    this.suspendedMs += this.#time.nowMs - (this.suspendedSinceMs ?? this.#time.nowMs);
    this.suspendedSinceMs = undefined;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const hear of waiting) this.deliver(hear);
  }

  kill(): void {
    this.isAlive = false;
    this.#waiting = [];
  }

  #monotonicMs(): number {
    const untilMs = this.suspendedSinceMs ?? this.#time.nowMs;
    return untilMs - this.suspendedMs + this.#sleptMs;
  }

  #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    const isShort = ms < SHORT_MS;
    if (isShort && ++this.#shortSleeps <= SHORT_SLEEPS_MAX) {
      this.#sleptMs += Math.max(0, ms);
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const { sleepers } = this.#time;
      const end = (): void => {
        signal?.removeEventListener('abort', end);
        const at = sleepers.indexOf(sleeper);
        if (at < 0) return; // It has ended before.
        sleepers.splice(at, 1);
        this.deliver(resolve);
      };
      const sleeper = { process: this, wakeMs: this.#time.nowMs + ms, wake: end };
      sleepers.push(sleeper);
      if (isShort) this.#polling.push(end);
      signal?.addEventListener('abort', end);
    });
  }
}

/**
 * Resolves when all code that can run has run until it waits: in the engine everything runs in
 * microtasks, which end before the next task of the event loop.
 */
export function quiet(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') {
      setImmediate(resolve);
      return;
    }
    const { port1, port2 } = new MessageChannel(); // Browsers delay nested timers.
    port1.addEventListener('message', () => resolve(), { once: true });
    port1.start();
    port2.postMessage(0);
  });
}
