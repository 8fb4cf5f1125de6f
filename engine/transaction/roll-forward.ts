/**
 * Roll forward: replace a lock of a committed transaction by its write record.
 *
 * Done by the transaction itself for its secondaries, after the commit point, and by whoever meets
 * a lock whose primary has been committed. Both write the same cells, so it does not matter that
 * they may do it twice. The lock is erased at exactly its timestamp: a range "up to the commit
 * timestamp", as in Figure 6, would take a later transaction's lock with it if the mutation is late (P9).
 */
import type { Mutation, RowMutation, Timestamp } from '../bigtable/index.ts';
import { type CellAddress, LOCK, recordFamily } from './columns.ts';
import type { Context } from './context.ts';
import type { Lock, Operation, Touched } from './lock.ts';
import { encodeWriteRecord } from './write-record.ts';
import type { RowWrites } from './writes.ts';

/** Rolls someone else's cell forward if its lock is still there; otherwise somebody did it before. */
export async function rollForwardCell(
  context: Context,
  { table, row, column }: CellAddress,
  lock: Lock,
  commitTimestamp: Timestamp,
): Promise<void> {
  const { startTimestamp } = lock;
  context.counters.mutations++;
  context.counters.mutatedRows++;
  const found = await context.store.checkAndMutateRow({
    table,
    row,
    anyOf: [{ family: LOCK, qualifier: column, from: startTimestamp, to: startTimestamp }],
    ifFound: commitMutations({ column, ...lock }, startTimestamp, commitTimestamp),
  });
  if (found) context.counters.rolledForward++;
}

/** Second phase: write out write records for secondary cells. */
export async function rollForwardOwn(
  context: Context,
  rows: readonly RowWrites[],
  startTimestamp: Timestamp,
  commitTimestamp: Timestamp,
): Promise<void> {
  if (rows.length === 0) return;
  context.counters.mutations++;
  context.counters.mutatedRows += rows.length;
  await context.store.mutateRows(
    rows.map(({ table, row, writes }): RowMutation => {
      const mutations = writes.flatMap((write) =>
        commitMutations(write, startTimestamp, commitTimestamp),
      );
      return { table, row, mutations };
    }),
  );
}

/** Put the write record at the commit timestamp, pointing to the data; erase the lock. */
export function commitMutations(
  write: {
    readonly column: string;
    readonly operation: Operation;
    readonly touched?: Touched | undefined;
  },
  startTimestamp: Timestamp,
  commitTimestamp: Timestamp,
): Mutation[] {
  const qualifier = write.column;
  return [
    {
      kind: 'set',
      family: recordFamily(qualifier),
      qualifier,
      timestamp: commitTimestamp,
      value: encodeWriteRecord(startTimestamp, write.operation, write.touched),
    },
    { kind: 'erase', family: LOCK, qualifier, from: startTimestamp, to: startTimestamp },
  ];
}
