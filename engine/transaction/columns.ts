/**
 * The columns of a Percolator table (Figure 5), as column families of a Bigtable.
 *
 *     lock:c       an uncommitted transaction is writing this cell; names its primary
 *     write:c      committed data is present; stores the Bigtable timestamp of the data
 *     data:c       the data itself
 *     rollback:c   its transaction will never commit (not in the paper)
 *     ack:ack_O:c  observer O has run for c; stores the start timestamp of the last successful run
 *                  (in O, : and % are written %3A and %25, so that the first colon ends O)
 *
 * and, in a companion table with the same row keys, because the public API has no locality groups:
 *
 *     notify:c     hint: observers may need to run
 *     weak:c       the same, set by a weak notification
 *     parked:c     an observer failed for this cell too often; waits for an operator
 *     parked-weak:c  the same, of a weak notification; each is replayed on its own
 *
 * Rollback markers have a family of their own: in `write` they would share timestamps with commits
 * and be taken for conflicts by unrelated transactions (P5, P6).
 *
 * An acknowledgment is a cell like any other: locked, committed and found in conflict like one. But
 * it consists of its write record alone: the record stores the start timestamp of the transaction,
 * which is what Figure 5 stores in the cell. So it lives in `ack` instead of `write` and has no
 * data.
 */
import { PercolatorError } from '../base/index.ts';
import { check, type Kind, objectWith, TEXT } from '../base/options.ts';

export const LOCK = 'lock';
export const WRITE = 'write';
export const DATA = 'data';
export const ROLLBACK = 'rollback';
export const ACK = 'ack';

export const NOTIFY = 'notify';
export const WEAK = 'weak';
export const PARKED = 'parked';
export const PARKED_WEAK = 'parked-weak';

export const TABLE_FAMILIES: readonly string[] = [LOCK, WRITE, DATA, ROLLBACK, ACK];
export const NOTIFY_FAMILIES: readonly string[] = [NOTIFY, WEAK, PARKED, PARKED_WEAK];

const ACK_PREFIX = 'ack_';

/** The address of a cell: what users read and write. */
export interface CellAddress {
  readonly table: string;
  readonly row: string;
  readonly column: string;
}

/** The companion table that holds the notifications of `table`. */
export function notifyTable(table: string): string {
  return `${table}.notify`;
}

/** The column that stores the last run of `observer` for `column`. */
export function acknowledgmentColumn(observer: string, column: string): string {
  return `${ACK_PREFIX}${observer.replaceAll(/[%:]/g, encodeURIComponent)}:${column}`;
}

/** The observer and the column that an acknowledgment column belongs to (P60). */
export function acknowledgedBy(acknowledgment: string): {
  readonly observer: string;
  readonly column: string;
} {
  const colon = acknowledgment.indexOf(':');
  const observer = acknowledgment
    .slice(ACK_PREFIX.length, colon)
    .replaceAll(/%3A|%25/g, decodeURIComponent);
  return { observer, column: acknowledgment.slice(colon + 1) };
}

export function isAcknowledgment(column: string): boolean {
  return column.startsWith(ACK_PREFIX);
}

/** The family that holds a column's write records. */
export function recordFamily(column: string): string {
  return isAcknowledgment(column) ? ACK : WRITE;
}

export const CELL: Kind = objectWith('an object with the texts table, row and column', {
  table: TEXT,
  row: TEXT,
  column: TEXT,
});

/** @throws INVALID_ARGUMENT for what is no cell, or a cell in a column that belongs to the engine */
export function checkUserCell(cell: CellAddress): void {
  check('a cell', cell, CELL);
  checkUserColumn(cell.column);
}

/** @throws INVALID_ARGUMENT for a column name that belongs to the engine */
export function checkUserColumn(column: string): void {
  if (isAcknowledgment(column)) {
    throw new PercolatorError(
      'INVALID_ARGUMENT',
      `column ${column}: names that begin with ${ACK_PREFIX} are for acknowledgments`,
    );
  }
}

/** A string for one cell and no other, to be a key of maps:
 * names may contain any character (P60). */
export function cellName({ table, row, column }: CellAddress): string {
  return `${row.length}:${row}${table}\0${column}`;
}

/** How messages name a cell. */
export function describeCell({ table, row, column }: CellAddress): string {
  return `${table}/${row}/${column}`;
}
