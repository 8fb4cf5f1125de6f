/** What a scenario is: who does what, to which cells; and how much may go wrong while they do it. */
import type { Operation } from '../simulation/plan.ts';

export interface Scenario {
  /** In lower case with hyphens. */
  readonly name: string;
  /** What it is about, in one sentence. */
  readonly about: string;
  /** Committed before the story begins, as `table/row:column`; everything else is empty. */
  readonly initial: readonly string[];
  readonly processes: readonly ScriptedProcess[];
  /** Columns that leave notifications, of any table. Default: none. */
  readonly observed?: readonly string[] | undefined;
}

export interface ScriptedProcess {
  /** For stories; also its liveness token. */
  readonly name: string;
  /** One after the other, each with a commit in the end; those that only read are snapshots. */
  readonly transactions: readonly (readonly Operation[])[];
  /** How often it asks again after a lost answer, before it calls the outcome unknown. Default 2. */
  readonly inDoubtAttemptsMax?: number | undefined;
}

/** Whom a process that meets a lock takes for dead. */
export type Suspicion =
  /** Everybody else, at once: nothing may depend on liveness being right (P26). */
  | 'everybody'
  /** Whoever has crashed, and nobody else: readers wait for the living. */
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
