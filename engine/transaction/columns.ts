/**
 * The columns of a Percolator table (Figure 5), side by side in one column family of a Bigtable.
 *
 *     c:data       the data itself
 *     c:lock       an uncommitted transaction is writing this cell; names its primary
 *     c:rollback   the transaction of this timestamp must not commit here (not in the paper)
 *     c:write      committed data is present; stores the Bigtable timestamp of the data
 *
 * The public API has no locality groups. So notifications are in a companion table with the same
 * row keys, each kind in a family of its own:
 *
 *     notify:c     hint: observers may need to run
 *     weak:c       the same, set by a weak notification
 *     parked:c     an observer failed for this cell too often; waits for an operator
 *     parked-weak:c  the same, of a weak notification; an operator replays the two separately
 *
 * A read wants the data, the lock and the write record of a column. They are neighbours, so that a
 * storage finds them by one range of columns, at little more than the price of a read of one cell.
 * Three filters over three families would cost the server twice as much.
 *
 * Rollback markers have a column of their own: in `write` they would share timestamps with commits
 * and be taken for conflicts by unrelated transactions (P5, P6).
 *
 * An observer O acknowledges its runs for c in the cell `ack_O:c` (in O, : and % are written %3A
 * and %25, so that the first colon ends O). It is locked, committed and found in conflict like any
 * other cell. But it consists of its write record alone: the record stores the start timestamp of
 * the transaction, which is what Figure 5 stores in the cell. So it has no data.
 */
import { PercolatorError } from '../base/index.ts';
import { check, isObject, type Kind as Valid } from '../base/options.ts';
import { QUALIFIER_BYTES_MAX, validateBytes, validateStoredRow } from '../bigtable/validate.ts';

/** The family of all cells of a table. */
export const CELLS = 'cells';

/** What a cell of the storage says about a column: the end of its qualifier. */
export type Kind = 'data' | 'lock' | 'rollback' | 'write';
export const DATA: Kind = 'data';
export const LOCK: Kind = 'lock';
export const ROLLBACK: Kind = 'rollback';
export const WRITE: Kind = 'write';

export const NOTIFY = 'notify';
export const WEAK = 'weak';
export const PARKED = 'parked';
export const PARKED_WEAK = 'parked-weak';

export const TABLE_FAMILIES: readonly string[] = [CELLS];
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

interface Place {
  readonly family: string;
  readonly qualifier: string;
}

/** Where the storage keeps the cells of this kind of a column: for filters and mutations. */
export function placeOf(kind: Kind, column: string): Place {
  return (places.get(column) ?? makePlaces(column))[kind];
}

/** A transaction asks for the places of one column ten times and more. */
const places = new Map<string, Readonly<Record<Kind, Place>>>();
/**
 * The number of columns remembered. Tables have few; when there are more, all are forgotten, so
 * that columns that differ in each row do not fill the memory.
 */
const PLACES_MAX = 1_000;

function makePlaces(column: string): Readonly<Record<Kind, Place>> {
  if (places.size >= PLACES_MAX) places.clear();
  const place = (kind: Kind): Place => ({ family: CELLS, qualifier: `${column}:${kind}` });
  const made = {
    data: place(DATA),
    lock: place(LOCK),
    rollback: place(ROLLBACK),
    write: place(WRITE),
  };
  places.set(column, made);
  return made;
}

/** Where the storage keeps the cells of this kind of every column: for filters. */
export function everywhere(kind: Kind): { readonly family: string; readonly suffix: string } {
  return { family: CELLS, suffix: `:${kind}` };
}

const ENDS: Readonly<Record<Kind, string>> = {
  data: ':data',
  lock: ':lock',
  rollback: ':rollback',
  write: ':write',
};

/** Whether a stored cell, or the mutation of one, is of this kind. */
export function isOf(kind: Kind, { qualifier }: { readonly qualifier: string }): boolean {
  return qualifier.endsWith(ENDS[kind]);
}

export function kindOf({ qualifier }: { readonly qualifier: string }): Kind {
  return qualifier.slice(qualifier.lastIndexOf(':') + 1) as Kind;
}

/** The column that a stored cell is about. */
export function columnOf({ qualifier }: { readonly qualifier: string }): string {
  return qualifier.slice(0, qualifier.lastIndexOf(':'));
}

export const CELL: Valid = {
  expected: 'an object with the texts table, row and column',
  accepts: isCell,
};

/** Every read and write asks this, so it does not go through a list of properties. */
function isCell(value: unknown): value is CellAddress {
  if (!isObject(value)) return false;
  const { table, row, column }: Partial<CellAddress> = value;
  return typeof table === 'string' && typeof row === 'string' && typeof column === 'string';
}

/** Of its places, that of a marker has the longest qualifier. */
const COLUMN_BYTES_MAX = QUALIFIER_BYTES_MAX - Buffer.byteLength(`:${ROLLBACK}`);

/** @throws INVALID_ARGUMENT for what is no cell, or for a cell in a column of the engine */
export function checkUserCell(cell: CellAddress): void {
  check('a cell', cell, CELL);
  checkUserColumn(cell.column);
}

/** @throws INVALID_ARGUMENT also for names that no storage takes */
export function checkWrittenCell(cell: CellAddress): void {
  checkUserCell(cell);
  validateStoredRow(cell.row);
  if (!cell.column.isWellFormed()) {
    const message = `column ${JSON.stringify(cell.column)} is not well-formed Unicode`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  validateBytes('a column', cell.column, COLUMN_BYTES_MAX);
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

/** A string for one cell and no other, as a key of maps: names may contain any character (P60). */
export function cellName({ table, row, column }: CellAddress): string {
  return `${row.length}:${table.length}:${row}${table}${column}`;
}

/** How messages name a cell. */
export function describeCell({ table, row, column }: CellAddress): string {
  return `${table}/${row}/${column}`;
}
