/**
 * The only door through which time enters the engine.
 *
 * All code that waits or reads the time takes a `Clock`. The simulator passes a virtual one, so
 * that a run can be replayed bit for bit. That is why no other file may touch timers.
 */
export interface Clock {
  /**
   * Wall-clock time in milliseconds since 1970. It may jump, so it may only make a process more
   * careful (`isWithin`).
   */
  wallMs(): number;
  /**
   * Milliseconds since an arbitrary moment; never goes back. For durations. It stops while the
   * machine is suspended.
   */
  monotonicMs(): number;
  /** Resolves after `ms` milliseconds, or at once when `signal` aborts (it does not reject). */
  sleep(ms: number, signal?: AbortSignal, options?: SleepOptions): Promise<void>;
  /** Resolves when everything that was already runnable has run. */
  yield(): Promise<void>;
}

export interface SleepOptions {
  /**
   * Whether the process may end during the sleep. For work that goes on only as long as other work
   * does. Default false.
   */
  readonly background?: boolean | undefined;
}

/** About 25 days: Node's timers end at once if they are to wait for longer. */
export const TIMER_MS_MAX: number = 2 ** 31 - 1;

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  // Not the sleep of `node:timers/promises`: an AbortSignal often wakes a sleeper early, and each
  // time that sleep makes an error with a stack.
  sleep: (ms, signal, { background = false } = {}) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      let timer: NodeJS.Timeout;
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const wait = (leftMs: number): void => {
        const next = leftMs > TIMER_MS_MAX ? () => wait(leftMs - TIMER_MS_MAX) : end;
        timer = setTimeout(next, Math.min(leftMs, TIMER_MS_MAX));
        // In a browser a timer is a number, and keeps no process alive.
        if (background && typeof timer === 'object') timer.unref();
      };
      wait(ms);
      signal?.addEventListener('abort', end);
    }),
  yield: () =>
    new Promise((resolve) => {
      if (typeof setImmediate === 'function') setImmediate(resolve);
      else setTimeout(resolve, 0);
    }),
};

/*
 * A moment on both clocks of a process, and a check that less than a given time has passed since.
 *
 * What a process believes for a limited time (a lease) must end before other processes stop
 * respecting it. The monotonic clock alone cannot tell: on most systems it stops while the machine
 * is suspended. The wall clock goes on, but may be set to another time. So both must agree:
 *
 *     less than `ms` on the monotonic clock    the time is not over
 *     about as much on the wall clock          the machine was not suspended, nor the clock set
 *
 * One case remains: the wall clock is set back by as much time as the machine was suspended, within
 * the tolerance. No clock of the process can detect that. In doubt the answer is no, which costs
 * the process a renewal, or a check of what it would otherwise believe.
 */

export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** How far the clocks may be apart: the wall clock's resolution, and a fraction of `ms`. */
const RESOLUTION_MS = 2;
/**
 * The fraction of `ms`: far below the margin that leases leave for clocks of different speeds, and
 * far above the drift between the clocks of one machine.
 */
const TOLERANCE = 1 / 20;

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

/**
 * Whether less than `ms` milliseconds have passed since `moment` on the monotonic clock, and about
 * as many on the wall clock. In doubt false.
 */
export function isWithin(clock: Clock, ms: number, moment: Moment): boolean {
  const passedMs = clock.monotonicMs() - moment.monotonicMs;
  const passedWallMs = clock.wallMs() - moment.wallMs;
  const apartMs = Math.abs(passedWallMs - passedMs);
  return passedMs < ms && apartMs <= RESOLUTION_MS + ms * TOLERANCE;
}
