/** Remembers which cells' observers failed, how often, and until when the cell is left alone (P45). */
import type { Clock } from '../base/index.ts';

interface Failing {
  readonly failures: number;
  readonly untilMs: number;
}

/** The longest rest, in milliseconds: a repaired observer should not have to be waited for. */
const REST_MS_MAX = 60_000;

export class Failures {
  readonly #clock: Clock;
  readonly #firstRestMs: number;
  readonly #failing = new Map<string, Failing>();

  constructor(clock: Clock, firstRestMs: number) {
    this.#clock = clock;
    this.#firstRestMs = firstRestMs;
  }

  /** Counts a failure and lets the cell rest, each time twice as long. Returns the count. */
  add(name: string): number {
    const failures = (this.#failing.get(name)?.failures ?? 0) + 1;
    const restMs = Math.min(REST_MS_MAX, this.#firstRestMs * 2 ** (failures - 1));
    this.#failing.set(name, { failures, untilMs: this.#clock.monotonicMs() + restMs });
    return failures;
  }

  /** Lets the cell rest without counting a failure. */
  rest(name: string): void {
    const failures = this.#failing.get(name)?.failures ?? 0;
    const untilMs = this.#clock.monotonicMs() + this.#firstRestMs;
    this.#failing.set(name, { failures, untilMs });
  }

  forget(name: string): void {
    this.#failing.delete(name);
  }

  /** Not so a cell that only rests after a conflict: it is work that is still to be done. */
  hasFailed(name: string): boolean {
    return (this.#failing.get(name)?.failures ?? 0) > 0;
  }

  isResting(name: string): boolean {
    const failing = this.#failing.get(name);
    return failing !== undefined && failing.untilMs > this.#clock.monotonicMs();
  }
}
