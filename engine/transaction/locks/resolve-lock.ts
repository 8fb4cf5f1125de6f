/**
 * Lock resolution (section 2.2): what to do about another transaction's lock.
 *
 * "Percolator handles this by designating one cell in every transaction as a synchronizing point for
 * any commit or cleanup operations. ... Performing either a cleanup or commit operation requires
 * modifying the primary lock; since this modification is performed under a Bigtable row
 * transaction, only one of the cleanup or commit operations will succeed."
 *
 *     look at the primary's cell, in one read
 *       ├─ write record of this transaction ─▶ it has committed:        roll forward
 *       ├─ rollback marker                  ─▶ it was rolled back:       roll back
 *       ├─ its lock
 *       │    ├─ owner alive                ─▶ leave it
 *       │    └─ owner dead                 ─▶ roll the primary back, unless it commits first: look again
 *       └─ nothing of it                  ─▶ its primary was never locked, or not yet (P2):
 *            ├─ owner alive                ─▶ leave it
 *            └─ owner dead                 ─▶ forbid the primary with a marker, unless it comes first: look again
 *                                             (not below the horizon, see there)
 *
 * Below the horizon, nothing at the primary means nothing (P30): the transaction was never committed, or
 * its record has been collected since. But a collector resolves all locks before it deletes
 * anything, so if the lock at hand is still there, its transaction was not committed, and will not
 * be, because it is given no commit timestamp any more. So the lock is rolled back if it is
 * there, without a marker at the primary; and who asks about the transaction itself hears that it
 * is too late. A marker would be a lie to the latter. It can become one all the same, if it was decided
 * on above the horizon and sent after a pause. So markers put where nothing was found are told
 * apart from others, and below the horizon they mean nothing either.
 *
 * If the primary's table has been dropped, its transaction was not committed: before a table goes, all that had locked
 * cells of it and could commit have ended, and their locks were resolved, in all tables (P55). So the
 * lock is rolled back like one below the horizon. The storage may say by mistake that there is no such table; so the table's
 * definition has to say it, too.
 *
 * Only what the primary says counts; the lock at hand is touched after the outcome is settled, never
 * before (P27). What if we die in between? The next one who meets the lock does the rest.
 */
import { assert, PercolatorError, unreachable } from '../../base/index.ts';
import type { CellFilter, Row, Timestamp } from '../../bigtable/index.ts';
import { isTableNotFound } from '../bound-tables.ts';
import { type CellAddress, LOCK, recordFamily, ROLLBACK } from '../columns.ts';
import type { Context } from '../context.ts';
import { decodeLock, isPrimary, type Lock } from './lock.ts';
import { forbiddingMarker, isForbidding, rollBackCell } from '../roll-back.ts';
import { rollForwardCell } from '../roll-forward.ts';
import { recordOf, type WriteRecord } from '../write-record.ts';

export type Resolution = 'alive' | 'rolled forward' | 'rolled back';

/**
 * What became of the lock found in `cell`. Does not wait: 'alive' leaves that to the caller. If the
 * storage loses an answer, nothing is known, and it is 'alive' too: all of this may be done twice,
 * so whoever meets the lock again looks again.
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
    if (error instanceof PercolatorError && error.code === 'STORE_IN_DOUBT') return 'alive';
    throw error;
  }
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
  /** Its start timestamp is below the horizon, or its primary's table was dropped; nothing certain is left of it. */
  | { readonly kind: 'collected' };

/** Finds out, or if its owner is dead decides, how the transaction of `lock` ended. */
export async function settleTransaction(context: Context, lock: Lock): Promise<Outcome> {
  try {
    return await settleAtPrimary(context, lock);
  } catch (error) {
    if (!isTableNotFound(error)) throw error;
    if ((await context.catalog?.isGone(lock.primary.table)) === false) throw error;
    return { kind: 'collected' };
  }
}

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
        if (!isOwnerDead(context, seen.lock, askedMs)) return { kind: 'alive' };
        // The primary's own lock is rolled back like any other; if it is gone, look what became of it.
        await rollBackCell(context, lock.primary, lock.startTimestamp);
        break;
      case 'absent':
        // A lock whose primary is merely in flight belongs to a healthy transaction: wait for its own time to live.
        if (!isOwnerDead(context, lock, askedMs)) return { kind: 'alive' };
        if (await isGivenUp(context, lock)) return { kind: 'collected' };
        await forbidPrimary(context, lock, seen.newestRecord);
        break;
      default:
        unreachable(seen);
    }
  }
}

type Sight =
  | { readonly kind: 'committed'; readonly record: WriteRecord }
  | { readonly kind: 'rolled back' }
  | { readonly kind: 'forbidden' }
  | { readonly kind: 'locked'; readonly lock: Lock }
  | { readonly kind: 'absent'; readonly newestRecord: Timestamp | undefined };

/** One atomic read of everything that the primary's cell can say about the transaction. */
async function lookAtPrimary(context: Context, lock: Lock): Promise<Sight> {
  const { primary, startTimestamp } = lock;
  context.counters.reads++;
  context.counters.readRows++;
  const row = await context.store.readRow(primary.table, primary.row, tracesOf(lock));
  return interpret(row, primary, startTimestamp);
}

function interpret(row: Row | undefined, primary: CellAddress, startTimestamp: number): Sight {
  const cells = row?.cells ?? [];
  const records = cells.filter((cell) => cell.family === recordFamily(primary.column));
  const record = recordOf(startTimestamp, records);
  if (record !== undefined) return { kind: 'committed', record };
  const marker = cells.find((cell) => cell.family === ROLLBACK);
  if (marker !== undefined) return { kind: isForbidding(marker) ? 'forbidden' : 'rolled back' };
  const locked = cells.find((cell) => cell.family === LOCK);
  if (locked === undefined) return { kind: 'absent', newestRecord: records[0]?.timestamp };
  const lock = decodeLock(locked);
  assert(
    isPrimary(lock, primary),
    'a lock at the address of the primary says that it is the primary',
  );
  return { kind: 'locked', lock };
}

/** The transaction's own lock, marker and write record: all that can be at its primary. */
function tracesOf({ primary, startTimestamp }: Lock): CellFilter[] {
  const own = { qualifier: primary.column, from: startTimestamp, to: startTimestamp };
  return [
    { family: LOCK, ...own },
    { family: ROLLBACK, ...own },
    // The record is at the commit timestamp, which nobody has told us.
    { family: recordFamily(primary.column), qualifier: primary.column, from: startTimestamp },
  ];
}

/**
 * Puts a rollback marker where the primary should have been locked, unless the lock came, or came
 * and was committed, since we looked. Afterwards a prewrite that is still under way can no longer
 * succeed (P1, P2). A record that we saw and that is not the transaction's own forbids it already.
 */
async function forbidPrimary(
  context: Context,
  { primary, startTimestamp }: Lock,
  newestRecord: Timestamp | undefined,
): Promise<void> {
  const { table, row, column: qualifier } = primary;
  const since = newestRecord === undefined ? startTimestamp : newestRecord + 1;
  context.counters.mutations++;
  context.counters.mutatedRows++;
  await context.store.checkAndMutateRow({
    table,
    row,
    anyOf: [
      { family: LOCK, qualifier, from: startTimestamp, to: startTimestamp },
      { family: recordFamily(qualifier), qualifier, from: since },
    ],
    ifNotFound: [forbiddingMarker(qualifier, startTimestamp)],
  });
}

/** Asked after looking: what was not there may have been collected before. */
async function isGivenUp({ oracle }: Context, { startTimestamp }: Lock): Promise<boolean> {
  return (await oracle.readHorizon()) > startTimestamp;
}

/**
 * Whether nobody will finish the transaction. Our own attempts are known at once (P29), exited
 * processes of this machine too; of all others only their time to live tells.
 * @param askedMs when the lock was asked for, on our monotonic clock
 */
export function isOwnerDead(
  context: Context,
  lock: Lock,
  askedMs: number = context.clock.monotonicMs(),
): boolean {
  if (lock.owner === context.liveness.self) return !context.committing.has(lock.startTimestamp);
  return context.liveness.isDead(lock.owner) || context.lockWatch.isExpired(lock, askedMs);
}
