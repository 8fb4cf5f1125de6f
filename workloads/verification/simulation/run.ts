/** One simulated run: what its clients share besides the world. */
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import type { CellAddress } from '../../../engine/transaction/index.ts';
import type { FollowedChange, FollowedSection } from '../judges/index.ts';
import type { OracleService, ScanLockService } from './services.ts';
import type { ProcessPlan, SimulationPlan } from './plan.ts';
import type { SimulatedProcess } from './process.ts';
import type { TransactionRecording } from './recording.ts';
import type { World } from './world.ts';

export interface SimulatedRun {
  readonly plan: SimulationPlan;
  readonly world: World;
  readonly liveness: SimulatedLiveness;
  /** Absent if each client allocates its own ranges. */
  readonly oracles: OracleService | undefined;
  /** Absent if scanners do not avoid one another's rows. */
  readonly scanLocks: ScanLockService | undefined;
  /** The client that collects garbage, if there is one. Changes with its lives. */
  collector: { readonly process: SimulatedProcess } | undefined;
  readonly transactions: TransactionRecording[];
  /** The answers of `outcomeOf`. */
  readonly answers: OutcomeAnswer[];
  /** What the followers of the plan were told. */
  readonly followed: Map<ProcessPlan, Followed>;
  /** Commits whose outcome was not known at first. */
  unknowns: number;
  /** Parked cells that were notified again. */
  replayed: number;
  /** How often the scratch table was dropped. */
  dropped: number;
  /** Whether observers misbehave, if that is planned (mischief.ts). Becomes false once. */
  isMischievous: boolean;
  /** Runs of observers that have hung. */
  hung: number;
  /**
   * Whether weak notifications are part of the plan; then an observer may run twice at a time for
   * one cell.
   */
  readonly hasWeak: boolean;
  /** Runs that are still to fail, by observer and cell. */
  readonly observerFailures: Map<string, number>;
  died(process: SimulatedProcess): void;
  /** An error that no fault explains. */
  fail(error: unknown, who: string): void;
}

export interface OutcomeAnswer {
  readonly primary: CellAddress;
  readonly startTimestamp: Timestamp;
  readonly outcome: 'committed' | 'rolled back';
}

/** What a follower, in all of its lives, was told. */
export interface Followed {
  /** The table's name in the database. */
  readonly table: string;
  readonly bytesMax: number;
  readonly sections: Section[];
  cursor: string | undefined;
}

interface Section extends FollowedSection {
  resolved: Timestamp;
  readonly changes: FollowedChange[];
}

/**
 * The lock service's list of dead processes: it does not know all that have died, and sometimes
 * names one that lives.
 */
export class SimulatedLiveness {
  readonly #dead = new Set<string>();
  readonly #mistaken = new Set<string>();

  isDead(token: string): boolean {
    return this.#dead.has(token) || this.#mistaken.has(token);
  }

  /** Forgets all processes that have died so far. */
  forget(): void {
    this.#dead.clear();
  }

  bury(token: string): void {
    this.#dead.add(token);
  }

  /** Presumes a live process dead, until `trust`. */
  mistake(token: string): void {
    this.#mistaken.add(token);
  }

  trust(token: string): void {
    this.#mistaken.delete(token);
  }
}
