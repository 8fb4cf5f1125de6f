/**
 * Commit, as in Figure 6 of the Percolator paper (Peng and Dabek, OSDI 2010).
 *
 *     prewrite the primary's row ─▶ prewrite all other rows ─▶ commit timestamp ─▶ notifications
 *            │ conflict                   │ conflict
 *            └────── roll back what was sent, with markers, and report the conflict
 *
 *     ─▶ commit the primary's row ─▶ answer the caller ─▶ secondaries, in the background
 *            │ lock gone: we were rolled back
 *            └ answer lost: look until it is known, never clean up meanwhile (P11)
 *
 * With the commit timestamp comes the count of drops. If it has moved since the definitions of our
 * tables were read, they are read again: a table that was dropped since it was locked, or dropped
 * and created again, must not be committed to (P54).
 *
 * With the commit timestamp also comes the horizon of the garbage collection (P31). If it is above
 * our start timestamp, we roll ourselves back: write records and markers that should have stopped
 * our prewrites may have been collected. Nothing that was collected before our locks were there
 * escapes this check: the horizon is persisted before anything is deleted, and we ask for the
 * timestamp after locking.
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
 *   mark does an observer run.
 * - after the commit point: a process that meets a secondary's lock finds the primary's write
 *   record and rolls forward.
 *
 * The primary is the first cell written. Locking its row before any other has two effects.
 * Transactions that fight over the primary fail before they have locked anything else (P22), and a
 * lock whose primary was never there is the exception (P2).
 */
import { assert, hasCode, PercolatorError } from '../base/index.ts';
import type { RowMutation, Timestamp } from '../bigtable/index.ts';
import { backoffMs } from './backoff.ts';
import type { BoundCell } from './bound-tables.ts';
import type { Cause } from './cause.ts';
import { type Conflict, describeConflict } from './classify.ts';
import type { CellAddress } from './columns.ts';
import { commitPrimary, type Prewritten } from './commit-primary.ts';
import { type CommittedNotification, type Context, inBackground } from './context.ts';
import { notificationMutations, observedCells, weakCells } from './notifications.ts';
import { lockFor, type Prewriting, prewriteRows } from './prewrite.ts';
import { resolveLock } from './locks/resolve-lock.ts';
import { quietly, rollBackOwn } from './roll-back.ts';
import { rollForwardOwn } from './roll-forward.ts';
import { type HeldSnapshot, refuseStale } from './stale.ts';
import type { RowWrites } from './writes.ts';

export interface CommitRequest extends HeldSnapshot {
  /** The first row holds the primary: its first write. */
  readonly rows: readonly RowWrites[];
  /** Cells to mark with weak notifications. */
  readonly weak: readonly CellAddress[];
  /** Why the transaction was run, for its marks; undefined if it is no run of an observer. */
  readonly cause?: Cause | undefined;
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
  const plan: Plan = {
    startTimestamp,
    primary: { table, row, column },
    wallMs: context.clock.wallMs(),
    rows,
    strong: await observedCells(context, request),
    weak: request.weak.length === 0 ? [] : await weakCells(context, request),
    cause: request.cause,
  };

  const stopHeartbeat = context.heartbeats.start(lockFor(context, primary, plan));
  try {
    const prewritten = await prewrite(context, request, plan);
    const committedAt = await commitPrimary(context, prewritten);
    finish(context, rows.slice(1), startTimestamp, committedAt);
    if (prewritten.marks.length > 0) tellWorkers(context, prewritten);
    return committedAt;
  } finally {
    stopHeartbeat();
  }
}

interface Plan extends Prewriting {
  /** By the storage's names of tables; the primary's row first. */
  readonly rows: readonly RowWrites[];
  /** Cells to notify of. */
  readonly strong: readonly BoundCell[];
  readonly weak: readonly BoundCell[];
  readonly cause: Cause | undefined;
}

interface Marked extends Plan, Prewritten {
  readonly marks: readonly RowMutation[];
}

/**
 * All that comes before the commit point. If a step fails, the transaction is rolled back; if that
 * fails, too, its locks stay until the next process meets them.
 */
async function prewrite(
  context: Context,
  { tables, rows: written }: CommitRequest,
  plan: Plan,
): Promise<Marked> {
  const { startTimestamp, rows, strong, weak, cause } = plan;
  let sent: readonly RowWrites[] = [];
  let conflicts: readonly Conflict[] = [];
  try {
    for (const next of [rows.slice(0, 1), rows.slice(1)]) {
      if (next.length === 0) continue;
      sent = rows.slice(0, sent.length + next.length);
      conflicts = await prewriteRows(context, next, plan);
      refuseConflicts(context, conflicts);
    }
    // Only now, with all locks held: a reader with a later start timestamp will meet them (P10).
    const commitTimestamp = await nextTimestamp(context, startTimestamp);
    const confirming = tables.confirm([...written, ...weak]);
    if (confirming !== undefined) await confirming;
    assert(commitTimestamp > startTimestamp, 'the oracle only moves forward');
    const marks = notificationMutations(strong, weak, { commitTimestamp, cause });
    const mayFollow = context.store.manifest.ordered && weak.length === 0;
    if (marks.length > 0) await (mayFollow ? send(context, marks) : notify(context, marks));
    return { ...plan, commitTimestamp, marks, unanswered: mayFollow ? marks : [] };
  } catch (error) {
    await quietly(rollBackOwn(context, sent, startTimestamp));
    await cleanUpAfter(context, conflicts);
    throw error;
  }
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
 * lock; a transaction that only writes would lose to a dead one for ever (P21). It looks at all of
 * them, so that their ages begin together (P80). This is a courtesy: the transaction has certainly
 * lost, and its caller must be told so, whatever happens here.
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
 * setting a mark is idempotent.
 */
async function notify(context: Context, marks: readonly RowMutation[]): Promise<void> {
  for (let attempt = 1; attempt <= context.options.inDoubtAttemptsMax; attempt++) {
    try {
      return await context.store.mutateRows(marks);
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
 * But both may be lost together, so a repeated commit is sent after its marks (P61).
 *
 * Not for weak marks. Their tables may be ones in which we hold no lock: if one is dropped
 * meanwhile, the storage refuses all marks, and would still take the commit.
 *
 * Strong marks are refused for good only if another program has deleted their companion table. The
 * owner of an embedded store hears of it in this turn, and does not commit. A process that shares
 * the store hears of it too late: the transaction commits, and all its marks are lost.
 */
async function send(context: Context, marks: readonly RowMutation[]): Promise<void> {
  const sent = context.store.mutateRows(marks);
  inBackground(context, sent);
  // Still the same turn: this only learns of a request that was refused before it was sent.
  await Promise.race([sent, Promise.resolve()]);
}

/** After the commit point nothing can change the outcome, so nothing here may fail the caller. */
function finish(
  context: Context,
  secondaryRows: readonly RowWrites[],
  startTimestamp: Timestamp,
  committedAt: Timestamp,
): void {
  context.counters.committed++;
  if (secondaryRows.length === 0) return;
  // If this fails, or we die, the next process that meets a secondary's lock rolls it forward.
  inBackground(context, rollForwardOwn(context, secondaryRows, startTimestamp, committedAt));
}

/** Saves this process's workers the scan; all others find the notify cells. */
function tellWorkers(
  context: Context,
  { strong, weak, commitTimestamp, cause }: CommittedNotification,
): void {
  for (const tell of context.notified) tell({ strong, weak, commitTimestamp, cause });
}
