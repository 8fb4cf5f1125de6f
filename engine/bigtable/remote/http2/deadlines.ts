/**
 * The deadlines of many calls with one sleep, not a timer for each: calls come by the ten thousand per second, and
 * hardly one of them is ever late.
 *
 * A call that is late is told so up to `TICK_MS` after its deadline.
 */
import type { Clock } from '../../../base/index.ts';

const TICK_MS = 50;

interface Entry {
  readonly dueMs: number;
  readonly onLate: () => void;
}

export class Deadlines {
  readonly #clock: Clock;
  readonly #entries = new Set<Entry>();
  /** Invariant: true as long as there is an entry. */
  #isWatching = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `onLate` in `timeoutMs`, unless the function that is returned is called before. */
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
      // In the background: what keeps the process alive is the connection that is waited for.
      await this.#clock.sleep(TICK_MS, undefined, { background: true });
      const nowMs = this.#clock.monotonicMs();
      for (const entry of this.#entries) {
        if (entry.dueMs > nowMs) continue;
        this.#entries.delete(entry);
        entry.onLate();
      }
    }
    this.#isWatching = false;
  }
}
