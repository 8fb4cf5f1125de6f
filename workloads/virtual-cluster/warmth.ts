/**
 * How cold a machine is. While it is idle, other processes take its caches, so its next work is
 * slower. `lost` is the share of the caches that is gone:
 *
 *     idle for t    lost = 1 - (1 - lost) e^(-t / cooling)
 *     work of w     refilled = lost (1 - e^(-w / warming)); takes refill × refilled in addition;
 *                   lost = lost - refilled
 *
 * On a shared machine a lone document takes four times the processor time of one among many. The
 * costs of operations are those of a busy machine.
 */
import type { Calibration } from './calibration/calibration.ts';

export type Idle = Calibration['idle'];

/** A machine that is always as fast as when it is busy. */
export const ALWAYS_WARM: Idle = { refillUs: 0, coolingMs: 1, warmingUs: 1 };

export class Warmth {
  /** Processor time that work has taken in addition. */
  extraUs = 0;
  readonly #idle: Idle;
  /** Share of the caches. */
  #lost = 0;

  constructor(idle: Idle) {
    this.#idle = idle;
  }

  get isConstant(): boolean {
    return this.#idle.refillUs === 0;
  }

  /** Processor time of work that usually takes `us`, on a machine that was idle for `idleUs`. */
  workUs(us: number, idleUs: number): number {
    const { refillUs } = this.#idle;
    const lost = 1 - (1 - this.#lost) * Math.exp(-idleUs / (1000 * this.#idle.coolingMs));
    const refilled = lost * shareOf(us, this.#idle.warmingUs);
    this.#lost = lost - refilled;
    this.extraUs += refillUs * refilled;
    return us + refillUs * refilled;
  }
}

/** What a single piece of work takes in addition, after a machine that was warm was idle. */
export function extraUs({ refillUs, coolingMs, warmingUs }: Idle, alone: Alone): number {
  return refillUs * shareOf(1000 * alone.idleMs, 1000 * coolingMs) * shareOf(alone.us, warmingUs);
}

export interface Alone {
  readonly idleMs: number;
  readonly us: number;
}

/** 63 % of it at `constant`. */
function shareOf(value: number, constant: number): number {
  return 1 - Math.exp(-value / constant);
}
