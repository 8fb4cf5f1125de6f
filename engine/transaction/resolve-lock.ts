/**
 * Lock resolution (section 2.2): what to do about another transaction's lock; then the two things
 * that are done to a cell, roll forward and roll back.
 *
 * "Percolator handles this by designating one cell in every transaction as a synchronizing point
 * for any commit or cleanup operations. ... Performing either a cleanup or commit operation
 * requires modifying the primary lock; since this modification is performed under a Bigtable row
 * transaction, only one of the cleanup or commit operations will succeed."
 *
 *     look at the primary's cell, in one read
 *       ├─ write record of this transaction ─▶ it has committed:        roll forward
 *       ├─ rollback record                  ─▶ it was rolled back:       roll back
 *       ├─ its lock
 *       │    ├─ owner alive                ─▶ leave it
 *       │    └─ owner dead                 ─▶ roll the primary back unless it commits; look again
 *       └─ no trace of it                 ─▶ its primary was never locked, or not yet (P2):
 *            ├─ owner alive                ─▶ leave it
 *            └─ owner dead                 ─▶ forbid the primary by a rollback record; look again
 *                                             (not below the horizon, see below)
 *
 * Below the horizon (the safe point), finding nothing at the primary proves nothing (P30, evidence
 * collected first): the transaction was never committed, or its record has been collected since.
 * But a collector resolves all locks before it deletes anything. So if the lock at hand still
 * exists, its transaction was not committed, and never will be: a transaction whose commit
 * timestamp comes with a horizon above its start rolls itself back. Such a lock is rolled back if
 * it is still there, without a rollback record at the primary. A caller that asks about the
 * transaction itself is told that it is too late. The look that finds nothing must come after the
 * horizon was known: before it, the primary may have been locked between the two, and its
 * transaction may have received its commit timestamp while the horizon was still below (P2).
 *
 * A rollback record that a process put where it had found nothing must not be trusted there either:
 * the process may have decided above the horizon, sent the record after a pause, and so claim a
 * rollback that never was. So such records differ from all others (they are "forbidding").
 *
 * If the primary's table has been dropped, the transaction was not committed: before a table goes,
 * all transactions that had locked cells of it and could commit have ended, and their locks were
 * resolved, in all tables (P55, primaries dropped). So the lock is rolled back like one below the
 * horizon. The storage may say by mistake that a table is missing, so the table's definition has to
 * confirm it.
 *
 * Only the primary decides; the lock at hand is changed after the outcome is settled, never before
 * (P27, check, then act). What if we die in between? The next process that meets the lock does the
 * rest.
 */
import { assert, bytesOf, hasCode, PercolatorError, textOf, unreachable } from '../base/index.ts';
import type {
  Cell,
  CellFilter,
  ConditionalRowMutation,
  Mutation,
  Row,
  RowMutation,
  Timestamp,
} from '../bigtable/index.ts';
import { isTableNotFound } from './bound-tables.ts';
import {
  type CellAddress,
  DATA,
  encodeWriteRecord,
  isOf,
  isOfEngine,
  isSharedLock,
  LOCK,
  type WriteOperation,
  placeOf,
  recordOf,
  ROLLBACK,
  type Touched,
  WRITE,
  type WriteRecord,
} from './columns.ts';
import type { Context } from './context.ts';
import { isPrimary, type Lock, readLock } from './locks.ts';
import type { RowWrites, Write } from './writes.ts';

export type Resolution = 'alive' | 'rolled forward' | 'rolled back';

/**
 * What became of the lock found in `cell`. Does not wait: 'alive' leaves that to the caller. If the
 * storage loses an answer, nothing is known, and the result is 'alive', too. All of this may be
 * done twice, so a caller that meets the lock again checks again (P28, remembered verdicts).
 */
export async function resolveLock(
  context: Context,
  cell: CellAddress,
  lock: Lock,
): Promise<Resolution> {
  try {
    const outcome = await settleTransaction(context, lock);
    return await followPrimary(context, cell, lock, outcome);
  } catch (error) {
    if (hasCode(error, 'STORE_IN_DOUBT')) return 'alive';
    throw error;
  }
}

/**
 * Whether `resolveLock` failed because the primary cannot be found: there is no such table, it is
 * not ours, or no cell may have such a name. A damaged lock may name anything.
 */
export function isWithoutPrimary(error: unknown): boolean {
  if (!(error instanceof PercolatorError)) return false;
  return ['TABLE_NOT_FOUND', 'FAMILY_NOT_FOUND', 'INVALID_ARGUMENT'].includes(error.code);
}

/** Does to the cell what was done to the primary. */
async function followPrimary(
  context: Context,
  cell: CellAddress,
  lock: Lock,
  outcome: TransactionOutcome,
): Promise<Resolution> {
  switch (outcome.kind) {
    case 'alive':
      return 'alive';
    case 'committed':
      await rollForwardCell(context, cell, lock, outcome.record.commitTimestamp);
      return 'rolled forward';
    case 'rolled back':
    case 'collected':
      await rollBackCell(context, cell, lock.startTimestamp);
      return 'rolled back';
    default:
      return unreachable(outcome);
  }
}

export type TransactionOutcome =
  | { readonly kind: 'alive' }
  | { readonly kind: 'committed'; readonly record: WriteRecord }
  | { readonly kind: 'rolled back' }
  /**
   * Below the horizon, or the primary's table was dropped:
   * no evidence is left that proves anything.
   */
  | { readonly kind: 'collected' };

/**
 * Checks how the transaction of `lock` ended;
 * decides it if the owner is dead ("check transaction status").
 */
export async function settleTransaction(context: Context, lock: Lock): Promise<TransactionOutcome> {
  try {
    return await settleAtPrimary(context, lock);
  } catch (error) {
    if (!isTableNotFound(error)) throw error;
    if ((await context.catalog?.isGone(lock.primary.table)) === false) throw error;
    return { kind: 'collected' };
  }
}

/**
 * If the lock at the primary names another primary, one of the two locks is damaged, and no process
 * knows which. So the transaction is settled at both: first at the other one, which may say that it
 * was committed. Where two locks name each other, no order is always right: an owner that was
 * presumed dead may still commit at the one that comes second.
 */
async function settleAtPrimary(context: Context, lock: Lock): Promise<TransactionOutcome> {
  for (let isBelowHorizon = false; ;) {
    const askedMs = context.clock.monotonicMs();
    const seen = await lookAtPrimary(context, lock);
    switch (seen.kind) {
      case 'committed':
      case 'rolled back':
        return seen;
      case 'forbidden':
        return { kind: (await isGivenUp(context, lock)) ? 'collected' : 'rolled back' };
      case 'locked':
        if (!isPrimary(seen.lock, lock.primary)) {
          const other = await settleElsewhere(context, seen.lock);
          if (other?.kind === 'committed' || other?.kind === 'alive') return other;
        }
        if (!isOwnerDead(context, seen.lock, askedMs)) return { kind: 'alive' };
        // The primary's own lock is rolled back like any other; if it is gone, the next look tells
        // why.
        await rollBackCell(context, lock.primary, lock.startTimestamp);
        break;
      case 'absent':
        // If the primary's prewrite is merely in flight, the transaction is healthy: wait for the
        // time to live of the lock at hand.
        if (!isOwnerDead(context, lock, askedMs)) return { kind: 'alive' };
        if (isBelowHorizon) return { kind: 'collected' };
        isBelowHorizon = await isGivenUp(context, lock);
        if (!isBelowHorizon) await forbidPrimary(context, lock, seen.newestRecord);
        break;
      default:
        unreachable(seen);
    }
  }
}

/**
 * Settles the transaction at the primary of a lock that may be damaged. Undefined if that cannot be
 * its primary: no cell can have the address, or the lock there does not say that it is the primary.
 * Nothing is decided there then, because the transaction may yet be committed elsewhere.
 */
async function settleElsewhere(
  context: Context,
  lock: Lock,
): Promise<TransactionOutcome | undefined> {
  const { primary } = lock;
  try {
    const there = await lookAtPrimary(context, lock);
    if (there.kind === 'locked' && !isPrimary(there.lock, primary)) return undefined;
    return await settleTransaction(context, lock);
  } catch (error) {
    if (!isWithoutPrimary(error)) throw error;
    if (!isTableNotFound(error)) return undefined;
    // The storage may say by mistake that the table is missing.
    if ((await context.store.listTables()).includes(primary.table)) throw error;
    return undefined;
  }
}

type Sight =
  | { readonly kind: 'committed'; readonly record: WriteRecord }
  | { readonly kind: 'rolled back' }
  | { readonly kind: 'forbidden' }
  | { readonly kind: 'locked'; readonly lock: Lock }
  | { readonly kind: 'absent'; readonly newestRecord: Timestamp | undefined };

/** One atomic read of all that the primary's cell can tell about the transaction. */
async function lookAtPrimary(context: Context, lock: Lock): Promise<Sight> {
  const { primary } = lock;
  const row = await context.store.readRow(primary.table, primary.row, tracesOf(lock));
  return interpret(row, lock);
}

function interpret(row: Row | undefined, atHand: Lock): Sight {
  const { startTimestamp } = atHand;
  const cells = row?.cells ?? [];
  const records = cells.filter((cell) => isOf(WRITE, cell));
  const record = recordOf(startTimestamp, records);
  if (record !== undefined) return { kind: 'committed', record };
  const rollback = cells.find((cell) => isOf(ROLLBACK, cell));
  if (rollback !== undefined) return { kind: isForbidding(rollback) ? 'forbidden' : 'rolled back' };
  const locked = cells.find((cell) => isOf(LOCK, cell));
  if (locked === undefined) return { kind: 'absent', newestRecord: records[0]?.timestamp };
  // If it cannot be decoded, the lock at hand stands in for it, with the same owner and start.
  return { kind: 'locked', lock: readLock(locked) ?? atHand };
}

/**
 * The transaction's own lock, rollback record and write record: all that it can leave at its
 * primary. Another transaction's lock may be at the same address (P3, same address, other
 * transaction).
 */
export function tracesOf({
  primary,
  startTimestamp,
}: Pick<Lock, 'primary' | 'startTimestamp'>): CellFilter[] {
  const { column } = primary;
  const own = { from: startTimestamp, to: startTimestamp };
  return [
    { ...placeOf(LOCK, column), ...own },
    { ...placeOf(ROLLBACK, column), ...own },
    // The record is at the commit timestamp, which we do not know.
    { ...placeOf(WRITE, column), from: startTimestamp },
  ];
}

/**
 * Puts a rollback record where the primary should have been locked, unless since we looked the lock
 * arrived, or arrived and was committed. Afterwards a prewrite that is still in flight can no
 * longer succeed (P1, P2). A record that we saw and that is not the transaction's own forbids it
 * already.
 */
async function forbidPrimary(
  context: Context,
  { primary, startTimestamp }: Lock,
  newestRecord: Timestamp | undefined,
): Promise<void> {
  const { table, row, column } = primary;
  const since = newestRecord === undefined ? startTimestamp : newestRecord + 1;
  await context.store.checkAndMutateRow({
    table,
    row,
    anyOf: [
      { ...placeOf(LOCK, column), from: startTimestamp, to: startTimestamp },
      { ...placeOf(WRITE, column), from: since },
    ],
    ifNotFound: [forbiddingRollback(column, startTimestamp)],
    essential: true,
  });
}

/** Asked after the look: what the look did not find may have been collected before it. */
async function isGivenUp({ oracle }: Context, { startTimestamp }: Lock): Promise<boolean> {
  return (await oracle.readHorizon()) > startTimestamp;
}

/**
 * Whether the owner is presumed dead, or has given up. This process knows its own attempts at once
 * (P29, own dead attempts). Exited processes are reported by the system or the lock service; about
 * all others, only the lock's time to live tells.
 * @param askedMs when the primary was asked for, on our monotonic clock
 */
export function isOwnerDead(
  context: Context,
  lock: Lock,
  askedMs: number = context.clock.monotonicMs(),
): boolean {
  if (lock.owner === context.liveness.self) return !context.committing.has(lock.startTimestamp);
  return context.liveness.isDead(lock.owner) || context.lockWatch.isExpired(lock, askedMs);
}

/*
 * Roll forward: replace a lock of a committed transaction by its write record.
 *
 * The transaction itself does so for its secondaries, after the commit point; so does any process
 * that meets a lock whose primary has been committed. All of them write the same cells, so it does
 * not matter if several do it. The lock is erased at exactly its timestamp: a range "up to the
 * commit timestamp", as in Figure 6, would also erase a later transaction's lock if the mutation is
 * late (P9, late second phase).
 *
 * All of them write only if the lock is still there, which Figure 6 does not ask for. Without the
 * condition, a process that stops for an hour between the commit point and its second phase would
 * bring back a write record that another process has rolled forward, that has been overwritten, and
 * that has been collected since. The data of such a record is gone, so every read of the cell would
 * fail from then on. No check of a clock or a lease before the mutation is sent prevents that,
 * because the process may stop after the check. The condition is per cell, not per row: one of a
 * row's locks may have been rolled forward and collected while another is still there.
 */

/**
 * Rolls another transaction's cell forward if its lock is still there;
 * if not, it was resolved before.
 */
async function rollForwardCell(
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

/**
 * Puts the write record at the commit timestamp, pointing to the data; erases the lock. Over a
 * record of another transaction no copy of a prewrite locks again (P14, prewrite after commit), but
 * shared locks pass over one another's: a rollback record keeps old copies away there.
 */
export function commitMutations(
  write: {
    readonly column: string;
    readonly operation: WriteOperation;
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
    ...(isSharedLock(column) ? [rollbackRecord(column, startTimestamp)] : []),
  ];
}

/*
 * Roll back: erase the lock and the data of a transaction that will not commit, and leave a
 * rollback record at its start timestamp.
 *
 * The paper has no such record. Without it, a prewrite that was delayed or sent twice locks the
 * cell again after the rollback, and the transaction may commit although half of it is gone (P1,
 * late prewrite copy). A prewrite that finds that record of its own is refused. The data is erased
 * in the same row mutation as the lock: readers rely on that (snapshot-read.ts).
 */

/**
 * Rolls back another transaction's cell if its lock is still there. If not, the cell has been
 * rolled back or committed in the meantime, and there is nothing to do.
 */
async function rollBackCell(
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
 * prewrite was sent, answered or not (P7, unanswered prewrites stay).
 *
 * The mutations are blind: no other process can have committed the transaction, and a rollback
 * record on a cell that was never locked keeps a late prewrite away. The primary's row comes first:
 * once it has its rollback records, as any other process would leave them (P8, rollback without
 * trace), the transaction is rolled back for all, even if we die before the other rows are. The
 * others follow also where the primary's row takes no mutation: all were locked in one trip.
 * @param rows the primary's row first
 */
export async function rollBackOwn(
  context: Context,
  [primaryRow, ...others]: readonly RowWrites[],
  startTimestamp: Timestamp,
): Promise<void> {
  if (primaryRow === undefined) return;
  try {
    await unlessDropped(context.store.mutateRows([rollBackRow(primaryRow, startTimestamp)]));
  } finally {
    await rollBackSecondaries(context, others, startTimestamp);
  }
}

/**
 * Rolls back the rows of this process's own transaction whose primary is rolled back, also blindly.
 * Rows whose table was dropped meanwhile are gone with it, perhaps with the primary among them: the
 * others are still rolled back.
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
 * process has rolled forward would lose its data (P11, lost commit answer).
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
 * A rollback record put where nothing was found to roll back (P2, primary not found); TiKV calls
 * such a record "protected". It has a value of its own because it can be wrong: when the decision
 * was made before the evidence of a commit was collected, and the record arrived after
 * (resolve-lock.ts).
 */
function forbiddingRollback(column: string, startTimestamp: Timestamp): Mutation {
  return rollbackRecord(column, startTimestamp, bytesOf(FORBIDDEN));
}

export function isForbidding(rollback: Cell): boolean {
  return textOf(rollback.value) === FORBIDDEN;
}

const FORBIDDEN = 'forbidden';

function rollbackRecord(
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
    rollbackRecord(column, startTimestamp),
    { ...own, ...placeOf(LOCK, column) },
  ];
  if (!isOfEngine(column)) mutations.push({ ...own, ...placeOf(DATA, column) });
  return mutations;
}
