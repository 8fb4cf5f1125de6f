/**
 * Remembers the cells whose runs did not commit, how often their observers failed, and until when
 * each cell is left alone (P45).
 *
 * Another worker may finish a cell that fails here; this worker then never meets it again. So a
 * worker forgets each cell that a whole scan has not found: it is no longer marked. Where other
 * workers' scanners prevent whole scans, the worker also forgets a cell, along with its count, that
 * it has not met for a long time.
 */
import type { Clock } from '../base/index.ts';

interface Failing {
  readonly failures: number;
  /** How often the storage has refused its runs since its last failure. */
  readonly refusals: number;
  readonly untilMs: number;
}

const NONE: Omit<Failing, 'untilMs'> = { failures: 0, refusals: 0 };
/** The longest rest, in milliseconds: after a repair, an observer should soon run again. */
const REST_MS_MAX = 60_000;
/**
 * Milliseconds from the end of its rest until a cell is forgotten although no scan was whole.
 * A cell that the worker meets less often than that is never parked.
 */
const FORGOTTEN_MS = 1_800_000;
/** Milliseconds between two searches for cells to forget: each search visits all failing cells. */
const SWEEP_MS = 1_000;

export class Failures {
  readonly #clock: Clock;
  readonly #firstRestMs: number;
  readonly #failing = new Map<string, Failing>();
  #sweptMs = -Infinity;

  constructor(clock: Clock, firstRestMs: number) {
    this.#clock = clock;
    this.#firstRestMs = firstRestMs;
  }

  /** Counts a failure and lets the cell rest, each time twice as long. Returns the count. */
  add(name: string): number {
    const failures = (this.#failing.get(name)?.failures ?? 0) + 1;
    this.#restFor(failures, name, { failures, refusals: 0 });
    return failures;
  }

  /** Lets the cell rest without counting a failure. */
  rest(name: string): void {
    const { failures, refusals } = this.#failing.get(name) ?? NONE;
    this.#restFor(1, name, { failures, refusals });
  }

  /**
   * The storage has refused a run. That is no failure, but it may go on for long: the cell rests
   * twice as long each time.
   */
  refuse(name: string): void {
    const { failures, refusals } = this.#failing.get(name) ?? NONE;
    this.#restFor(refusals + 1, name, { failures, refusals: refusals + 1 });
  }

  /**
   * Ends the rests of all refused cells. The extra try does not count: if it is refused, too, the
   * cell rests for as long again.
   */
  wakeRefused(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [name, { failures, refusals, untilMs }] of this.#failing) {
      if (refusals === 0 || untilMs <= nowMs) continue;
      this.#failing.set(name, { failures, refusals: Math.max(1, refusals - 1), untilMs: nowMs });
    }
  }

  /** Lets the cell rest as after this many failures in a row. */
  #restFor(times: number, name: string, counts: Omit<Failing, 'untilMs'>): void {
    const restMs = Math.min(REST_MS_MAX, this.#firstRestMs * 2 ** (times - 1));
    this.#failing.set(name, { ...counts, untilMs: this.#clock.monotonicMs() + restMs });
  }

  forget(name: string): void {
    this.#failing.delete(name);
  }

  get size(): number {
    return this.#failing.size;
  }

  /**
   * A scan has ended. Forgets the cells that it would have found if they were still marked: those
   * whose rest was over when it began and for which `isInFlight` is false. After a scan that was
   * not whole, forgets those of them whose rest had been over for `FORGOTTEN_MS`.
   */
  sweep(
    { beganMs, isWhole }: { readonly beganMs: number; readonly isWhole: boolean },
    isInFlight: (name: string) => boolean,
  ): void {
    if (beganMs - this.#sweptMs < SWEEP_MS) return;
    this.#sweptMs = beganMs;
    const upToMs = isWhole ? beganMs : beganMs - FORGOTTEN_MS;
    for (const [name, { untilMs }] of this.#failing) {
      if (untilMs <= upToMs && !isInFlight(name)) this.#failing.delete(name);
    }
  }

  /**
   * False for a cell that only rests after a conflict or a refusal: it is work that is still to be
   * done.
   */
  hasFailed(name: string): boolean {
    return (this.#failing.get(name)?.failures ?? 0) > 0 && !this.isRefused(name);
  }

  /** Whether the storage has refused the cell's runs, and no run has succeeded or failed since. */
  isRefused(name: string): boolean {
    return (this.#failing.get(name)?.refusals ?? 0) > 0;
  }

  isResting(name: string): boolean {
    const failing = this.#failing.get(name);
    return failing !== undefined && failing.untilMs > this.#clock.monotonicMs();
  }
}
