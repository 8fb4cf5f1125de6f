/**
 * A process's view of virtual time: its monotonic clock runs as everybody's but began elsewhere, its wall
 * clock is wrong by whatever the run decides. Its sleepers wake only while it is alive.
 */
import type { Clock } from '../../base/index.ts';
import type { SimulatedProcess } from './process.ts';
import type { Timeline } from './timeline.ts';

/** A monotonic clock begins at the start of its machine, not of the run. */
const BOOT_MS = 1_000_000;

export class SimulatedClock implements Clock {
  /** How far the wall clock is off. Jumps. */
  skewMs: number;
  readonly #timeline: Timeline;
  readonly #process: SimulatedProcess;

  constructor(timeline: Timeline, process: SimulatedProcess, skewMs: number) {
    this.#timeline = timeline;
    this.#process = process;
    this.skewMs = skewMs;
  }

  wallMs(): number {
    return this.#timeline.nowMs + this.skewMs;
  }

  monotonicMs(): number {
    return this.#timeline.nowMs + BOOT_MS;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        signal?.removeEventListener('abort', wake); // Thousands of sleeps share one signal.
        this.#process.deliver(resolve);
      };
      this.#timeline.after(Math.max(0, ms), wake);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  yield(): Promise<void> {
    return this.sleep(0); // At the same time, when all that this time has woken waits again.
  }
}
