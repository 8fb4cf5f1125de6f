/**
 * What a run of chaos does, and its sizes:
 *
 *     smoke      10 seconds     in every test run: does it still work?
 *     standard   2 minutes      until 200 processes were killed
 *     full       half an hour   ten rounds of that, each with a store and a seed of its own
 *
 * Rounds bound what has to be remembered: a history is judged as a whole.
 */
import type { StoreName } from '#engine';
import type { Workload } from '../invariants/index.ts';
import type { EngineValues } from '../tuning/engine-settings.ts';

export const PROFILES = ['smoke', 'standard', 'full'] as const;

export type ProfileName = (typeof PROFILES)[number];

export interface Size {
  readonly rounds: number;
  /** Kills after which a round ends, if its seconds have not run out. */
  readonly kills: number;
}

export const SIZES: Readonly<Record<ProfileName, Size>> = {
  smoke: { rounds: 1, kills: 8 },
  standard: { rounds: 1, kills: 200 },
  full: { rounds: 10, kills: 200 },
};

/** One round. */
export interface Plan {
  readonly seed: number;
  readonly workloads: readonly Workload[];
  /** Processes that are killed; one more watches, and is not. */
  readonly processes: number;
  readonly kills: number;
  /** Seconds after which the round ends, however many were killed. */
  readonly seconds: number;
  readonly store: StoreName;
  /** Waits the embedded store for the disk? */
  readonly fsync: boolean;
  /** Two oracles and the lock service are processes that are killed, too. */
  readonly services: boolean;
  /** How the processes open the database, and how many workers each has. */
  readonly engine: EngineValues;
  /** All processes collect garbage, too. Then the storage cannot testify: see verdict.ts. */
  readonly gc: boolean;
  /** For the store, the history and the verdict. */
  readonly folder: string;
}

/**
 * Time to live of locks, in milliseconds; the default of the engine would outlast every pause. A process
 * that is stopped for longer is taken for dead, and goes on as if nothing had been.
 */
export const LOCK_TIME_TO_LIVE_MS = 300;

/** How long the lease of an oracle lasts, in milliseconds: some pauses outlast it, and another oracle takes over. */
export const ORACLE_LEASE_MS = 1_000;
