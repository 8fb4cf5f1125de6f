/**
 * The value of a lock cell: "contains the location of primary lock" (Figure 5), and what a process
 * that meets the lock needs to decide about it.
 *
 * The lock's timestamp is its transaction's start timestamp, which identifies the transaction.
 */
import type { Cell, Timestamp } from '../../bigtable/index.ts';
import { assert, PercolatorError, viewOf } from '../../base/index.ts';
import { type CellAddress, describeCell } from '../columns.ts';

/** What committing the cell will do: point to new data, to nothing, or to the existing data. */
export type Operation = 'put' | 'delete' | 'touch';

export interface Lock {
  /** Start timestamp of the transaction that holds it. */
  readonly startTimestamp: Timestamp;
  /** The cell that decides; in the primary's own lock, its own address (P15: with the table). */
  readonly primary: CellAddress;
  readonly operation: Operation;
  /** For a touch (a lock record): the version that stays current (see write-record.ts). */
  readonly touched?: Touched | undefined;
  /** Liveness token of the process that wrote it. */
  readonly owner: string;
  /**
   * The owner's wall-clock time when its commit began: all locks of a transaction have the same
   * one. It is for people who inspect old locks, and decides nothing (P24).
   */
  readonly wallMs: number;
  /** Milliseconds without a change of `heartbeat` after which processes take the owner for dead. */
  readonly timeToLiveMs: number;
  /** Counted up by a live owner in the primary's lock; in secondaries it stays 0 (P25). */
  readonly heartbeat: number;
}

/** The version that a touch leaves in place. */
export interface Touched {
  /** Timestamp of its data; 0 if the cell is absent or deleted. */
  readonly dataTimestamp: Timestamp;
  /** Commit timestamp of the last change of the value; 0 if it never had one. */
  readonly changedTimestamp: Timestamp;
}

type Encoded = Omit<Lock, 'startTimestamp' | 'primary'> & {
  readonly primary: [string, string, string];
};

export function encodeLock(lock: Lock): Buffer {
  const { startTimestamp: _, primary, ...rest } = lock;
  const encoded: Encoded = { primary: [primary.table, primary.row, primary.column], ...rest };
  return Buffer.from(JSON.stringify(encoded));
}

export function decodeLock(cell: Cell): Lock {
  const encoded = JSON.parse(viewOf(cell.value).toString()) as Encoded;
  const [table, row, column] = encoded.primary;
  return { ...encoded, startTimestamp: cell.timestamp, primary: { table, row, column } };
}

/**
 * Undefined if the storage has other bytes than this engine writes: what they tell of a primary
 * cannot be relied on. fsck reports them.
 */
export function readLock(cell: Cell): Lock | undefined {
  try {
    const lock = decodeLock(cell);
    const { table, row, column } = lock.primary;
    const texts = [table, row, column, lock.owner].every((text) => typeof text === 'string');
    const numbers = [lock.wallMs, lock.timeToLiveMs, lock.heartbeat].every(Number.isFinite);
    const isValid = texts && numbers && table !== '' && hasValidOperation(lock);
    return isValid ? lock : undefined;
  } catch {
    return undefined;
  }
}

/** @throws TABLE_MISMATCH if the storage has other bytes than this engine writes */
export function lockIn(cell: Cell, address: CellAddress): Lock {
  const lock = readLock(cell);
  if (lock !== undefined) return lock;
  const message = `the lock of ${describeCell(address)} cannot be decoded; fsck says more`;
  throw new PercolatorError('TABLE_MISMATCH', message);
}

function hasValidOperation({ operation, touched }: Lock): boolean {
  if (operation !== 'touch') return operation === 'put' || operation === 'delete';
  return isTimestamp(touched?.dataTimestamp) && isTimestamp(touched?.changedTimestamp);
}

export function isTimestamp(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Whether the lock, found in `cell`, is its transaction's primary. */
export function isPrimary(lock: Lock, cell: CellAddress): boolean {
  const { primary } = lock;
  assert(primary.table !== '', 'a lock names the table of its primary');
  return primary.table === cell.table && primary.row === cell.row && primary.column === cell.column;
}
