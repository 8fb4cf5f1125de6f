/**
 * Roll back: erase the lock and the data of a transaction that will not commit, and leave a marker
 * at its start timestamp.
 *
 * The paper has no such marker. Without it, a prewrite that was delayed or sent twice locks the
 * cell again after the rollback, and the transaction may commit although half of it is gone (P1). A
 * prewrite that finds its own marker is refused. The data is erased in the same row mutation as the
 * lock: readers rely on that (snapshot-read.ts).
 */
import { assert, hasCode, PercolatorError } from '../base/index.ts';
import type { Cell, Mutation, RowMutation, Timestamp } from '../bigtable/index.ts';
import { isTableNotFound } from './bound-tables.ts';
import { placeOf, type CellAddress, DATA, isAcknowledgment, LOCK, ROLLBACK } from './columns.ts';
import type { Context } from './context.ts';
import type { RowWrites } from './writes.ts';

/**
 * Rolls back another transaction's cell if its lock is still there. If not, the cell has been
 * rolled back or committed in the meantime, and there is nothing to do.
 */
export async function rollBackCell(
  context: Context,
  { table, row, column }: CellAddress,
  startTimestamp: Timestamp,
): Promise<void> {
  const found = await context.store.checkAndMutateRow({
    table,
    row,
    anyOf: [{ ...placeOf(LOCK, column), from: startTimestamp, to: startTimestamp }],
    ifFound: rollBackMutations(column, startTimestamp),
    essential: true,
  });
  if (found) context.counters.rolledBack++;
}

/**
 * Rolls back this process's own transaction, whose commit was not sent: every row to which a
 * prewrite was sent, answered or not (P7).
 *
 * The mutations are blind: no other process can have committed the transaction, and a marker on a
 * cell that was never locked keeps a late prewrite away. The primary's row comes first: once it is
 * marked, as any other process would mark it (P8), the transaction is rolled back for all, even if
 * we die before the other rows are.
 * @param rows the primary's row first
 */
export async function rollBackOwn(
  context: Context,
  [primaryRow, ...others]: readonly RowWrites[],
  startTimestamp: Timestamp,
): Promise<void> {
  if (primaryRow === undefined) return;
  await unlessDropped(context.store.mutateRows([rollBackRow(primaryRow, startTimestamp)]));
  await rollBackSecondaries(context, others, startTimestamp);
}

/**
 * Rolls back the rows of this process's own transaction whose primary is rolled back, also blindly.
 * Rows whose table was dropped meanwhile are gone with it, perhaps with the primary among them: the
 * others are rolled back all the same.
 */
export async function rollBackSecondaries(
  context: Context,
  rows: readonly RowWrites[],
  startTimestamp: Timestamp,
): Promise<void> {
  const tables = Map.groupBy(rows, ({ table }) => table);
  const rollBack = (ofTable: readonly RowWrites[]): Promise<void> =>
    unlessDropped(
      mutateEach(
        context,
        ofTable.map((row) => rollBackRow(row, startTimestamp)),
      ),
    );
  await Promise.all([...tables.values()].map(rollBack));
}

/** Ignores errors of the engine: a lock that stays costs the next process time, no more. */
export async function quietly(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof PercolatorError)) throw error;
  }
}

/**
 * Rolls back the primary's row of this process's own transaction, whose commit was sent and
 * refused, if its lock is still there: a late copy of the commit may have been applied after all
 * (bigtable.ts, promise 4). Only afterwards may the other rows be rolled back: one that another
 * process has rolled forward would lose its data (P11).
 * @returns whether the transaction is rolled back. If not, it may have committed
 */
export async function rollBackPrimary(
  context: Context,
  { table, row, writes }: RowWrites,
  startTimestamp: Timestamp,
): Promise<boolean> {
  const [primary] = writes;
  assert(primary !== undefined, 'a row of a transaction has a write');
  const own = { ...placeOf(LOCK, primary.column), from: startTimestamp, to: startTimestamp };
  const ifFound = writes.flatMap(({ column }) => rollBackMutations(column, startTimestamp));
  return context.store.checkAndMutateRow({ table, row, anyOf: [own], ifFound, essential: true });
}

/**
 * Mutates rows of one table. If the storage refuses one of them for good, it refuses the whole
 * call; that row was never locked, so the rows are sent one by one.
 */
async function mutateEach(context: Context, rows: readonly RowMutation[]): Promise<void> {
  try {
    await context.store.mutateRows(rows);
  } catch (error) {
    if (!hasCode(error, 'INVALID_ARGUMENT') || rows.length === 1) throw error;
    await Promise.allSettled(rows.map((row) => context.store.mutateRows([row])));
  }
}

async function unlessDropped(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isTableNotFound(error)) throw error;
  }
}

/**
 * A marker put where nothing was found to roll back (P2); TiKV calls such a rollback record
 * "protected". It has a value of its own because it can be wrong: when the decision was made before
 * the evidence of a commit was collected, and the marker arrived after (resolve-lock.ts).
 */
export function forbiddingMarker(column: string, startTimestamp: Timestamp): Mutation {
  return rollbackMarker(column, startTimestamp, Buffer.from(FORBIDDEN));
}

export function isForbidding(marker: Cell): boolean {
  return Buffer.from(marker.value).toString() === FORBIDDEN;
}

const FORBIDDEN = 'forbidden';

function rollbackMarker(
  column: string,
  startTimestamp: Timestamp,
  value: Uint8Array = new Uint8Array(),
): Mutation {
  return { kind: 'set', ...placeOf(ROLLBACK, column), timestamp: startTimestamp, value };
}

function rollBackRow({ table, row, writes }: RowWrites, startTimestamp: Timestamp): RowMutation {
  const mutations = writes.flatMap(({ column }) => rollBackMutations(column, startTimestamp));
  return { table, row, mutations, essential: true };
}

function rollBackMutations(column: string, startTimestamp: Timestamp): Mutation[] {
  const own = { kind: 'erase', from: startTimestamp, to: startTimestamp } as const;
  const mutations: Mutation[] = [
    rollbackMarker(column, startTimestamp),
    { ...own, ...placeOf(LOCK, column) },
  ];
  if (!isAcknowledgment(column)) mutations.push({ ...own, ...placeOf(DATA, column) });
  return mutations;
}
