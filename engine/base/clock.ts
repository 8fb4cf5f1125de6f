/**
 * The only door through which time enters the engine.
 *
 * Everything that waits or looks at a watch takes a `Clock`. The simulator passes a virtual one,
 * which is why a run can be replayed bit for bit, and why nothing else may touch timers.
 */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970. May jump: it may only make a process more careful (moment.ts). */
  wallMs(): number;
  /** Milliseconds since an arbitrary moment; never goes back. For durations. Stands still during a suspend. */
  monotonicMs(): number;
  /** Resolves after `ms` milliseconds, or at once when `signal` aborts (it does not reject). */
  sleep(ms: number, signal?: AbortSignal, options?: SleepOptions): Promise<void>;
  /** Resolves when everything that is already runnable has run. */
  yield(): Promise<void>;
}

export interface SleepOptions {
  /** Sleeping does not keep the process alive: for what goes on only as long as something else does. Default false. */
  readonly background?: boolean | undefined;
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  // Not that of `node:timers/promises`: being woken is common here, and it makes an error of that, with its stack.
  sleep: (ms, signal, { background = false } = {}) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      if (background) timer.unref();
      signal?.addEventListener('abort', end);
    }),
  yield: () =>
    new Promise((resolve) => {
      setImmediate(resolve);
    }),
};
