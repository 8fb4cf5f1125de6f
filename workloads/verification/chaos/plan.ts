/**
 * What a run of chaos does, and its sizes. A round ends when it has reached its floors:
 *
 *                            pairs of overlapping writers     runs of observers
 *     smoke      1 round                   1,000                       100   in every test run
 *     standard   1 round                  50,000                     5,000   2 to 5 minutes
 *     full       7 rounds                 20,000                     2,000   of each setting
 *
 * On stores other than the embedded one, where every call takes longer, a tenth of that is enough.
 * Kills are not part of the floors: processes that are killed all the time do nothing but start.
 * The settings are in matrix.ts. Rounds bound the memory for histories, because a history is judged
 * as a whole.
 */
import type { Workload } from '../invariants/index.ts';
import type { Setting } from './matrix.ts';

export const PROFILES = ['smoke', 'standard', 'full'] as const;

export type ProfileName = (typeof PROFILES)[number];

/** What a round must have seen when it ends. */
export interface RoundMinimums {
  /** Pairs of overlapping writers; see pairs.ts. */
  readonly pairs: number;
  /** Committed runs of observers. */
  readonly runs: number;
}

export interface RoundSize extends RoundMinimums {
  /** A round ends after this many seconds, even short of its floors. */
  readonly secondsMax: number;
  /** Whether a round that ends short of its floors is a failure. */
  readonly isStrict: boolean;
}

export const SIZES: Readonly<Record<ProfileName, RoundSize>> = {
  smoke: { pairs: 1_000, runs: 100, secondsMax: 60, isStrict: false },
  standard: { pairs: 50_000, runs: 5_000, secondsMax: 1_200, isStrict: true },
  full: { pairs: 20_000, runs: 2_000, secondsMax: 900, isStrict: true },
};

/** The part of the floors for stores other than the embedded one. */
export const REMOTE_PART = 0.1;

/** One round. */
export interface Plan extends Setting {
  readonly seed: number;
  readonly workloads: readonly Workload[];
  /** Processes that are killed; one more only watches, and is not killed. */
  readonly processes: number;
  readonly floors: RoundMinimums;
  /** Seconds after which the round ends, whether it has reached its floors or not. */
  readonly seconds: number;
  /** Whether the embedded store waits for the disk. */
  readonly fsync: boolean;
  /** The folder of the store, the history and the verdict. */
  readonly folder: string;
}

/**
 * Time to live of locks, in milliseconds; the engine's default would outlast every pause. A process
 * that is stopped for longer is taken for dead, and then continues as if nothing had happened.
 */
export const LOCK_TIME_TO_LIVE_MS = 300;

/**
 * How long the lease of an oracle lasts, in milliseconds. Some pauses outlast it, and another
 * oracle takes over.
 */
export const ORACLE_LEASE_MS = 1_000;

/** How long collectors respect the lease of a process that does not renew it, in milliseconds. */
export const LEASE_TIME_TO_LIVE_MS = 1_000;

/**
 * How long collectors wait for messages that were sent before, in milliseconds. A process that is
 * stopped in the middle of sending breaks this promise; long pauses do so on purpose.
 */
export const MESSAGE_LIFETIME_MS = 1_000;

/** Both together, plus time for a collector to delete what neither protects any more. */
export const LONG_PAUSE_MS: readonly [number, number] = [
  LEASE_TIME_TO_LIVE_MS + MESSAGE_LIFETIME_MS + 1_000,
  LEASE_TIME_TO_LIVE_MS + MESSAGE_LIFETIME_MS + 4_000,
];
