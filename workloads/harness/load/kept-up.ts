/**
 * Did a system keep up with its load? Every experiment asks this one rule. The system did not if
 *
 *   1. the load was given up, because too much waited;
 *   2. the backlog grew by more than 5 % of what arrived, and by more than short delays leave at
 *      the end: what arrives in the last second, up to 200, or 20;
 *   3. less was completed than chance explains: what was offered is above the 99 % interval of a
 *      Poisson count, given the completed number.
 *
 * The third finds what the second cannot: customers who wait for a slow system may begin fewer
 * operations, so that no backlog forms. An experiment that sees more than counts, such as latencies
 * that rise, may find further reasons, but it never overrules these.
 */
import { countInterval, formatCount } from '#results';

export interface OfferedLoad {
  /** What the measured interval offered, and what ended in it, of the same kind. */
  readonly offered: number;
  readonly completed: number;
  /** Its name, in the plural: `Trade-Results`. */
  readonly unit: string;
  /**
   * How much of it may be in flight at either end though nothing is late: what one run of a batch
   * takes together. Default: 0. Too high: a system that is late seems to keep up.
   */
  readonly inFlight?: number;
  readonly backlog: Backlog;
  /** Whether the load ended early because too much waited. Default: false. */
  readonly isGivenUp?: boolean;
}

/** What the clock starts, of which the counted operations may be a part. */
export interface Backlog {
  /** By how much more waited at the end of the interval than at its beginning. */
  readonly growth: number;
  /** What arrives. */
  readonly perSecond: number;
  readonly seconds: number;
}

const GROWTH_SHARE_MAX = 0.05;
const LAST_SECOND_MAX = 200;
const GROWTH_IGNORED = 20;

/** Why the system did not keep up with the load; null if it did. */
export function whyNotKeptUp(load: OfferedLoad): string | null {
  const { offered, completed, unit, inFlight = 0, isGivenUp = false } = load;
  if (isGivenUp) return 'the backlog was so large that the run was given up';
  const { growth, perSecond, seconds } = load.backlog;
  const ofDelays = Math.max(Math.min(perSecond, LAST_SECOND_MAX), GROWTH_IGNORED);
  if (growth > Math.max(GROWTH_SHARE_MAX * perSecond * seconds, ofDelays)) {
    return `the backlog grew by ${inWords(growth)}`;
  }
  if (offered - inFlight <= countInterval(completed).high) return null;
  return `only ${inWords(completed)} of ${inWords(offered)} ${unit}`;
}

function inWords(count: number): string {
  return count >= 1_000 ? formatCount(count) : String(Number(count.toPrecision(4)));
}
