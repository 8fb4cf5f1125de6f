/**
 * What the notifications of one row show: lost ones, needless ones, parked cells (section 2.4).
 *
 * As in the engine, an observer has seen a change if the start timestamp that its acknowledgment
 * stores is not below the change's commit timestamp (P42, changes during a run). The storage does
 * not record which observers exist. So, unless the caller names them, the acknowledgments in the
 * row represent them. In an observed column only strong notifications count: the run of a weak
 * notification acknowledges nothing.
 *
 * - No observer has to see any change: a notification is left over, usually from a transaction that
 *   died before it committed. If a lock is in the cell, the notification is not reported: the
 *   transaction of the lock may have set it and be about to commit.
 * - There is a change, but no acknowledgment: no observer has run yet. A notification waits for a
 *   worker, and an entry in the list of parked cells for an operator. Without either, the
 *   notification is lost: what commits a change of an observed column leaves a notification or an
 *   acknowledgment, and a notification goes only after an acknowledgment, or into the list of
 *   parked cells (P57, lost notification). A column that no worker observes keeps its
 *   notifications.
 * - No known observer has seen the change, and the cell is neither notified nor parked: the
 *   notification is lost.
 * - Some observers have not seen it, and the cell is neither notified nor parked: the notification
 *   is lost if the caller named the observers; otherwise it is lost, or those have been retired.
 * - All known observers have seen it, and there is a notification: a worker will clear it, perhaps
 *   after it has run an observer that has never run for the cell. So a repair erases such a
 *   notification only if the caller named the observers.
 *
 * A repair leaves each notification that is ahead of the oracle: a later commit may set one with a
 * lower timestamp, which would be erased with it.
 *
 * The row and its notifications are in two tables, so a finding here has to be made twice
 * (audit.ts).
 */
import type { Cell, Timestamp } from '../bigtable/index.ts';
import {
  acknowledgedBy,
  type CellAddress,
  decodeParked,
  isAcknowledgment,
  NOTIFY,
  PARKED,
  PARKED_WEAK,
  WEAK,
} from '../transaction/index.ts';
import { type ColumnHistory, NO_HISTORY } from './column-history.ts';
import type { Finding } from './finding.ts';

/** A table to audit, and what is known about it. */
export interface AuditedTable {
  readonly table: string;
  /** If absent, they are unknown: the audit lists parked cells, and judges no notification. */
  readonly observedColumns?: readonly string[] | undefined;
  /** Whether the table has a definition; if not, it is not being dropped. Default true. */
  readonly isDefined?: boolean | undefined;
  /** The names of all observers of the column. Absent: those that have acknowledged. */
  readonly observersOf?: ((column: string) => readonly string[]) | undefined;
}

export interface RowToJudge {
  readonly audited: AuditedTable;
  readonly row: string;
  readonly histories: ReadonlyMap<string, ColumnHistory>;
  /** The cells of the row in the companion table: notifications and parked entries. */
  readonly notifications: readonly Cell[];
}

/** `judge-row.ts` describes them. */
interface Limits {
  readonly bound: Timestamp;
  readonly horizon: Timestamp;
}

export function judgeNotifications(subject: RowToJudge, limits: Limits): readonly Finding[] {
  const { audited, row, notifications } = subject;
  const { table, observedColumns } = audited;
  const parked = notifications.filter(({ family }) => family === PARKED || family === PARKED_WEAK);
  const findings = parked.map((cell) => parkedFinding({ table, row }, cell));
  if (observedColumns === undefined) return findings;
  const observed = new Set(observedColumns);
  const unobserved = notifications.filter(
    ({ family, qualifier }) => isNotification(family) && !observed.has(qualifier),
  );
  return [
    ...findings,
    ...unobserved.map((cell) => unobservedMark({ table, row }, cell)),
    ...observedColumns.flatMap((column) => judgeColumn(subject, column, limits)),
  ];
}

function judgeColumn(subject: RowToJudge, column: string, { bound, horizon }: Limits): Finding[] {
  const { audited, row, histories, notifications } = subject;
  const cell = { table: audited.table, row, column };
  const history = histories.get(column) ?? NO_HISTORY;
  const lastRuns = lastRunsOf(column, histories);
  if (lastRuns === undefined || history.strangeRecords.length > 0) return [];
  const change = latestChange(history);
  const notification = notifications.find(
    ({ family, qualifier }) => family === NOTIFY && qualifier === column,
  );
  const isParked = notifications.some(
    ({ family, qualifier }) => family === PARKED && qualifier === column,
  );

  const names = audited.observersOf?.(column) ?? [...lastRuns.keys()];
  const lagging = names.filter((name) => (lastRuns.get(name) ?? 0) < change);
  const findings = acknowledgedWithoutChange(cell, history, { lastRuns, horizon });
  const isUnacknowledged = names.length === 0 && audited.observersOf === undefined && change > 0;
  if (notification === undefined && !isParked && (isUnacknowledged || lagging.length > 0)) {
    const isCertain = audited.observersOf !== undefined || lagging.length === names.length;
    findings.push(lostNotification(cell, change, { lagging, isCertain }));
  }
  // A lock in the cell may be of the transaction that has set the notification and is about to
  // commit.
  const isInFlight = history.locks.length + history.strangeLocks.length > 0;
  const isClean = change === 0 || (names.length > 0 && lagging.length === 0);
  if (notification !== undefined && isClean && !isInFlight) {
    const isProven = change === 0 || audited.observersOf !== undefined;
    findings.push(
      cleanNotification(cell, notification.timestamp, {
        isProven,
        isAhead: notification.timestamp >= bound,
      }),
    );
  }
  return findings;
}

/**
 * Commit timestamp of the newest change; 0 if there is none that an observer has to see. A touch of
 * a cell without a value names the delete that it saw; if that has been collected, every observer
 * had seen it (run-observer.ts).
 */
function latestChange({ records }: ColumnHistory): Timestamp {
  const [newest] = records;
  if (newest === undefined) return 0;
  const { operation, dataTimestamp, changedTimestamp } = newest;
  const isThere = records.some(({ commitTimestamp }) => commitTimestamp === changedTimestamp);
  return operation === 'touch' && dataTimestamp === 0 && !isThere ? 0 : changedTimestamp;
}

/**
 * The start timestamp of each observer's last run for the column; undefined if one of them cannot
 * be decoded.
 */
function lastRunsOf(
  column: string,
  histories: ReadonlyMap<string, ColumnHistory>,
): ReadonlyMap<string, Timestamp> | undefined {
  const lastRuns = new Map<string, Timestamp>();
  for (const [acknowledgment, { records, strangeRecords }] of histories) {
    if (!isAcknowledgment(acknowledgment)) continue;
    const { observer, column: acknowledged } = acknowledgedBy(acknowledgment);
    if (acknowledged !== column) continue;
    if (strangeRecords.length > 0) return undefined;
    const [newest] = records;
    if (newest !== undefined) lastRuns.set(observer, newest.startTimestamp);
  }
  return lastRuns;
}

function acknowledgedWithoutChange(
  cell: CellAddress,
  { records, locks }: ColumnHistory,
  { lastRuns, horizon }: { lastRuns: ReadonlyMap<string, Timestamp>; horizon: Timestamp },
): Finding[] {
  if (records.length + locks.length > 0) return [];
  return [...lastRuns].map(([observer, startTimestamp]): Finding => {
    // Below the horizon, a collector may have erased the cell and left its acknowledgment.
    const severity = startTimestamp < horizon ? 'warning' : 'error';
    const sentence = `observer ${observer} acknowledged at ${startTimestamp} a column that has no record`;
    const timestamps = [startTimestamp];
    return { code: 'acknowledgment-without-change', severity, cell, timestamps, sentence };
  });
}

function lostNotification(
  cell: CellAddress,
  change: Timestamp,
  { lagging, isCertain }: { readonly lagging: readonly string[]; readonly isCertain: boolean },
): Finding {
  const who = lagging.map((name) => `observer ${name}`).join(' or ') || 'any observer';
  const unless = isCertain
    ? ''
    : `: lost, unless ${lagging.length === 1 ? 'it has' : 'they have'} been retired`;
  return {
    code: 'notification-lost',
    severity: isCertain ? 'error' : 'warning',
    cell,
    timestamps: [change],
    sentence: `changed at ${change}, not seen by ${who}, and neither notified nor parked${unless}`,
    ...(isCertain ? { fix: { kind: 'notify', cell } } : {}),
  };
}

function cleanNotification(
  cell: CellAddress,
  upTo: Timestamp,
  { isProven, isAhead }: { readonly isProven: boolean; readonly isAhead: boolean },
): Finding {
  const sentence = isProven
    ? `notified at ${upTo}, and no observer needs to run for it`
    : `notified at ${upTo}, and every observer that has run here has seen the newest change`;
  return {
    code: 'notification-clean',
    severity: 'warning',
    cell,
    timestamps: [upTo],
    sentence,
    ...(isProven && !isAhead ? { fix: { kind: 'erase notifications', cell, upTo } } : {}),
  };
}

function unobservedMark(
  { table, row }: { readonly table: string; readonly row: string },
  { qualifier: column, timestamp }: Cell,
): Finding {
  return {
    code: 'notification-clean',
    severity: 'warning',
    cell: { table, row, column },
    timestamps: [timestamp],
    sentence: `notified at ${timestamp}, but by the table's definition the column is not observed`,
  };
}

function parkedFinding(
  { table, row }: { readonly table: string; readonly row: string },
  { qualifier: column, timestamp, value }: Cell,
): Finding {
  const parked = decodeParked(value);
  const { failures, error } = parked;
  return {
    code: 'observer-parked',
    severity: 'warning',
    cell: { table, row, column },
    timestamps: [timestamp],
    sentence:
      failures === 0
        ? `parked, with ${error}`
        : `parked after ${failures} ${failures === 1 ? 'failure' : 'failures'}: ${error}`,
    parked,
  };
}

function isNotification(family: string): boolean {
  return family === NOTIFY || family === WEAK;
}
