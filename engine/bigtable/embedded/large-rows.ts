/**
 * Rows known to be large, so that the next read need not find out again: listing the first cells of
 * a hot row and then seeking all the same costs three times the seeks.
 *
 * Only speed depends on it. A row may become small, because garbage was collected; so it is checked
 * again after a while.
 */
import type { TableEntry } from './catalog.ts';

/** Maximum rows per table. Larger: more memory. Smaller: hot rows are forgotten. */
const ROWS_MAX = 10_000;
/** One in this many reads of large rows checks whether the row is still large. */
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
