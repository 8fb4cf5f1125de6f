/**
 * Commit, as in Figure 6 of the Percolator paper (Peng and Dabek, OSDI 2010), and with what the
 * figure lacks (figure-6.ts shows it as printed).
 *
 *     prewrite all rows ─▶ commit timestamp ─▶ notifications
 *            │ conflict
 *            └─▶ roll back what was sent, with rollback records, and report the conflict
 *
 *     ─▶ commit the primary's row ─▶ answer the caller ─▶ secondaries, in the background
 *            │ lock gone: we were rolled back
 *            └ answer lost: look until it is known, never clean up meanwhile (P11)
 *
 * A table that was dropped and created again is another *incarnation* of it (bound-tables.ts):
 * `inStore`, `confirm` and `explain` keep the transaction to the one that it has read. With the
 * commit timestamp comes the count of drops. If it has moved since the definitions of our
 * tables were read, they are read again: a table that was dropped since it was locked, or dropped
 * and created again, must not be committed to (P54, commit during drop).
 *
 * With the commit timestamp also comes the horizon of the garbage collection (P31, snapshot loses
 * versions). If it is above our start timestamp, we roll ourselves back: write records and rollback
 * records that should have stopped our prewrites may have been collected. Nothing that was
 * collected before our locks were there escapes this check: the horizon is persisted before
 * anything is deleted, and we ask for the timestamp after locking.
 *
 * The commit point is the row mutation that turns the primary's lock into a write record. Before
 * it, any process may roll the transaction back; after it, every process must roll it forward.
 *
 * Why this order: what if we die ...
 *
 * - while prewriting: the locks point to a primary that is locked or absent; a process that meets
 *   them waits until we are known to be dead, and rolls back.
 * - after the commit timestamp: the same. A timestamp is only a number until it is written.
 * - after the notifications: the same, and a worker looks at the cells in vain. Only for a weak
 *   notification does an observer run.
 * - after the commit point: a process that meets a secondary's lock finds the primary's write
 *   record and rolls forward.
 *
 * The primary is the first cell written. All rows are locked in one trip, so a lock may be there
 * before its primary (P2, primary not found). Two kinds of transactions lock their primary's row
 * first:
 *
 * - one that runs again, whatever it has failed of. Among transactions that fight over a primary,
 *   the losers then have no other locks to roll back (P22, waiting with locks); where the primary's
 *   server is slow, no process meets a lock for which nothing beats yet (P25, late heartbeats); and
 *   where it takes nothing, no other row is locked in vain.
 * - one whose primary has so long an address that the storage may refuse it. Where the storage
 *   takes no lock, it takes no rollback record either: nothing could ever resolve the other locks.
 */
import { assert, hasCode, PercolatorError } from '../base/index.ts';
import type { ConditionalRowMutation, RowMutation, Timestamp } from '../bigtable/index.ts';
import { during, type TransactionTrace } from '../telemetry/index.ts';
import { type BoundCell, isTableNotFound } from './bound-tables.ts';
import { type CellAddress, describeCell, LOCK, placeOf } from './columns.ts';
import { backoffMs, type Context, inBackground } from './context.ts';
import { type Cause, notificationMutations, observedCells, weakCells } from './notifications.ts';
import {
  classifyCommit,
  type CommitEvidence,
  type Conflict,
  describeConflict,
  lockFor,
  prewriteRows,
  type Prewriting,
} from './prewrite.ts';
import {
  commitMutations,
  quietly,
  resolveLock,
  rollBackOwn,
  rollBackPrimary,
  rollBackSecondaries,
  rollForwardOwn,
} from './resolve-lock.ts';
import { type HeldSnapshot, refuseStale } from './snapshot-read.ts';
import type { RowWrites } from './writes.ts';

export interface CommitRequest extends HeldSnapshot {
  /** The first row holds the primary: its first write. */
  readonly rows: readonly RowWrites[];
  /** Cells to notify weakly. */
  readonly weak: readonly CellAddress[];
  /**
   * Why the transaction was run, for its notifications; undefined if it is no run of an observer.
   */
  readonly cause?: Cause | undefined;
  /** Whether an attempt before has failed, of whatever: then the primary's row is locked first. */
  readonly isRetry: boolean;
  /** What is measured of the transaction; undefined if nothing is. */
  readonly trace?: TransactionTrace | undefined;
}

/**
 * Commits, and resolves with the commit timestamp.
 * @throws COMMIT_UNKNOWN: it may be committed; the error names the primary and the start timestamp
 * @throws any other `PercolatorError`, such as WRITE_CONFLICT, ROLLED_BACK or STALE_SNAPSHOT: none
 *   of its writes will ever be visible
 */
export async function commit(context: Context, request: CommitRequest): Promise<Timestamp> {
  const { startTimestamp } = request;
  const finished = Promise.withResolvers<void>();
  context.committing.set(startTimestamp, finished.promise);
  try {
    context.closing.refuseNew();
    const binding = request.tables.bind([...request.rows, ...request.weak]);
    if (binding !== undefined) await binding;
    return await commitTwoPhases(context, request);
  } catch (error) {
    throw await request.tables.explain(error);
  } finally {
    request.hold.release();
    context.committing.delete(startTimestamp);
    finished.resolve();
  }
}

async function commitTwoPhases(context: Context, request: CommitRequest): Promise<Timestamp> {
  const { startTimestamp, tables } = request;
  const rows = tables.inStore(request.rows);
  const primary = rows[0]?.writes[0];
  assert(primary !== undefined, 'a transaction commits a write');
  const { table, row, column } = primary;
  const plan: CommitPlan = {
    startTimestamp,
    primary: { table, row, column },
    wallMs: context.clock.wallMs(),
    rows,
    strong: await observedCells(context, request),
    weak: request.weak.length === 0 ? [] : await weakCells(context, request),
    cause: request.cause,
    trace: request.trace,
  };

  const stopHeartbeat = context.heartbeats.start(lockFor(context, primary, plan));
  try {
    const prewritten = await prewrite(context, request, plan);
    const committing = request.trace?.step('commit.primary');
    const committedAt = await during(committing, commitPrimary(context, prewritten));
    finish(context, plan, committedAt);
    if (prewritten.notifications.length > 0) tellWorkers(context, prewritten);
    return committedAt;
  } finally {
    stopHeartbeat();
  }
}

/** No storage refuses a cell whose row and column have fewer characters together. */
const STORABLE_LENGTH = 1_000;

function isLong({ row, column }: CellAddress): boolean {
  return row.length + column.length > STORABLE_LENGTH;
}

interface CommitPlan extends Prewriting {
  /** By the storage's names of tables; the primary's row first. */
  readonly rows: readonly RowWrites[];
  /** Cells to notify of. */
  readonly strong: readonly BoundCell[];
  readonly weak: readonly BoundCell[];
  readonly cause: Cause | undefined;
  readonly trace: TransactionTrace | undefined;
}

interface Ready extends CommitPlan, Prewritten {
  readonly notifications: readonly RowMutation[];
}

/**
 * All that comes before the commit point. If a step fails, the transaction is rolled back; if that
 * fails, too, its locks stay until the next process meets them.
 */
async function prewrite(
  context: Context,
  { tables, rows: written, isRetry }: CommitRequest,
  plan: CommitPlan,
): Promise<Ready> {
  const { startTimestamp, rows, strong, weak, cause, trace } = plan;
  let sent: readonly RowWrites[] = [];
  let conflicts: readonly Conflict[] = [];
  try {
    const inTwo = isRetry || isLong(plan.primary);
    for (const next of inTwo ? [rows.slice(0, 1), rows.slice(1)] : [rows]) {
      if (next.length === 0) continue;
      sent = rows.slice(0, sent.length + next.length);
      const step = trace?.step(prewriteStep(next, rows));
      conflicts = await during(step, prewriteRows(context, next, plan));
      refuseConflicts(context, conflicts);
    }
    // Only now, with all locks held: a reader with a later start timestamp will meet them (P10,
    // early commit timestamp).
    const asking = trace?.step('timestamp');
    const commitTimestamp = await during(asking, nextTimestamp(context, startTimestamp));
    const confirming = tables.confirm([...written, ...weak]);
    if (confirming !== undefined) await confirming;
    assert(commitTimestamp > startTimestamp, 'the oracle only moves forward');
    const silent = areTold(context, [...strong, ...weak]);
    const notifications = notificationMutations(strong, weak, { commitTimestamp, cause, silent });
    if (notifications.length > 0) context.committing.notifies(startTimestamp, commitTimestamp);
    const mayFollow = context.store.manifest.ordered && weak.length === 0;
    if (notifications.length > 0) {
      await (mayFollow
        ? send(context, notifications)
        : during(trace?.step('notify'), notify(context, notifications)));
    }
    return { ...plan, commitTimestamp, notifications, unanswered: mayFollow ? notifications : [] };
  } catch (error) {
    await quietly(rollBackOwn(context, sent, startTimestamp));
    await cleanUpAfter(context, conflicts);
    throw error;
  }
}

/** Where the primary's row is locked before all others, there are two steps. */
function prewriteStep(
  next: readonly RowWrites[],
  rows: readonly RowWrites[],
): 'prewrite' | 'prewrite.primary' | 'prewrite.secondaries' {
  if (next.length === rows.length) return 'prewrite';
  return next[0] === rows[0] ? 'prewrite.primary' : 'prewrite.secondaries';
}

/** @throws WRITE_CONFLICT, ROLLED_BACK */
function refuseConflicts(context: Context, [conflict]: readonly Conflict[]): void {
  if (conflict === undefined) return;
  context.counters.conflicts++;
  const code = conflict.reason === 'rolled back' ? 'ROLLED_BACK' : 'WRITE_CONFLICT';
  throw new PercolatorError(code, describeConflict(conflict));
}

/**
 * Resolves the locks that were in the way, now that we hold none. Readers do this when they meet a
 * lock; a transaction that only writes would lose to a dead one forever (P21, writer meets dead
 * lock). It looks at all of them, so that their ages begin together (P80, many locks of one). This
 * is a courtesy: the transaction has certainly lost, and its caller must be told so, whatever
 * happens here.
 */
async function cleanUpAfter(context: Context, conflicts: readonly Conflict[]): Promise<void> {
  for (const { cell, lock } of conflicts.flatMap(({ locks }) => locks)) {
    await quietly(resolveLock(context, cell, lock));
  }
}

/** A timestamp, unless the horizon that came with it is above the snapshot. */
async function nextTimestamp(context: Context, startTimestamp: Timestamp): Promise<Timestamp> {
  const timestamp = await context.oracle.next();
  refuseStale(startTimestamp, context.oracle.horizon);
  return timestamp;
}

/**
 * Sets the notify cells and waits until they are there. If the answer was lost, sends them again:
 * setting a notification is idempotent.
 */
async function notify(context: Context, notifications: readonly RowMutation[]): Promise<void> {
  for (let attempt = 1; attempt <= context.options.inDoubtAttemptsMax; attempt++) {
    try {
      return await context.store.mutateRows(notifications);
    } catch (error) {
      if (!hasCode(error, 'STORE_IN_DOUBT')) throw error;
      await context.clock.sleep(backoffMs(context, attempt));
    }
  }
  throw new PercolatorError('STORE_UNAVAILABLE', 'the notifications got no answer');
}

/**
 * Sends the notify cells and waits for no answer. Where the storage applies the mutations sent in
 * one turn in order, the commit of the primary follows at once: it cannot be applied without them.
 * But both may be lost together, so a repeated commit is sent after its notifications (P61, commit
 * without notifications).
 *
 * Not for weak notifications. Their tables may be ones in which we hold no lock: if one is dropped
 * meanwhile, the storage refuses all notifications, and would still take the commit.
 *
 * Strong notifications are refused for good only if another program has deleted their companion
 * table. The owner of an embedded store hears of it in this turn, and does not commit. A process
 * that shares the store hears of it too late: the transaction commits, and all its notifications
 * are lost.
 */
async function send(context: Context, notifications: readonly RowMutation[]): Promise<void> {
  const sent = context.store.mutateRows(notifications);
  inBackground(context, sent);
  // Still the same turn: this only learns of a request that was refused before it was sent.
  await Promise.race([sent, Promise.resolve()]);
}

/** After the commit point nothing can change the outcome, so nothing here may fail the caller. */
function finish(
  context: Context,
  { rows, startTimestamp, trace }: CommitPlan,
  committedAt: Timestamp,
): void {
  context.counters.committed++;
  if (rows.length === 1) return;
  // If this fails, or we die, the next process that meets a secondary's lock rolls it forward.
  const step = trace?.step('commit.secondaries');
  const work = rollForwardOwn(context, rows.slice(1), startTimestamp, committedAt);
  inBackground(context, during(step, work));
}

/**
 * Whether workers of this process run the observers of all these cells. Then the storage need not
 * hint at the notifications: they will be told, and other processes would only take the cells from
 * them. If the process dies before that, or is too busy, the others' scans find the notifications.
 */
function areTold({ workers }: Context, cells: readonly CellAddress[]): boolean {
  const all = [...workers];
  return cells.every((cell) => all.some((worker) => worker.observes(cell)));
}

/** Saves this process's workers the scan; all others find the notify cells. */
function tellWorkers(
  context: Context,
  { strong, weak, commitTimestamp, cause, trace }: Ready,
): void {
  const span = trace?.spanContext;
  for (const worker of context.workers) {
    worker.tell({ strong, weak, commitTimestamp, cause, span });
  }
}

/*
 * The commit point: the row mutation that turns the primary's lock into a write record.
 *
 *     send the commit ─▶ committed
 *        │ lock gone ─▶ look: committed, or rolled back by another process
 *        │ refused for a moment, or no answer ─▶ send it again
 *        ▼ refused for good, or no attempt is left
 *     refused each time ─▶ roll back, if the lock is still there ─▶ the refusal
 *        │ the rollback fails, and one of the two may be applied yet
 *        ▼
 *     in doubt ─▶ look once more, and clean nothing up (P11) ─▶ COMMIT_UNKNOWN
 *
 * As long as our lock is there, a commit that was sent may yet be applied. The storage says that it
 * has not applied what it refuses; but a copy of the refused message may come later
 * (bigtable.ts, promise 4).
 */

/** A transaction that holds all its locks. */
interface Prewritten {
  readonly startTimestamp: Timestamp;
  readonly commitTimestamp: Timestamp;
  readonly primary: CellAddress;
  /** The primary's row first. */
  readonly rows: readonly RowWrites[];
  /** Notifications that were sent and not waited for. */
  readonly unanswered: readonly RowMutation[];
}

/** What the attempts have shown so far. */
interface Told {
  /** Whether a commit that was sent may have been applied, or may yet be. */
  isInDoubt: boolean;
  /** The first refusal of a commit, or of its notifications. */
  refusal: PercolatorError | undefined;
}

/**
 * Resolves with the commit timestamp of the write record.
 * @throws ROLLED_BACK, or the first refusal if the storage refused each attempt: the transaction
 * has not committed, and never will
 * @throws COMMIT_UNKNOWN
 */
async function commitPrimary(context: Context, prewritten: Prewritten): Promise<Timestamp> {
  const { startTimestamp, commitTimestamp, primary } = prewritten;
  const told: Told = { isInDoubt: false, refusal: undefined };
  for (let attempt = 1; attempt <= context.options.inDoubtAttemptsMax; attempt++) {
    if (attempt > 1) await context.clock.sleep(backoffMs(context, attempt - 1));
    const isCommitted = await sendCommit(context, prewritten, attempt, told);
    if (isCommitted === true) return commitTimestamp;
    const seen = isCommitted === false ? await look(context, prewritten) : undefined;
    if (seen?.kind === 'committed') return seen.record.commitTimestamp;
    if (seen?.kind === 'collected') break; // Another look will not bring it back.
    if (isRefusedForGood(told)) break;
  }
  if (!told.isInDoubt) await undo(context, prewritten, told.refusal);
  // The answer to the last attempt may be lost.
  const seen = await look(context, prewritten);
  if (seen?.kind === 'committed') return seen.record.commitTimestamp;
  context.counters.unknown++;
  throw new PercolatorError(
    'COMMIT_UNKNOWN',
    `whether the transaction of ${startTimestamp} has committed is not known; ` +
      `ask again with outcomeOf(error.transaction)`,
    { transaction: { primary, startTimestamp } },
  );
}

/**
 * Whether our lock was there. Undefined if the commit was refused or got no answer, or was not sent
 * because its notifications were refused or got no answer; `told` notes a refusal, and a commit in
 * doubt.
 */
async function sendCommit(
  context: Context,
  prewritten: Prewritten,
  attempt: number,
  told: Told,
): Promise<boolean | undefined> {
  const { unanswered } = prewritten;
  let isSent = false;
  try {
    // The notifications may have been lost together with the commit (P61).
    if (attempt > 1 && unanswered.length > 0) await context.store.mutateRows(unanswered);
    isSent = true;
    return await context.store.checkAndMutateRow(commitMessage(prewritten));
  } catch (error) {
    if (!(error instanceof PercolatorError)) throw error;
    if (error.code !== 'STORE_IN_DOUBT') told.refusal ??= error;
    else if (isSent) told.isInDoubt = true;
    return undefined;
  }
}

function commitMessage({
  rows: [primaryRow],
  primary,
  startTimestamp,
  commitTimestamp,
}: Prewritten): ConditionalRowMutation {
  assert(primaryRow !== undefined, 'a transaction commits a write');
  const { table, row, writes } = primaryRow;
  const own = { ...placeOf(LOCK, primary.column), from: startTimestamp, to: startTimestamp };
  // The row's other cells are locked as long as the primary is, and commit with it (P16, one row,
  // many cells).
  const ifFound = writes.flatMap((write) =>
    commitMutations(write, startTimestamp, commitTimestamp),
  );
  return { table, row, anyOf: [own], ifFound };
}

/**
 * What has become of the commit; undefined if the storage does not say.
 * @throws ROLLED_BACK
 */
async function look(
  context: Context,
  { primary, startTimestamp }: Prewritten,
): Promise<CommitEvidence | undefined> {
  try {
    const seen = await classifyCommit(context, primary, startTimestamp);
    if (seen.kind === 'rolled back') throw rolledBack(context, primary);
    return seen;
  } catch (error) {
    if (!(error instanceof PercolatorError) || error.code === 'ROLLED_BACK') throw error;
    return undefined;
  }
}

function isRefusedForGood({ isInDoubt, refusal }: Told): boolean {
  return !isInDoubt && refusal !== undefined && !mayPass(refusal);
}

/**
 * Whether a later attempt may be applied: the storage refuses only for a moment, or is in doubt.
 */
function mayPass({ code }: PercolatorError): boolean {
  return code === 'STORE_UNAVAILABLE' || code === 'STORE_IN_DOUBT';
}

/**
 * Whether the storage may yet apply a copy of the commit, or of its rollback. STORE_CLOSED comes
 * from this process: a rollback that ends with it tells nothing of the storage. A commit whose
 * first refusal is STORE_CLOSED was never sent.
 */
function mayBeApplied(refusal: PercolatorError, ofRollback: PercolatorError): boolean {
  if (ofRollback.code === 'STORE_CLOSED') return refusal.code !== 'STORE_CLOSED';
  return mayPass(refusal) || mayPass(ofRollback);
}

/**
 * Rolls back a transaction whose commit was never in doubt. Resolves if it may still have
 * committed, or may yet: its lock is gone; or the rollback fails, and the storage has refused the
 * commit for a table that may still be there, or may apply one of the two later. A storage that
 * refuses commit and rollback for good also refuses a copy of the commit.
 * @throws the refusal, or ROLLED_BACK, if it has not committed, and never will
 */
async function undo(
  context: Context,
  { primary, startTimestamp, rows }: Prewritten,
  refusal: PercolatorError | undefined,
): Promise<void> {
  // Our lock was gone already when the first answer came, so nothing of ours has been applied.
  if (refusal === undefined) throw rolledBack(context, primary);
  const [primaryRow, ...others] = rows;
  assert(primaryRow !== undefined, 'a transaction commits a write');
  try {
    if (!(await rollBackPrimary(context, primaryRow, startTimestamp))) return;
  } catch (error) {
    if (!(error instanceof PercolatorError)) throw error;
    if (!isTableNotFound(refusal)) {
      if (mayBeApplied(refusal, error)) return;
      throw refusal; // Our lock may still be there, and decides what becomes of the other rows.
    }
    if (!(await isMissing(context, primaryRow.table))) return;
  }
  await quietly(rollBackSecondaries(context, others, startTimestamp));
  throw refusal;
}

/**
 * Whether the storage's list of tables lacks the table. A storage may report a table as missing by
 * mistake, but leaves none out of the list.
 */
async function isMissing(context: Context, table: string): Promise<boolean> {
  try {
    return !(await context.store.listTables()).includes(table);
  } catch (error) {
    if (!(error instanceof PercolatorError)) throw error;
    return false;
  }
}

function rolledBack(context: Context, primary: CellAddress): PercolatorError {
  context.counters.conflicts++;
  return new PercolatorError(
    'ROLLED_BACK',
    `another transaction presumed this one dead and rolled ${describeCell(primary)} back`,
  );
}
