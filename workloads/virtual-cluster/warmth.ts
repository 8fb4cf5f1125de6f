/**
 * How cold a machine is. While it is idle, other processes take its caches, so its next work is
 * slower. `missing` is the processor time that it takes to fill them again:
 *
 *     idle for t    missing grows with the square root of the time, about as was measured:
 *                   missing² = missing² + refill² × t, up to that of a machine idle for `longest`
 *     work of w     refilled = missing (1 - e^(-w / warming)); takes this time in addition;
 *                   missing = missing - refilled
 *
 * On a shared machine a lone document takes four times the processor time of one among many. The
 * costs of operations are those of a busy machine.
 */
import type { Calibration } from './calibration/calibration.ts';

export type Idle = Calibration['idle'];

/** A machine that is always as fast as when it is busy. */
export const ALWAYS_WARM: Idle = { refillUs: 0, longestMs: 1, warmingUs: 1 };

export class Warmth {
  /** Processor time that work has taken in addition. */
  extraUs = 0;
  readonly #idle: Idle;
  #missingUs = 0;

  constructor(idle: Idle) {
    this.#idle = idle;
  }

  get isConstant(): boolean {
    return this.#idle.refillUs === 0;
  }

  /** Processor time of work that usually takes `us`, on a machine that was idle for `idleUs`. */
  workUs(us: number, idleUs: number): number {
    if (this.isConstant) return us;
    const { refillUs, longestMs, warmingUs } = this.#idle;
    const idleMs = (this.#missingUs / refillUs) ** 2 + idleUs / 1000;
    const missingUs = refillUs * Math.sqrt(Math.min(longestMs, idleMs));
    const refilledUs = missingUs * refilledShare(us, warmingUs);
    this.#missingUs = missingUs - refilledUs;
    this.extraUs += refilledUs;
    return us + refilledUs;
  }
}

/** A piece of work alone, after a warm machine was idle. */
export interface Alone {
  readonly idleMs: number;
  readonly us: number;
}

/** The processor time that such a piece of work takes in addition. */
export function extraUs({ refillUs, longestMs, warmingUs }: Idle, { idleMs, us }: Alone): number {
  return refillUs * Math.sqrt(Math.min(longestMs, idleMs)) * refilledShare(us, warmingUs);
}

function refilledShare(us: number, warmingUs: number): number {
  return 1 - Math.exp(-us / warmingUs);
}
