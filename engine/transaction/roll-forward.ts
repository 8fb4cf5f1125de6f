/**
 * Roll forward: replace a lock of a committed transaction by its write record.
 *
 * The transaction itself does so for its secondaries, after the commit point; so does any process
 * that meets a lock whose primary has been committed. All of them write the same cells, so it does
 * not matter if several do it. The lock is erased at exactly its timestamp: a range "up to the
 * commit timestamp", as in Figure 6, would also erase a later transaction's lock if the mutation is
 * late (P9).
 *
 * All of them write only if the lock is still there, which Figure 6 does not ask for. Without the
 * condition, a process that stops for an hour between the commit point and its second phase would
 * bring back a write record that another process has rolled forward, that has been overwritten, and
 * that has been collected since. The data of such a record is gone, so every read of the cell would
 * fail from then on. No check of a clock or a lease before the mutation is sent prevents that,
 * because the process may stop after the check. The condition is per cell, not per row: one of a
 * row's locks may have been rolled forward and collected while another is still there.
 */
import type { ConditionalRowMutation, Mutation, Timestamp } from '../bigtable/index.ts';
import { placeOf, type CellAddress, LOCK, WRITE } from './columns.ts';
import type { Context } from './context.ts';
import type { Lock, Operation, Touched } from './locks/lock.ts';
import { encodeWriteRecord } from './write-record.ts';
import type { RowWrites, Write } from './writes.ts';

/**
 * Rolls another transaction's cell forward if its lock is still there;
 * if not, it was resolved before.
 */
export async function rollForwardCell(
  context: Context,
  { table, row, column }: CellAddress,
  lock: Lock,
  commitTimestamp: Timestamp,
): Promise<void> {
  const { startTimestamp } = lock;
  const write = { table, row, column, ...lock };
  const found = await context.store.checkAndMutateRow(
    rollForwardIfLocked(write, startTimestamp, commitTimestamp),
  );
  if (found) context.counters.rolledForward++;
}

/** Second phase: writes the write records of the secondary cells. */
export async function rollForwardOwn(
  context: Context,
  rows: readonly RowWrites[],
  startTimestamp: Timestamp,
  commitTimestamp: Timestamp,
): Promise<void> {
  const conditionals = rows
    .flatMap(({ writes }) => writes)
    .map((write) => rollForwardIfLocked(write, startTimestamp, commitTimestamp));
  await context.store.checkAndMutateRows(conditionals);
}

function rollForwardIfLocked(
  write: Pick<Write, 'table' | 'row' | 'column' | 'operation' | 'touched'>,
  startTimestamp: Timestamp,
  commitTimestamp: Timestamp,
): ConditionalRowMutation {
  const { table, row, column } = write;
  const own = { ...placeOf(LOCK, column), from: startTimestamp, to: startTimestamp };
  const ifFound = commitMutations(write, startTimestamp, commitTimestamp);
  // Provisional: any process can do it again.
  return { table, row, anyOf: [own], ifFound, provisional: true, essential: true };
}

/** Puts the write record at the commit timestamp, pointing to the data; erases the lock. */
export function commitMutations(
  write: {
    readonly column: string;
    readonly operation: Operation;
    readonly touched?: Touched | undefined;
  },
  startTimestamp: Timestamp,
  commitTimestamp: Timestamp,
): Mutation[] {
  const { column, operation, touched } = write;
  const value = encodeWriteRecord(startTimestamp, operation, touched);
  return [
    { kind: 'set', ...placeOf(WRITE, column), timestamp: commitTimestamp, value },
    { kind: 'erase', ...placeOf(LOCK, column), from: startTimestamp, to: startTimestamp },
  ];
}
