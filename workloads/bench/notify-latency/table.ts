/** The table of bench:notify-latency: one observed column. */
import type { CellAddress } from '#engine';

export const TABLE = 'notified';
export const COLUMN = 'written';

export function cellOf(n: number): CellAddress {
  return { table: TABLE, row: String(n), column: COLUMN };
}
