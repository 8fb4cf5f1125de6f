/**
 * Keeps the deadlines of many calls with one sleep instead of a timer for each: tens of thousands
 * of calls come per second, and hardly one of them is ever late.
 *
 * `onLate` runs up to `TICK_MS` after the deadline.
 */
import type { Clock } from '../base/index.ts';

const TICK_MS = 50;

interface Entry {
  readonly dueMs: number;
  readonly onLate: () => void;
}

export class Deadlines {
  readonly #clock: Clock;
  readonly #entries = new Set<Entry>();
  /** Invariant: true while there is an entry. */
  #isWatching = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `onLate` after `timeoutMs`, unless the returned function is called before. */
  add(timeoutMs: number, onLate: () => void): () => void {
    const entry = { dueMs: this.#clock.monotonicMs() + timeoutMs, onLate };
    this.#entries.add(entry);
    if (!this.#isWatching) void this.#watch();
    return () => {
      this.#entries.delete(entry);
    };
  }

  async #watch(): Promise<void> {
    this.#isWatching = true;
    while (this.#entries.size > 0) {
      // In the background: the connection that is waited for keeps the process alive.
      await this.#clock.sleep(TICK_MS, undefined, { background: true });
      this.#endLate();
    }
    this.#isWatching = false;
  }

  #endLate(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const entry of this.#entries) {
      if (entry.dueMs > nowMs) continue;
      this.#entries.delete(entry);
      entry.onLate();
    }
  }
}
