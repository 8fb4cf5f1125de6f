/**
 * Roll forward: replace a lock of a committed transaction by its write record.
 *
 * Done by the transaction itself for its secondaries, after the commit point, and by whoever meets
 * a lock whose primary has been committed. Both write the same cells, so it does not matter that
 * they may do it twice. The lock is erased at exactly its timestamp: a range "up to the commit
 * timestamp", as in Figure 6, would take a later transaction's lock with it if the mutation is late (P9).
 *
 * The transaction's own second phase is blind, which saves the storage a check for every secondary.
 * Could it arrive so late that it brings back a write record that has been collected since (P9)? Only what is
 * covered is sent blindly: at the moment of sending no collector had given up our start timestamp. A
 * collector that does so later waits, before it deletes anything, until no message can be underway any
 * more that was sent before (garbage-collection/cycle.ts). And the hold stays until the answer is
 * there, so as long as we live and renew our lease, it does not even begin. What is not covered is
 * sent as others would send it: only if the lock is there, cell by cell. Not row by row: of a row's
 * locks one may have been rolled forward by somebody else, and collected, while another is still there.
 */
import type {
  ConditionalRowMutation,
  Mutation,
  RowMutation,
  Timestamp,
} from '../bigtable/index.ts';
import { type CellAddress, LOCK, recordFamily } from './columns.ts';
import type { Context } from './context.ts';
import type { Lock, Operation, Touched } from './lock.ts';
import type { HeldSnapshot } from './stale.ts';
import { encodeWriteRecord } from './write-record.ts';
import type { RowWrites, Write } from './writes.ts';

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
  const write = { table, row, column, ...lock };
  const found = await context.store.checkAndMutateRow(
    rollForwardIfLocked(write, startTimestamp, commitTimestamp),
  );
  if (found) context.counters.rolledForward++;
}

/** Second phase: write out write records for secondary cells. */
export async function rollForwardOwn(
  context: Context,
  rows: readonly RowWrites[],
  { startTimestamp, hold, committedAt }: HeldSnapshot & { readonly committedAt: Timestamp },
): Promise<void> {
  if (rows.length === 0) return;
  context.counters.mutations++;
  context.counters.mutatedRows += rows.length;
  if (hold.isCovered()) {
    await context.store.mutateRows(
      rows.map(({ table, row, writes }): RowMutation => {
        const mutations = writes.flatMap((write) =>
          commitMutations(write, startTimestamp, committedAt),
        );
        return { table, row, mutations };
      }),
    );
    return;
  }
  await context.store.checkAndMutateRows(
    rows
      .flatMap(({ writes }) => writes)
      .map((write) => rollForwardIfLocked(write, startTimestamp, committedAt)),
  );
}

function rollForwardIfLocked(
  write: Pick<Write, 'table' | 'row' | 'column' | 'operation' | 'touched'>,
  startTimestamp: Timestamp,
  commitTimestamp: Timestamp,
): ConditionalRowMutation {
  const { table, row, column: qualifier } = write;
  const own = { family: LOCK, qualifier, from: startTimestamp, to: startTimestamp };
  const ifFound = commitMutations(write, startTimestamp, commitTimestamp);
  return { table, row, anyOf: [own], ifFound };
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
