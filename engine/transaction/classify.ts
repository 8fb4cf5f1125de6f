/**
 * The classifying read: what a conditional mutation's "no" really meant (P11, P12).
 *
 * The storage answers with one bit. "Another transaction is there" calls for a retry; "your own
 * mutation arrived before" does not, and a retry would apply the write twice. So a read checks
 * every conflict before it is believed.
 */
import { assert, unreachable } from '../base/index.ts';
import type { Cell, CellFilter, Timestamp } from '../bigtable/index.ts';
import {
  placeOf,
  type CellAddress,
  columnOf,
  describeCell,
  isOf,
  LOCK,
  ROLLBACK,
  WRITE,
} from './columns.ts';
import type { Context } from './context.ts';
import { type Lock, lockIn, readLock } from './locks/lock.ts';
import { isForbidding } from './roll-back.ts';
import type { RowWrites } from './writes.ts';
import { recordOf, type WriteRecord } from './write-record.ts';

export interface Conflict {
  readonly kind: 'conflict';
  /**
   * newer write: committed at or after our start timestamp. locked: by another transaction. rolled
   * back: our transaction was. gone: the obstacle has left since.
   */
  readonly reason: 'newer write' | 'locked' | 'rolled back' | 'gone';
  readonly cell: CellAddress;
  /** With `locked`: the lock. */
  readonly lock?: Lock | undefined;
  /** Every lock of the row that was in the way, for a caller that wants to resolve them (P80). */
  readonly locks: readonly FoundLock[];
}

export interface FoundLock {
  readonly cell: CellAddress;
  readonly lock: Lock;
}

/** Why the row was not locked, or that it is. */
export async function classifyPrewrite(
  context: Context,
  { table, row, writes }: RowWrites,
  startTimestamp: Timestamp,
): Promise<Conflict | { readonly kind: 'ours' }> {
  const filters = writes.flatMap(({ column }) => evidence(column, startTimestamp));
  const cells = (await context.store.readRow(table, row, filters))?.cells ?? [];
  const [cell] = cells;
  if (cell === undefined) {
    return { kind: 'conflict', reason: 'gone', cell: { table, row, column: '' }, locks: [] };
  }
  // All cells of a row, or of its piece, are locked in one mutation, so our lock on the first
  // proves our locks on all.
  if (isOf(LOCK, cell) && cell.timestamp === startTimestamp) return { kind: 'ours' };
  const reason = reasonOf(cell);
  const address = { table, row, column: columnOf(cell) };
  const lock = reason === 'locked' ? lockIn(cell, address) : undefined;
  const locks = lock === undefined ? [] : foundLocks(cells, { table, row });
  return { kind: 'conflict', reason, cell: address, lock, locks };
}

/** Damaged ones are left out: nothing is known of their primaries. */
function foundLocks(
  cells: readonly Cell[],
  row: Pick<CellAddress, 'table' | 'row'>,
): readonly FoundLock[] {
  return cells.flatMap((cell) => {
    const lock = isOf(LOCK, cell) ? readLock(cell) : undefined;
    return lock === undefined ? [] : [{ cell: { ...row, column: columnOf(cell) }, lock }];
  });
}

export type CommitEvidence =
  | { readonly kind: 'committed'; readonly record: WriteRecord }
  | { readonly kind: 'still locked' }
  | { readonly kind: 'rolled back' }
  /** Nothing is left that proves how it ended. */
  | { readonly kind: 'collected' };

/** How our own commit of the primary ended, or that it has not. */
export async function classifyCommit(
  context: Context,
  { table, row, column }: CellAddress,
  startTimestamp: Timestamp,
): Promise<CommitEvidence> {
  const own = { from: startTimestamp, to: startTimestamp };
  const found = await context.store.readRow(table, row, [
    { ...placeOf(LOCK, column), ...own },
    { ...placeOf(ROLLBACK, column), ...own },
    { ...placeOf(WRITE, column), from: startTimestamp },
  ]);
  const cells = found?.cells ?? [];
  const record = recordOf(
    startTimestamp,
    cells.filter((cell) => isOf(WRITE, cell)),
  );
  if (record !== undefined) return { kind: 'committed', record };
  if (cells.some((cell) => isOf(LOCK, cell))) return { kind: 'still locked' };
  const marker = cells.find((cell) => isOf(ROLLBACK, cell));
  if (marker !== undefined && !isForbidding(marker)) return { kind: 'rolled back' };
  const isGivenUp = (await context.oracle.readHorizon()) > startTimestamp;
  if (isGivenUp) return { kind: 'collected' };
  assert(marker !== undefined, 'above the horizon, a lock that is gone has left a trace');
  return { kind: 'rolled back' };
}

/** One sentence for the error. */
export function describeConflict({ reason, cell, lock }: Conflict): string {
  switch (reason) {
    case 'newer write':
      return `${describeCell(cell)} was written by a transaction that committed first`;
    case 'locked':
      return `${describeCell(cell)} is locked by the transaction of ${lock?.startTimestamp} (owner ${lock?.owner})`;
    case 'rolled back':
      return `another transaction took this one for dead and rolled ${describeCell(cell)} back`;
    case 'gone':
      return `a cell of row ${cell.table}/${cell.row} was locked by another transaction`;
    default:
      return unreachable(reason);
  }
}

/** Our own lock comes first: it decides. */
function evidence(column: string, startTimestamp: Timestamp): CellFilter[] {
  const own = { from: startTimestamp, to: startTimestamp };
  return [
    { ...placeOf(LOCK, column), ...own },
    { ...placeOf(ROLLBACK, column), ...own },
    { ...placeOf(WRITE, column), from: startTimestamp, versions: 1 },
    { ...placeOf(LOCK, column), versions: 1 },
  ];
}

function reasonOf(cell: Cell): Conflict['reason'] {
  if (isOf(LOCK, cell)) return 'locked';
  return isOf(ROLLBACK, cell) ? 'rolled back' : 'newer write';
}
