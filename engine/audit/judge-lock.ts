/**
 * What became of the transaction of a lock, according to its primary: the question of lock
 * resolution (transaction/locks/resolve-lock.ts), without acting on the answer.
 *
 *     primary                          owner dead                    owner not known to be dead
 *       has committed, or rolled back    left by a crash               left, or on its way
 *       is locked                        left by a crash               committing, perhaps for long
 *       has no trace of it               an error: primaries are       wait
 *                                        locked first (P2); a warning
 *                                        below the horizon, or if the
 *                                        primary's table was dropped
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
  /** The owner may be dead or alive: dead, if the lock has not changed after its time to live. */
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
  // Before the reads: a slow answer shows the locks as they were long ago.
  const askedMs = context.clock.monotonicMs();
  const ageMs = context.clock.wallMs() - lock.wallMs;
  const sight = await lookAtPrimary(context, lock);
  const [stillThere] = (await tracesIfAny(context, cell, [lockFilter(cell.column, lock)])) ?? [];
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
  | {
      readonly kind:
        | 'rolled back'
        | 'absent'
        | 'table unreadable'
        | 'table dropped'
        | 'undecodable';
    }
  | { readonly kind: 'locked' | 'mismatch'; readonly lock: Lock };

interface Seen extends LockToJudge {
  readonly sight: Sight;
  /** When the primary was asked for, on our monotonic clock. */
  readonly askedMs: number;
  readonly ageMs: number;
  readonly report: (code: FindingCode, severity: Severity, what: string) => Finding;
}

function verdict(context: Context, seen: Seen, limits: LockLimits): LockVerdict {
  const { cell, lock, sight, askedMs, report } = seen;
  const at = describeCell(lock.primary);
  /** Its owner may be about to remove it. */
  const leftOrOnItsWay = (finding: Finding): LockVerdict => ({
    finding,
    isUndecided: !isOwnerDead(context, lock, askedMs),
  });
  const fix = { kind: 'resolve lock', cell, lock } as const;
  switch (sight.kind) {
    case 'undecodable': // Reported at the primary itself, if its table is audited.
      return { isUndecided: false };
    case 'committed': {
      const what = `its primary ${at} was committed at ${sight.commitTimestamp}`;
      return leftOrOnItsWay({ ...report('lock-left-committed', 'warning', what), fix });
    }
    case 'rolled back': {
      const what = `its primary ${at} was rolled back`;
      return leftOrOnItsWay({ ...report('lock-left-rolled-back', 'warning', what), fix });
    }
    case 'mismatch': {
      const what = `its primary ${at} says that the primary is ${describeCell(sight.lock.primary)}`;
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
    case 'table unreadable':
    case 'table dropped':
      return withoutPrimary(context, seen, limits);
    default:
      return unreachable(sight);
  }
}

/**
 * When a table is dropped, the locks that its primaries explain are resolved first (P55). Locks
 * that come later belong to transactions that did not commit. A table that another program deleted
 * explains nothing.
 *
 * Below the horizon the traces of a primary may have been collected (P4, P30). If a
 * copy of a prewrite arrives after that, it may lock cells that the rolled-back transaction never
 * locked; lock resolution deals with such locks.
 */
function withoutPrimary(context: Context, seen: Seen, { horizon }: LockLimits): LockVerdict {
  const { cell, lock, sight, askedMs, report } = seen;
  if (!isOwnerDead(context, lock, askedMs)) return { isUndecided: true };
  const isUnreadable = sight.kind === 'table unreadable';
  const isDropped = sight.kind === 'table dropped';
  const isGivenUp = !isUnreadable && !isDropped && lock.startTimestamp < horizon;
  const noTable = isUnreadable
    ? 'there is no such table, or it cannot be read'
    : 'there is no such table';
  const nothing = isUnreadable || isDropped ? noTable : 'there is no trace of it';
  const when = isGivenUp ? ' any more, below the horizon' : '';
  const what = `at its primary ${describeCell(lock.primary)} ${nothing}${when}`;
  const finding = report('lock-primary-absent', isGivenUp || isDropped ? 'warning' : 'error', what);
  return decided(
    isUnreadable ? finding : { ...finding, fix: { kind: 'resolve lock', cell, lock } },
  );
}

function atWork({ ageMs, report }: Seen, { longHeldMs }: LockLimits): LockVerdict {
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
  const cells = await tracesIfAny(context, primary, [
    lockFilter(column, lock),
    { ...placeOf(ROLLBACK, column), from, to: from },
    { ...placeOf(WRITE, column), from },
  ]);
  if (cells === undefined) {
    return {
      kind: (await wasDropped(context, primary.table)) ? 'table dropped' : 'table unreadable',
    };
  }
  const { locks, records, markers, strangeLocks, strangeRecords } =
    historiesOf(cells).get(column) ?? NO_HISTORY;
  const record = records.find(({ startTimestamp }) => startTimestamp === from);
  if (record !== undefined) {
    return { kind: 'committed', commitTimestamp: record.commitTimestamp };
  }
  if (markers.length > 0) return { kind: 'rolled back' };
  if (strangeLocks.length + strangeRecords.length > 0) return { kind: 'undecodable' };
  const [locked] = locks;
  if (locked === undefined) return { kind: 'absent' };
  return { kind: isPrimary(locked, primary) ? 'locked' : 'mismatch', lock: locked };
}

function lockFilter(column: string, { startTimestamp }: Lock): CellFilter {
  return { ...placeOf(LOCK, column), from: startTimestamp, to: startTimestamp };
}

/** Whether the table was dropped, by its definition; false if that is not legible. */
export async function wasDropped({ catalog }: Context, stored: string): Promise<boolean> {
  try {
    return (await catalog?.isGone(stored)) === true;
  } catch (error) {
    if (hasCode(error, 'TABLE_MISMATCH')) return false;
    throw error;
  }
}

async function tracesIfAny(
  { store }: Context,
  { table, row }: CellAddress,
  filters: readonly CellFilter[],
): Promise<readonly Cell[] | undefined> {
  try {
    return (await store.readRow(table, row, filters))?.cells ?? [];
  } catch (error) {
    if (!(error instanceof PercolatorError)) throw error;
    // A lock may name anything: a table that does not exist, or one that is not ours.
    const codes = ['TABLE_NOT_FOUND', 'FAMILY_NOT_FOUND', 'TABLE_MISMATCH', 'INVALID_ARGUMENT'];
    if (codes.includes(error.code)) return undefined;
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
