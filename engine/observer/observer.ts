/**
 * Observers (section 2.4): "Each observer registers a function and a set of columns with
 * Percolator, and Percolator invokes the function after data is written to one of those columns in
 * any row."
 *
 * Observers are promised:
 *
 * - Every committed change of the column is eventually seen by a run whose snapshot includes it; if
 *   the cell is parked (failures.ts), only after it changes again, or an operator has replayed it.
 * - "Message collapsing": several changes may be seen by one run.
 * - For each change, at most one run of an observer commits. Runs that lose leave no trace. Runs
 *   for weak notifications of the cell are in addition, and acknowledge nothing.
 *
 * All workers with observers of a column must have all of its observers. A worker clears a
 * notification when its own observers have run: an observer that only other workers have may miss
 * that change until the cell changes again. So stop the old workers of a column before new ones add
 * an observer to it. Workers that differ are told so, within a minute (P72, different observers).
 *
 * Observers are not promised an order, or that `run` is called once. A run is a transaction like
 * any other and may be run again, so what it does outside of the transaction may happen more than
 * once (P51, effects outside). An observer that writes the column it observes triggers itself,
 * until it stops writing (P46, observer triggers itself). So do two that write each other's
 * columns. Nothing ends a loop that never stops, but the worker reports it (P83, endless loop).
 */
import type { Transaction } from '../transaction/index.ts';

/** The cell that a run is for. */
export interface DirtyCell {
  readonly table: string;
  readonly row: string;
  readonly column: string;
}

/** A value that is known; there may be none. */
export interface KnownValue {
  readonly value: Uint8Array | undefined;
}

/** What a run may ask of the change that it is for. */
export interface ObservedChange {
  /**
   * The value that the observer's last committed run for the cell saw, or none before its first
   * run; undefined if it is not known any more, because garbage collection has passed it. Several
   * changes since are one change.
   */
  before(): Promise<KnownValue | undefined>;
}

export interface Observer {
  /** Names the acknowledgment column: changing it makes every notified cell new to the observer. */
  readonly name: string;
  readonly table: string;
  /**
   * The observed column. The table's definition must list it under `observedColumns`; each worker
   * that observes it must have all of its observers.
   */
  readonly column: string;
  /** Reacts to a change of the cell. What it writes commits together with the acknowledgment. */
  run(transaction: Transaction, cell: DirtyCell, change: ObservedChange): Promise<void>;
}
