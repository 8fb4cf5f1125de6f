/**
 * The columns of a Percolator table (Figure 5), side by side in one column family of a Bigtable;
 * what the write column holds; and what a committed cell is made of. What a lock holds is in
 * locks.ts.
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
 * Rollback records have a column of their own: in `write` they would share timestamps with commits
 * and be taken for conflicts by unrelated transactions (P5, P6).
 *
 * An observer O acknowledges its runs for c in the cell `ack_O:c` (in O, : and % are written %3A
 * and %25, so that the first colon ends O). It is locked, committed and found in conflict like any
 * other cell. But it consists of its write record alone: the record stores the start timestamp of
 * the transaction, which is what Figure 5 stores in the cell. So it has no data.
 *
 * A shared lock of c is kept in the cell `ack_%read:c`, which is no observer's. Here alone, several
 * transactions hold locks at once, each at its own start timestamp, and what they commit overlaps
 * (P90, shared lock overlooked). It has no data either.
 */
import { asciiOf, assert, byteLength, bytesOf, PercolatorError } from '../base/index.ts';
import { check, isObject, type OptionRule } from '../base/options.ts';
import type { Cell, Mutation, Timestamp } from '../bigtable/index.ts';
import { QUALIFIER_BYTES_MAX, validateBytes, validateStoredRow } from '../bigtable/validate.ts';

/** The family of all cells of a table. */
export const CELLS = 'cells';

/** What a cell of the storage says about a column: the end of its qualifier. */
export type CellKind = 'data' | 'lock' | 'rollback' | 'write';
export const DATA: CellKind = 'data';
export const LOCK: CellKind = 'lock';
export const ROLLBACK: CellKind = 'rollback';
export const WRITE: CellKind = 'write';

export const NOTIFY = 'notify';
export const WEAK = 'weak';
export const PARKED = 'parked';
export const PARKED_WEAK = 'parked-weak';

export const TABLE_FAMILIES: readonly string[] = [CELLS];
export const NOTIFY_FAMILIES: readonly string[] = [NOTIFY, WEAK, PARKED, PARKED_WEAK];

/** Columns of the engine: no user's name begins so. They have records, and no data. */
const ENGINE_PREFIX = 'ack_';
/** No observer's name has a % that is not followed by two digits. */
const SHARED_PREFIX = 'ack_%read:';

/** The address of a cell: what users read and write. */
export interface CellAddress {
  readonly table: string;
  readonly row: string;
  readonly column: string;
}

const COMPANION = '.notify';

/** The companion table that holds the notifications of `table`. */
export function notifyTable(table: string): string {
  return `${table}${COMPANION}`;
}

/** Whether the storage's name is that of a companion table. */
export function isNotifyTable(stored: string): boolean {
  return stored.endsWith(COMPANION);
}

/** The column that stores the last run of `observer` for `column`. */
export function acknowledgmentColumn(observer: string, column: string): string {
  return `${ENGINE_PREFIX}${observer.replaceAll(/[%:]/g, encodeURIComponent)}:${column}`;
}

/** The observer and the column that an acknowledgment column belongs to (P60, ambiguous names). */
export function acknowledgedBy(acknowledgment: string): {
  readonly observer: string;
  readonly column: string;
} {
  const colon = acknowledgment.indexOf(':');
  const observer = acknowledgment
    .slice(ENGINE_PREFIX.length, colon)
    .replaceAll(/%3A|%25/g, decodeURIComponent);
  return { observer, column: acknowledgment.slice(colon + 1) };
}

export function isAcknowledgment(column: string): boolean {
  return isOfEngine(column) && !isSharedLock(column);
}

/** Whether the column is the engine's own: it has no data, and users neither read nor write it. */
export function isOfEngine(column: string): boolean {
  return column.startsWith(ENGINE_PREFIX);
}

/** The column in which the shared locks of `column` are. */
export function sharedLockColumn(column: string): string {
  return `${SHARED_PREFIX}${column}`;
}

export function isSharedLock(column: string): boolean {
  return column.startsWith(SHARED_PREFIX);
}

/** The column that a shared lock protects. */
export function protectedBy(sharedLock: string): string {
  return sharedLock.slice(SHARED_PREFIX.length);
}

interface StoredColumn {
  readonly family: string;
  readonly qualifier: string;
}

/** Where the storage keeps the cells of this kind of a column: for filters and mutations. */
export function placeOf(kind: CellKind, column: string): StoredColumn {
  return (places.get(column) ?? makePlaces(column))[kind];
}

/** A transaction asks for the places of one column ten times and more. */
const places = new Map<string, Readonly<Record<CellKind, StoredColumn>>>();
/**
 * The number of columns remembered. Tables have few; when there are more, all are forgotten, so
 * that columns that differ in each row do not fill the memory.
 */
const PLACES_MAX = 1_000;

function makePlaces(column: string): Readonly<Record<CellKind, StoredColumn>> {
  if (places.size >= PLACES_MAX) places.clear();
  const place = (kind: CellKind): StoredColumn => ({
    family: CELLS,
    qualifier: `${column}:${kind}`,
  });
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
export function everywhere(kind: CellKind): { readonly family: string; readonly suffix: string } {
  return { family: CELLS, suffix: `:${kind}` };
}

const ENDS: Readonly<Record<CellKind, string>> = {
  data: ':data',
  lock: ':lock',
  rollback: ':rollback',
  write: ':write',
};

/** Whether a stored cell, or the mutation of one, is of this kind. */
export function isOf(kind: CellKind, { qualifier }: { readonly qualifier: string }): boolean {
  return qualifier.endsWith(ENDS[kind]);
}

export function kindOf({ qualifier }: { readonly qualifier: string }): CellKind {
  return qualifier.slice(qualifier.lastIndexOf(':') + 1) as CellKind;
}

/** The column that a stored cell is about. */
export function columnOf({ qualifier }: { readonly qualifier: string }): string {
  return qualifier.slice(0, qualifier.lastIndexOf(':'));
}

export const CELL: OptionRule = {
  expected: 'an object with the texts table, row and column, and nothing else',
  accepts: isCell,
};

/** Every read and write asks this, so it does not go through a list of properties. */
function isCell(value: unknown): value is CellAddress {
  if (!isObject(value)) return false;
  const { table, row, column }: Partial<CellAddress> = value;
  const areTexts =
    typeof table === 'string' && typeof row === 'string' && typeof column === 'string';
  if (!areTexts) return false;
  // What more there is was meant for something: a value for `set`, or a column with a typing error.
  for (const name in value) if (!isOfCell(name)) return false;
  return true;
}

function isOfCell(name: string): boolean {
  return name === 'table' || name === 'row' || name === 'column';
}

/** Of its places, that of a rollback record has the longest qualifier. */
const COLUMN_BYTES_MAX = QUALIFIER_BYTES_MAX - byteLength(`:${ROLLBACK}`);

/** @throws INVALID_ARGUMENT for what is no cell, or for a cell in a column of the engine */
export function checkUserCell(cell: CellAddress): void {
  check('a cell', cell, CELL);
  checkUserColumn(cell.column);
}

/** @throws INVALID_ARGUMENT also for names that no storage takes */
export function checkWrittenCell(cell: CellAddress): void {
  check('a cell', cell, CELL);
  validateStoredRow(cell.row);
  checkWrittenColumn(cell.column);
}

/** @throws INVALID_ARGUMENT also for names that no storage takes */
export function checkWrittenColumn(column: string): void {
  checkUserColumn(column);
  if (!column.isWellFormed()) {
    const message = `column ${JSON.stringify(column)} is not well-formed Unicode`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  validateBytes('a column', column, COLUMN_BYTES_MAX);
}

/** A longer one could be written, and not be locked with others: the lock's column is longer. */
const SHARED_COLUMN_BYTES_MAX = COLUMN_BYTES_MAX - byteLength(SHARED_PREFIX);

/** @throws INVALID_ARGUMENT also for names that no storage takes, or not with their shared locks */
export function checkSharedColumn(column: string): void {
  checkWrittenColumn(column);
  validateBytes('a column of sharedColumns', column, SHARED_COLUMN_BYTES_MAX);
}

/** @throws INVALID_ARGUMENT for a column name that belongs to the engine */
export function checkUserColumn(column: string): void {
  if (isOfEngine(column)) {
    throw new PercolatorError(
      'INVALID_ARGUMENT',
      `column ${column}: names that begin with ${ENGINE_PREFIX} are for acknowledgments`,
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

/*
 * The value of a write cell: committed data exists, and this is where (Figure 5).
 *
 *     write:c @ commit timestamp = "0000000000000007 put"                  data is at 7
 *                                  "0000000000000007 delete"               there is no value
 *                                  "0000000000000009 touch 7 8"            data of 7 still current,
 *                                                                          last changed at 8
 *
 * The record starts with the transaction's start timestamp in fixed width, so that most records are
 * decoded without strings (`startOf`). A delete is a record like any other: later writers see the
 * conflict, older snapshots still see the value (P17, deletes that erase). A touch is the lock
 * record that `lock(cell)` commits: it conflicts with every writer and changes nothing.
 */

/** What committing the cell will do: point to new data, to nothing, or to the existing data. */
export type WriteOperation = 'put' | 'delete' | 'touch';

/** The version that a touch leaves in place. */
export interface Touched {
  /** Timestamp of its data; 0 if the cell is absent or deleted. */
  readonly dataTimestamp: Timestamp;
  /** Commit timestamp of the last change of the value; 0 if it never had one. */
  readonly changedTimestamp: Timestamp;
}

export interface WriteRecord {
  readonly commitTimestamp: Timestamp;
  readonly startTimestamp: Timestamp;
  readonly operation: WriteOperation;
  /**
   * Timestamp of the data; 0 without a value. Means nothing in a column of the engine.
   */
  readonly dataTimestamp: Timestamp;
  /** When the value last changed: the commit timestamp, unless this is a touch. */
  readonly changedTimestamp: Timestamp;
}

const WIDTH = 16;
const PUT = bytesOf(' put');
const ZERO = 48;

export function encodeWriteRecord(
  startTimestamp: Timestamp,
  operation: WriteOperation,
  touched?: Touched,
): Uint8Array {
  assert((operation === 'touch') === (touched !== undefined), 'a touch says what it touched');
  const start = String(startTimestamp).padStart(WIDTH, '0');
  const version = touched ? ` ${touched.dataTimestamp} ${touched.changedTimestamp}` : '';
  return bytesOf(`${start} ${operation}${version}`);
}

/** @throws TABLE_MISMATCH if the storage has other bytes than this engine writes */
export function decodeWriteRecord(cell: Cell): WriteRecord {
  const { value, timestamp } = cell;
  if (!isPut(value)) return decodeAny(cell);
  // Most records are puts, and every read decodes one. Without strings, and without a check of the
  // digits, this takes a tenth of the time.
  const startTimestamp = startOf(value);
  return {
    commitTimestamp: timestamp,
    startTimestamp,
    operation: 'put',
    dataTimestamp: startTimestamp,
    changedTimestamp: timestamp,
  };
}

function isPut(value: Uint8Array): boolean {
  if (value.length !== WIDTH + PUT.length) return false;
  for (let i = 0; i < PUT.length; i++) {
    if (value[WIDTH + i] !== PUT[i]) return false;
  }
  return true;
}

/** The decimal number of the first `WIDTH` digits. */
function startOf(value: Uint8Array): Timestamp {
  let number = 0;
  for (let i = 0; i < WIDTH; i++) number = 10 * number + ((value[i] ?? ZERO) - ZERO);
  return number;
}

function decodeAny(cell: Cell): WriteRecord {
  const text = asciiOf(cell.value);
  const startTimestamp = Number(text.slice(0, WIDTH));
  const [operation, data, changed] = text.slice(WIDTH + 1).split(' ');
  const isTouch = operation === 'touch';
  const own = operation === 'put' ? startTimestamp : 0;
  const dataTimestamp = isTouch ? Number(data) : own;
  const changedTimestamp = isTouch ? Number(changed) : cell.timestamp;
  const isSound = [startTimestamp, dataTimestamp, changedTimestamp].every(isTimestamp);
  if (!isSound || (operation !== 'put' && operation !== 'delete' && !isTouch)) {
    const message = `the write record of ${cell.timestamp} cannot be decoded: "${text}"; fsck says where it is`;
    throw new PercolatorError('TABLE_MISMATCH', message);
  }
  const { timestamp: commitTimestamp } = cell;
  return { commitTimestamp, startTimestamp, operation, dataTimestamp, changedTimestamp };
}

export function isTimestamp(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** The record of the transaction that started at `startTimestamp`, if it is among `cells`. */
export function recordOf(
  startTimestamp: Timestamp,
  cells: readonly Cell[],
): WriteRecord | undefined {
  return cells.map(decodeWriteRecord).find((record) => record.startTimestamp === startTimestamp);
}

/*
 * A cell as a committed transaction leaves it: its data, and the write record that points to the
 * data. An acknowledgment consists of its write record alone. Bulk loading makes such cells: there
 * are no readers yet, so locks would protect nothing.
 */

/** When a transaction began and committed. */
export interface CommitTimes {
  readonly startTimestamp: Timestamp;
  readonly commitTimestamp: Timestamp;
  /** The encoded write record that all its cells share. Default: encoded anew for each cell. */
  readonly record?: Uint8Array;
}

export function commitTimes(startTimestamp: Timestamp, commitTimestamp: Timestamp): CommitTimes {
  return { startTimestamp, commitTimestamp, record: encodeWriteRecord(startTimestamp, 'put') };
}

export function committedCell(
  column: string,
  value: Uint8Array,
  {
    startTimestamp,
    commitTimestamp,
    record = encodeWriteRecord(startTimestamp, 'put'),
  }: CommitTimes,
): Mutation[] {
  const mutations: Mutation[] = [
    { kind: 'set', ...placeOf(WRITE, column), timestamp: commitTimestamp, value: record },
  ];
  if (!isOfEngine(column)) {
    mutations.push({ kind: 'set', ...placeOf(DATA, column), timestamp: startTimestamp, value });
  }
  return mutations;
}
