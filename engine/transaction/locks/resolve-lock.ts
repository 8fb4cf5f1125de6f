/**
 * Lock resolution (section 2.2): what to do about another transaction's lock.
 *
 * "Percolator handles this by designating one cell in every transaction as a synchronizing point
 * for any commit or cleanup operations. ... Performing either a cleanup or commit operation
 * requires modifying the primary lock; since this modification is performed under a Bigtable row
 * transaction, only one of the cleanup or commit operations will succeed."
 *
 *     look at the primary's cell, in one read
 *       ├─ write record of this transaction ─▶ it has committed:        roll forward
 *       ├─ rollback marker                  ─▶ it was rolled back:       roll back
 *       ├─ its lock
 *       │    ├─ owner alive                ─▶ leave it
 *       │    └─ owner dead                 ─▶ roll the primary back unless it commits; look again
 *       └─ no trace of it                 ─▶ its primary was never locked, or not yet (P2):
 *            ├─ owner alive                ─▶ leave it
 *            └─ owner dead                 ─▶ forbid the primary by a marker; look again
 *                                             (not below the horizon, see below)
 *
 * Below the horizon (the safe point), finding nothing at the primary proves nothing (P30): the
 * transaction was never committed, or its record has been collected since. But a collector resolves
 * all locks before it deletes anything. So if the lock at hand still exists, its transaction was
 * not committed, and never will be: a transaction whose commit timestamp comes with a horizon above
 * its start rolls itself back. Such a lock is rolled back if it is still there, without a marker at
 * the primary. A caller that asks about the transaction itself is told that it is too late; to that
 * caller a marker would be a lie. A marker can become that lie all the same, if it was decided on
 * above the horizon and sent after a pause. So markers that were put where nothing was found differ
 * from all others (they are "forbidding"), and below the horizon they prove nothing either.
 *
 * If the primary's table has been dropped, the transaction was not committed: before a table goes,
 * all transactions that had locked cells of it and could commit have ended, and their locks were
 * resolved, in all tables (P55). So the lock is rolled back like one below the horizon. The storage
 * may say by mistake that a table is missing, so the table's definition has to confirm it.
 *
 * Only the primary decides; the lock at hand is changed after the outcome is settled, never before
 * (P27). What if we die in between? The next process that meets the lock does the rest.
 */
import { hasCode, PercolatorError, unreachable } from '../../base/index.ts';
import type { CellFilter, Row, Timestamp } from '../../bigtable/index.ts';
import { isTableNotFound } from '../bound-tables.ts';
import { placeOf, type CellAddress, isOf, LOCK, ROLLBACK, WRITE } from '../columns.ts';
import type { Context } from '../context.ts';
import { isPrimary, type Lock, readLock } from './lock.ts';
import { forbiddingMarker, isForbidding, rollBackCell } from '../roll-back.ts';
import { rollForwardCell } from '../roll-forward.ts';
import { recordOf, type WriteRecord } from '../write-record.ts';

export type Resolution = 'alive' | 'rolled forward' | 'rolled back';

/**
 * What became of the lock found in `cell`. Does not wait: 'alive' leaves that to the caller. If the
 * storage loses an answer, nothing is known, and the result is 'alive', too. All of this may be
 * done twice, so a caller that meets the lock again checks again (P28).
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
  outcome: Outcome,
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

export type Outcome =
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
export async function settleTransaction(context: Context, lock: Lock): Promise<Outcome> {
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
 * was committed. Where two locks name each other, no order is always right: an owner that was taken
 * for dead may still commit at the one that comes second.
 */
async function settleAtPrimary(context: Context, lock: Lock): Promise<Outcome> {
  for (;;) {
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
        if (await isGivenUp(context, lock)) return { kind: 'collected' };
        await forbidPrimary(context, lock, seen.newestRecord);
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
async function settleElsewhere(context: Context, lock: Lock): Promise<Outcome | undefined> {
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
  const marker = cells.find((cell) => isOf(ROLLBACK, cell));
  if (marker !== undefined) return { kind: isForbidding(marker) ? 'forbidden' : 'rolled back' };
  const locked = cells.find((cell) => isOf(LOCK, cell));
  if (locked === undefined) return { kind: 'absent', newestRecord: records[0]?.timestamp };
  // If it cannot be decoded, the lock at hand stands in for it, with the same owner and start.
  return { kind: 'locked', lock: readLock(locked) ?? atHand };
}

/**
 * The transaction's own lock, marker and write record: all that it can leave at its primary.
 * Another transaction's lock may be at the same address (P3).
 */
function tracesOf({ primary, startTimestamp }: Lock): CellFilter[] {
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
 * Puts a rollback marker where the primary should have been locked, unless since we looked the lock
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
    ifNotFound: [forbiddingMarker(column, startTimestamp)],
    essential: true,
  });
}

/** Asked after the look: what the look did not find may have been collected before it. */
async function isGivenUp({ oracle }: Context, { startTimestamp }: Lock): Promise<boolean> {
  return (await oracle.readHorizon()) > startTimestamp;
}

/**
 * Whether the owner is taken for dead, or has given up. This process knows its own attempts at once
 * (P29). Exited processes are reported by the system or the lock service; about all others, only
 * the lock's time to live tells.
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
