/**
 * The table of bench:notify-latency: one observed column.
 *
 * No table of a user should have this name: in a store of the user's, runs drop it.
 */
import type { CellAddress } from '#engine';

export const TABLE = 'notify-latency';
export const COLUMN = 'written';

export function cellOf(n: number): CellAddress {
  return { table: TABLE, row: String(n), column: COLUMN };
}
