/**
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
import { assert, PercolatorError } from '../base/index.ts';
import type { ConditionalRowMutation, RowMutation, Timestamp } from '../bigtable/index.ts';
import { backoffMs } from './backoff.ts';
import { isTableNotFound } from './bound-tables.ts';
import { classifyCommit, type CommitEvidence } from './classify.ts';
import { type CellAddress, describeCell, LOCK, placeOf } from './columns.ts';
import type { Context } from './context.ts';
import { quietly, rollBackPrimary, rollBackSecondaries } from './roll-back.ts';
import { commitMutations } from './roll-forward.ts';
import type { RowWrites } from './writes.ts';

/** A transaction that holds all its locks. */
export interface Prewritten {
  readonly startTimestamp: Timestamp;
  readonly commitTimestamp: Timestamp;
  readonly primary: CellAddress;
  /** The primary's row first. */
  readonly rows: readonly RowWrites[];
  /** Marks that were sent and not waited for. */
  readonly unanswered: readonly RowMutation[];
}

/** What the attempts have shown so far. */
interface Told {
  /** Whether a commit that was sent may have been applied, or may yet be. */
  isInDoubt: boolean;
  /** The first refusal of a commit, or of its marks. */
  refusal: PercolatorError | undefined;
}

/**
 * Resolves with the commit timestamp of the write record.
 * @throws ROLLED_BACK, or the first refusal if the storage refused each attempt: the transaction
 * has not committed, and never will
 * @throws COMMIT_UNKNOWN
 */
export async function commitPrimary(context: Context, prewritten: Prewritten): Promise<Timestamp> {
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
 * because its marks were refused or got no answer; `told` notes a refusal, and a commit in doubt.
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
    // The marks may have been lost together with the commit (P61).
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
  // The row's other cells are locked as long as the primary is, and commit with it (P16).
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
 * Rolls back a transaction whose commit was never in doubt. Resolves if it may have committed all
 * the same, or may yet: its lock is gone; or the rollback fails, and the storage has refused the
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
    `another transaction took this one for dead and rolled ${describeCell(primary)} back`,
  );
}
