/** The work of a simulated run as plain data: what each process does, and in which transactions. */
import type { Knobs } from './knobs.ts';

export type Operation =
  | { readonly do: 'get' | 'set' | 'delete' | 'lock' | 'append' | 'weak'; readonly cell: string }
  | { readonly do: 'getMany'; readonly cells: readonly string[] }
  /** Scans the whole table, or the part between two rows. */
  | { readonly do: 'scan'; readonly table: string; readonly part?: readonly string[] | undefined }
  | { readonly do: 'think'; readonly ms: number };

export interface TransactionPlan {
  /**
   * `transact` retries; `begin` is committed by hand; `snapshot` only reads, possibly in the past;
   * `replay` marks again the parked cells of the tables that the operations name; `recreate` drops
   * the scratch table and creates it again.
   */
  readonly kind: 'transact' | 'begin' | 'snapshot' | 'replay' | 'recreate';
  readonly operations: readonly Operation[];
  /** The observed columns of the scratch table when it is created again. Default none. */
  readonly observedColumns?: readonly string[] | undefined;
  /** For a snapshot: how many milliseconds ago its moment was. Default: now. */
  readonly agoMs?: number | undefined;
  /**
   * Begins `plusMs` after the next whole multiple of `everyMs` on its process's clock. Default: at
   * once.
   */
  readonly begins?: { readonly everyMs: number; readonly plusMs: number } | undefined;
}

export interface ProcessPlan {
  readonly transactions: readonly TransactionPlan[];
  /** Transactions in flight at a time. */
  readonly concurrency: number;
  /** Whether the process runs observers. */
  readonly worker: boolean;
  /** Whether the process collects garbage. Default false. */
  readonly collector?: boolean | undefined;
}

export interface Plan {
  readonly seed: number;
  readonly knobs: Knobs;
  readonly processes: readonly ProcessPlan[];
  /** For each observer and cell, the runs that throw before one may succeed. */
  readonly observerFailures: number;
}
