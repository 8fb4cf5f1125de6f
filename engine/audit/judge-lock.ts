/**
 * What became of the transaction of a lock, according to its primary: the question of lock
 * resolution (transaction/resolve-lock.ts), without acting on the answer.
 *
 *     primary                          owner dead                    owner not known to be dead
 *       has committed, or rolled back    left by a crash               left, or about to be removed
 *       is locked                        left by a crash               committing, perhaps for long
 *       is locked for another primary    an error (P15)                an error (P15)
 *       cannot be decoded                reported at the primary       reported at the primary
 *       has no trace of it               left by a crash (P2)          wait
 *       is in a dropped table            a warning                     wait
 *       cannot be read                   an error                      wait
 *
 * The lock is read again after its primary. If it is gone, its owner or another process has removed
 * it meanwhile, and there is nothing to report. If it is still there, the primary's answer applies
 * to it.
 */
import { hasCode, PercolatorError, unreachable } from '../base/index.ts';
import type { Cell, CellFilter, Timestamp } from '../bigtable/index.ts';
import {
  placeOf,
  type CellAddress,
  type Context,
  describeCell,
  isOwnerDead,
  isPrimary,
  isTableNotFound,
  type Lock,
  LOCK,
  readLock,
  ROLLBACK,
  WRITE,
} from '../transaction/index.ts';
import { historiesOf, NO_HISTORY } from './column-history.ts';
import type { Finding, FindingCode, Severity } from './finding.ts';

export interface LockToJudge {
  readonly cell: CellAddress;
  readonly lock: Lock;
}

export interface LockVerdict {
  readonly finding?: Finding | undefined;
  /** The owner may be alive; it is dead if the lock has not changed after its time to live. */
  readonly isUndecided: boolean;
}

export interface LockLimits {
  readonly longHeldMs: number;
  readonly horizon: Timestamp;
}

export async function judgeLock(
  context: Context,
  { cell, lock }: LockToJudge,
  limits: LockLimits,
): Promise<LockVerdict> {
  // The clocks are read first: a slow answer shows the locks as they were long ago.
  const askedMs = context.clock.monotonicMs();
  const ageMs = context.clock.wallMs() - lock.wallMs;
  const sight = await lookAtPrimary(context, lock);
  const cells = await cellsOrError(context, cell, [lockFilter(cell.column, lock)]);
  const [stillThere] = cells instanceof PercolatorError ? [] : cells;
  const stillLocked = stillThere && readLock(stillThere);
  if (stillLocked === undefined) return { isUndecided: false };
  const { owner, startTimestamp } = lock;
  const report = (code: FindingCode, severity: Severity, what: string): Finding => ({
    code,
    severity,
    cell,
    timestamps: [startTimestamp],
    sentence: `locked by the transaction of ${startTimestamp} (owner ${owner}) for ${duration(ageMs)}; ${what}`,
    lock: { owner, ageMs },
  });
  return verdict(context, { cell, lock, sight, askedMs, ageMs, report }, limits);
}

type Sight =
  | { readonly kind: 'committed'; readonly commitTimestamp: Timestamp }
  | { readonly kind: 'rolled back' | 'absent' | 'table dropped' | 'undecodable' }
  | { readonly kind: 'unreadable'; readonly reason: string }
  | { readonly kind: 'locked' | 'mismatch'; readonly lock: Lock };

interface LockAndPrimary extends LockToJudge {
  readonly sight: Sight;
  /** When the primary was asked for, on the auditor's monotonic clock. */
  readonly askedMs: number;
  readonly ageMs: number;
  readonly report: (code: FindingCode, severity: Severity, what: string) => Finding;
}

function verdict(context: Context, seen: LockAndPrimary, limits: LockLimits): LockVerdict {
  const { cell, lock, sight, askedMs, report } = seen;
  const at = describeCell(lock.primary);
  /** The transaction has ended; its owner, if alive, may be about to remove the lock. */
  const leftOrLeaving = (finding: Finding): LockVerdict => ({
    finding,
    isUndecided: !isOwnerDead(context, lock, askedMs),
  });
  const fix = { kind: 'resolve lock', cell, lock } as const;
  switch (sight.kind) {
    case 'undecodable': // The audit reports the primary itself, if it audits that table.
      return { isUndecided: false };
    case 'committed': {
      const what = `its primary ${at} was committed at ${sight.commitTimestamp}`;
      return leftOrLeaving({ ...report('lock-left-committed', 'warning', what), fix });
    }
    case 'rolled back': {
      const what = `its primary ${at} was rolled back`;
      return leftOrLeaving({ ...report('lock-left-rolled-back', 'warning', what), fix });
    }
    case 'mismatch': {
      const what = `the lock at its primary ${at} names ${describeCell(sight.lock.primary)} as the primary`;
      return decided(report('lock-primary-mismatch', 'error', what));
    }
    case 'locked': {
      if (!isOwnerDead(context, sight.lock, askedMs)) return atWork(seen, limits);
      const what = isPrimary(lock, cell)
        ? 'its owner is dead'
        : `its owner is dead, and its primary is ${at}`;
      return decided({ ...report('lock-left-by-dead', 'warning', what), fix });
    }
    case 'absent':
    case 'unreadable':
    case 'table dropped':
      return withoutPrimary(context, seen, limits);
    default:
      return unreachable(sight);
  }
}

/**
 * Before a table is dropped, all locks whose primaries are in it are resolved (P55, primaries
 * dropped). So a lock that arrives later belongs to a transaction that did not commit. If another
 * program deleted the table, nothing tells whether the transaction committed.
 *
 * Below the horizon, the traces at a primary may have been collected (P4, P30). A late copy of a
 * prewrite may then lock a cell for a transaction that was rolled back long ago; lock resolution
 * rolls that lock back.
 */
function withoutPrimary(
  context: Context,
  seen: LockAndPrimary,
  { horizon }: LockLimits,
): LockVerdict {
  const { cell, lock, sight, askedMs, report } = seen;
  if (!isOwnerDead(context, lock, askedMs)) return { isUndecided: true };
  const code = 'lock-primary-absent';
  const primary = `its primary ${describeCell(lock.primary)}`;
  if (sight.kind === 'unreadable') {
    return decided(report(code, 'error', `${primary} cannot be read: ${sight.reason}`));
  }
  const fix = { kind: 'resolve lock', cell, lock } as const;
  if (sight.kind === 'table dropped') {
    const what = `the table of ${primary} is not there, and no definition says that it should be`;
    return decided({ ...report(code, 'warning', what), fix });
  }
  const isGivenUp = lock.startTimestamp < horizon;
  const why = isGivenUp ? ', which may have been collected (below the horizon)' : '';
  const what = `${primary} has no trace of the transaction${why}`;
  return decided({ ...report(code, 'warning', what), fix });
}

function atWork({ ageMs, report }: LockAndPrimary, { longHeldMs }: LockLimits): LockVerdict {
  if (ageMs < longHeldMs) return { isUndecided: true };
  const finding = report('lock-long-held', 'warning', 'its owner is not known to be dead');
  return { finding, isUndecided: true };
}

function decided(finding: Finding): LockVerdict {
  return { finding, isUndecided: false };
}

async function lookAtPrimary(context: Context, lock: Lock): Promise<Sight> {
  const { primary } = lock;
  const { column } = primary;
  const { startTimestamp: from } = lock;
  const cells = await cellsOrError(context, primary, [
    lockFilter(column, lock),
    { ...placeOf(ROLLBACK, column), from, to: from },
    { ...placeOf(WRITE, column), from },
  ]);
  if (cells instanceof PercolatorError) {
    if (cells.damagedRow !== undefined) return { kind: 'undecodable' };
    // As in lock resolution, only a table that is missing can have been dropped.
    const isGone = isTableNotFound(cells) && (await wasDropped(context, primary.table));
    return isGone ? { kind: 'table dropped' } : { kind: 'unreadable', reason: cells.message };
  }
  const { locks, records, rollbacks, strangeLocks, strangeRecords } =
    historiesOf(cells).get(column) ?? NO_HISTORY;
  const record = records.find(({ startTimestamp }) => startTimestamp === from);
  if (record !== undefined) {
    return { kind: 'committed', commitTimestamp: record.commitTimestamp };
  }
  if (rollbacks.length > 0) return { kind: 'rolled back' };
  if (strangeLocks.length + strangeRecords.length > 0) return { kind: 'undecodable' };
  const [locked] = locks;
  if (locked === undefined) return { kind: 'absent' };
  return { kind: isPrimary(locked, primary) ? 'locked' : 'mismatch', lock: locked };
}

function lockFilter(column: string, { startTimestamp }: Lock): CellFilter {
  return { ...placeOf(LOCK, column), from: startTimestamp, to: startTimestamp };
}

/**
 * Whether the table was dropped: its definition says so, or there is none. False without a catalog,
 * and if the definition is not legible.
 */
export async function wasDropped({ catalog }: Context, stored: string): Promise<boolean> {
  try {
    return (await catalog?.isGone(stored)) === true;
  } catch (error) {
    if (hasCode(error, 'TABLE_MISMATCH') || hasCode(error, 'STORE_DAMAGED')) return false;
    throw error;
  }
}

/** Resolves with the error if there can be no such cell. */
async function cellsOrError(
  { store }: Context,
  { table, row }: CellAddress,
  filters: readonly CellFilter[],
): Promise<readonly Cell[] | PercolatorError> {
  try {
    return (await store.readRow(table, row, filters))?.cells ?? [];
  } catch (error) {
    if (!(error instanceof PercolatorError)) throw error;
    // A lock may name a missing table, one of another program, or an impossible cell.
    const codes = ['TABLE_NOT_FOUND', 'FAMILY_NOT_FOUND', 'TABLE_MISMATCH', 'INVALID_ARGUMENT'];
    if (codes.includes(error.code) || error.code === 'STORE_DAMAGED') return error;
    throw error;
  }
}

function duration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  const minutes = seconds / 60;
  if (minutes < 120) return `${minutes.toFixed(0)} minutes`;
  return minutes < 2880
    ? `${(minutes / 60).toFixed(0)} hours`
    : `${(minutes / 1440).toFixed(0)} days`;
}
