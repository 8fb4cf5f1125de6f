/**
 * A clock under the test's control: time stands still until it is told to move.
 *
 *     advance(ms)         moves on by `ms`, waking sleepers on the way, each at its own time
 *     runUntil(promise)   whenever everything waits, moves on to the next sleeper, until the
 *                         promise settles
 *
 * Before each step, whatever can run is run until it waits, so that what a sleeper does on waking
 * is done at the time it woke. Sleepers for the same time wake in the order they went to sleep.
 *
 * Whether everything waits is known only for work in this process: over a store with real I/O,
 * `runUntil` would mistake a slow disk for a standstill. Use it with the memory store.
 *
 * In such a world, a loop that should wait and does not lets no timer fire, and no signal be
 * handled: no time limit ends its test, and the test runner waits forever. So a thread watches a
 * process of tests (watched.ts), and ends it.
 */
import { env } from 'node:process';
import { isMainThread } from 'node:worker_threads';
import { assert, systemClock, type Clock, type SleepOptions } from '../base/index.ts';
import { watchTests } from './watched.ts';

interface Sleeper {
  readonly wakeMs: number;
  readonly background: boolean;
  readonly wake: () => void;
}

/** The same time, but timers wake early: after half of each sleep. */
export function wakingEarly(clock: Clock): Clock {
  return {
    wallMs: () => clock.wallMs(),
    monotonicMs: () => clock.monotonicMs(),
    sleep: (ms, ...rest) => clock.sleep(Math.ceil(ms / 2), ...rest),
    yield: () => clock.yield(),
  };
}

export class VirtualClock implements Clock {
  #nowMs: number;
  /** How far the wall clock is ahead of the monotonic clock. */
  #wallAheadMs = 0;
  /** In the order in which they wake. */
  readonly #sleepers: Sleeper[] = [];
  /** Callers of `yield` that have not resumed; while there are any, something can still run. */
  #yielding = 0;

  constructor(startMs = 0) {
    this.#nowMs = startMs;
    if (isMainThread && env['NODE_TEST_CONTEXT'] !== undefined) watchTests();
  }

  wallMs(): number {
    return this.#nowMs + this.#wallAheadMs;
  }

  /**
   * Suspends the machine for `ms`: its monotonic clock and its sleepers stand still, its wall clock
   * does not.
   */
  suspend(ms: number): void {
    this.jumpWall(ms);
  }

  /** The wall clock is set, forward or back. */
  jumpWall(ms: number): void {
    this.#wallAheadMs += ms;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal, options: SleepOptions = {}): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const { background = false } = options;
      const wakeMs = this.#nowMs + Math.max(0, ms);
      const abort = (): void => this.#wake(sleeper);
      const wake = (): void => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      const sleeper: Sleeper = { wakeMs, background, wake };
      // Sleepers for the same time stay in order of arrival.
      const before = this.#sleepers.findLastIndex((other) => other.wakeMs <= wakeMs);
      this.#sleepers.splice(before + 1, 0, sleeper);
      signal?.addEventListener('abort', abort);
    });
  }

  async yield(): Promise<void> {
    this.#yielding += 1;
    await systemClock.yield();
    this.#yielding -= 1;
  }

  /** Moves time forward by `ms`; resolves when all that woke have run until they wait again. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (;;) {
      await this.#settle();
      const [next] = this.#sleepers;
      if (next === undefined || next.wakeMs > endMs) break;
      this.#moveTo(next);
    }
    this.#nowMs = Math.max(this.#nowMs, endMs); // Another caller may have moved it further.
  }

  /** Moves time forward from sleeper to sleeper until `promise` settles; settles as it does. */
  async runUntil<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const note = (): void => {
      settled = true;
    };
    promise.then(note, note);
    for (;;) {
      await this.#settle();
      if (settled) return promise;
      // Background sleepers never end, so they do not count here.
      const isAwaited = this.#sleepers.some(({ background }) => !background);
      assert(isAwaited, 'a caller sleeps while the promise waits');
      const [next] = this.#sleepers;
      if (next !== undefined) this.#moveTo(next);
    }
  }

  #moveTo(next: Sleeper): void {
    this.#nowMs = Math.max(this.#nowMs, next.wakeMs);
    this.#wake(next);
  }

  #wake(sleeper: Sleeper): void {
    const at = this.#sleepers.indexOf(sleeper);
    if (at >= 0) this.#sleepers.splice(at, 1);
    sleeper.wake();
  }

  /** Lets everything run until it waits for time. */
  async #settle(): Promise<void> {
    do await systemClock.yield();
    while (this.#yielding > 0);
  }
}
