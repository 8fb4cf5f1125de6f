/**
 * The only door through which time enters the engine.
 *
 * All code that waits or reads the time takes a `Clock`. The simulator passes a virtual one, so
 * that a run can be replayed bit for bit. That is why no other file may touch timers.
 */
export interface Clock {
  /**
   * Wall-clock time in milliseconds since 1970. It may jump, so it may only make a process more
   * careful (moment.ts).
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
        if (background) timer.unref();
      };
      wait(ms);
      signal?.addEventListener('abort', end);
    }),
  yield: () =>
    new Promise((resolve) => {
      setImmediate(resolve);
    }),
};
