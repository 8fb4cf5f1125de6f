/**
 * What a scenario is: which process does what to which cells, and how much may go wrong meanwhile.
 */
import type { Operation } from '../simulation/plan.ts';

export interface Scenario {
  /** In lower case with hyphens. */
  readonly name: string;
  /** Its subject, in one sentence. */
  readonly about: string;
  /** Committed before the story begins, as `table/row:column`; everything else is empty. */
  readonly initial: readonly string[];
  readonly processes: readonly ScriptedProcess[];
  /** Columns of any table that leave notifications. Default: none. */
  readonly observed?: readonly string[] | undefined;
  /** Millions of states without any fault; eight times as many with a duplicate. */
  readonly isLarge?: boolean | undefined;
}

export interface ScriptedProcess {
  /** For stories; also its liveness token. */
  readonly name: string;
  /** Run one after the other, each with a commit at its end; those that only read are snapshots. */
  readonly transactions: readonly (readonly Operation[])[];
  /** How many times it sends a commit before it calls the outcome unknown. Default 2. */
  readonly inDoubtAttemptsMax?: number | undefined;
}

/** The processes that a process takes for dead when it meets a lock. */
export type Suspicion =
  /** All others, at once: nothing may depend on liveness being right (P26). */
  | 'all'
  /** Only processes that crashed: readers wait for the living. */
  | 'crashed';

/** How often each thing may happen. */
export interface Budget {
  /** Processes that die. */
  readonly crashes: number;
  /** Mutations of which a copy arrives, at any time. */
  readonly copies: number;
  /** Mutations whose sender is told `STORE_IN_DOUBT`; they arrive at any time, or never. */
  readonly lostAnswers: number;
}

/** Every cell that the scenario names, in the order of mention. */
export function cellsOf({ initial, processes }: Scenario): readonly string[] {
  const operations = processes.flatMap(({ transactions }) => transactions.flat());
  return [...new Set([...initial, ...operations.flatMap(cellsOfOperation)])];
}

function cellsOfOperation(operation: Operation): readonly string[] {
  if ('cell' in operation) return [operation.cell];
  return 'cells' in operation ? operation.cells : [];
}
