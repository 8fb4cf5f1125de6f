/**
 * Runs whose commit got no answer.
 *
 * The next run of the same observer on the same cell reads the acknowledgment of the last one that
 * committed. If that is a run of this worker that was in doubt, the worker reports it as committed,
 * only later (P42).
 */
import type { Timestamp } from '../bigtable/index.ts';
import type { DirtyCell, Observer } from './observer.ts';

/** Cells kept; beyond that the oldest are forgotten: another worker may have finished them. */
const CELLS_MAX = 10_000;

export class DoubtfulRuns {
  /** Start timestamps, by cell and observer. */
  readonly #starts = new Map<string, Set<Timestamp>>();

  add(cell: DirtyCell, observer: Observer, startTimestamp: Timestamp): void {
    const key = keyOf(cell, observer);
    this.#starts.set(key, (this.#starts.get(key) ?? new Set<Timestamp>()).add(startTimestamp));
    const [oldest] = this.#starts.keys();
    if (this.#starts.size > CELLS_MAX && oldest !== undefined) this.#starts.delete(oldest);
  }

  /** Whether the run that began at this timestamp was in doubt; it is not any more. */
  take(cell: DirtyCell, observer: Observer, startTimestamp: Timestamp): boolean {
    if (this.#starts.size === 0) return false;
    const key = keyOf(cell, observer);
    const wasInDoubt = this.#starts.get(key)?.has(startTimestamp) === true;
    if (wasInDoubt) this.#starts.delete(key);
    return wasInDoubt;
  }
}

function keyOf({ table, row, column }: DirtyCell, { name }: Observer): string {
  return JSON.stringify([table, row, column, name]);
}
