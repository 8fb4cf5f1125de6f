/**
 * One simulated run: what its clients share, beside the world.
 */
import type { Timestamp } from '../../../engine/bigtable/index.ts';
import type { CellAddress } from '../../../engine/transaction/index.ts';
import type { OracleService } from './oracle-service.ts';
import type { Plan } from './plan.ts';
import type { ScanLockService } from './scan-lock-service.ts';
import type { SimulatedProcess } from './process.ts';
import type { Recording } from './recording.ts';
import type { World } from './world.ts';

export interface Run {
  readonly plan: Plan;
  readonly world: World;
  readonly liveness: SimulatedLiveness;
  /** Absent if each client allocates its own ranges. */
  readonly oracles: OracleService | undefined;
  /** Absent if scanners do not keep off one another's rows. */
  readonly scanLocks: ScanLockService | undefined;
  /** The client that collects garbage, if one does. Changes with its lives. */
  collector: { readonly process: SimulatedProcess } | undefined;
  readonly transactions: Recording[];
  /** What `outcomeOf` answered. */
  readonly answers: Answer[];
  /** Commits whose outcome was not known at first. */
  unknowns: number;
  /** Parked cells that were marked again. */
  replayed: number;
  /** Times that the scratch table was dropped. */
  dropped: number;
  /** Runs of observers that have hung. */
  hung: number;
  /** Whether weak notifications are part of the plan: then a cell's observer may run twice at a time. */
  readonly hasWeak: boolean;
  /** Runs that are still to fail, by observer and cell. */
  readonly observerFailures: Map<string, number>;
  died(process: SimulatedProcess): void;
  /** An error that no fault explains. */
  fail(error: unknown, who: string): void;
}

export interface Answer {
  readonly primary: CellAddress;
  readonly startTimestamp: Timestamp;
  readonly outcome: 'committed' | 'rolled back';
}

/** The lock service's list of who is alive: right about the dead, if it knows of them, and sometimes wrong. */
export class SimulatedLiveness {
  readonly #dead = new Set<string>();
  readonly #mistaken = new Set<string>();

  isDead(token: string): boolean {
    return this.#dead.has(token) || this.#mistaken.has(token);
  }

  /** Of those who died before nothing is known any more. */
  forget(): void {
    this.#dead.clear();
  }

  bury(token: string): void {
    this.#dead.add(token);
  }

  /** Takes a live process for dead, until `trust`. */
  mistake(token: string): void {
    this.#mistaken.add(token);
  }

  trust(token: string): void {
    this.#mistaken.delete(token);
  }
}
