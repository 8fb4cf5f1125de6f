/**
 * The table of bench:notify-latency: one observed column.
 *
 * A user should have no table of this name: a run drops it, even in the user's own store.
 */
import type { CellAddress } from '#engine';

export const TABLE = 'notify-latency';
export const COLUMN = 'written';

export function cellOf(n: number): CellAddress {
  return { table: TABLE, row: String(n), column: COLUMN };
}
