/**
 * Rows that were found not to be small, so that the next read need not find out again: to list the first cells of a
 * hot row, and then seek all the same, costs three times the seeks.
 *
 * Only speed depends on it. A row that has become small meanwhile, because garbage was collected, is looked at again after
 * a while.
 */
import type { TableEntry } from './catalog.ts';

/** Of a table. More: memory. Fewer: hot rows are forgotten. */
const ROWS_MAX = 10_000;
/** Of the reads of large rows, one in so many looks whether the row is still large. */
const LOOKS_AGAIN_AFTER = 64;

export class LargeRows {
  readonly #rows = new Map<number, Set<string>>();
  #asked = 0;

  has({ id }: TableEntry, row: string): boolean {
    const known = this.#rows.get(id);
    if (known === undefined || !known.has(row)) return false;
    this.#asked++;
    if (this.#asked % LOOKS_AGAIN_AFTER > 0) return true;
    known.delete(row);
    return false;
  }

  add({ id }: TableEntry, row: string): void {
    const known = this.#rows.get(id) ?? new Set();
    if (known.size >= ROWS_MAX) known.clear();
    known.add(row);
    this.#rows.set(id, known);
  }
}
