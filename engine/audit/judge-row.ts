/**
 * The errors that a row and its notifications can prove: by column, by notification, and by
 * timestamps that cannot have been handed out yet, as in a table that was restored or copied
 * without its oracle. Such cells are invisible to readers, and conflict with writers, until the
 * oracle has passed them.
 */
import type { Timestamp } from '../bigtable/index.ts';
import {
  type CellAddress,
  isAcknowledgment,
  isOfEngine,
  isSharedLock,
  protectedBy,
  type WriteRecord,
} from '../transaction/index.ts';
import type { ColumnHistory } from './column-history.ts';
import type { Finding, MakeFinding } from './finding.ts';
import { judgeNotifications, type RowToJudge } from './judge-notifications.ts';

export interface AuditLimits {
  /** Every timestamp handed out before this one was asked for is below it. */
  readonly bound: Timestamp;
  /**
   * Below it there are no reads: the collector may have taken what is only visible there (P31,
   * snapshot loses versions).
   */
  readonly horizon: Timestamp;
}

export function judgeRow(subject: RowToJudge, { bound, horizon }: AuditLimits): readonly Finding[] {
  const { audited, row, histories, notifications } = subject;
  const { table } = audited;
  const columns = [...histories].flatMap(([column, history]) => {
    const cell = { table, row, column };
    const timestamps = timestampsOf(history);
    const own = isSharedLock(column)
      ? judgeSharedLocks(cell, history, histories.get(protectedBy(column)))
      : judgeColumn(cell, history, horizon);
    return aheadOfOracle(cell, timestamps, bound).concat(own);
  });
  const aheadNotifications = [...Map.groupBy(notifications, ({ qualifier }) => qualifier)].flatMap(
    ([column, cells]) => {
      const timestamps = cells.map(({ timestamp }) => timestamp);
      return aheadOfOracle({ table, row, column }, timestamps, bound);
    },
  );
  return [...columns, ...aheadNotifications, ...judgeNotifications(subject, { bound, horizon })];
}

function aheadOfOracle(
  cell: { readonly table: string; readonly row: string; readonly column: string },
  found: readonly Timestamp[],
  bound: Timestamp,
): Finding[] {
  const ahead = found.filter((timestamp) => timestamp >= bound);
  if (ahead.length === 0) return [];
  const code = isAcknowledgment(cell.column) ? 'acknowledgment-ahead' : 'timestamp-ahead';
  const timestamps = [...new Set(ahead)].toSorted((a, b) => a - b);
  const sentence = `${timestamps.join(', ')}: not yet handed out by the oracle`;
  return [{ code, severity: 'error', cell, timestamps, sentence }];
}

function timestampsOf(history: ColumnHistory): readonly Timestamp[] {
  const { locks, records, data, rollbacks, strangeLocks, strangeRecords } = history;
  return [
    ...locks.map(({ startTimestamp }) => startTimestamp),
    ...records.flatMap((record) => [
      record.startTimestamp,
      record.commitTimestamp,
      record.dataTimestamp,
      record.changedTimestamp,
    ]),
    ...data,
    ...rollbacks,
    ...strangeLocks,
    ...strangeRecords,
  ];
}

/*
 * The errors that the cells of one column of one row, read atomically, can prove.
 *
 *     locks     at most one; nothing is committed over it, and its transaction has not ended here
 *     records   their intervals [S, C] are disjoint: of two that overlap, one had to lose
 *               what they point to is there, and a touch keeps what was current
 *     data      belongs to a lock or to a record (P33, data of the rolled back)
 *     rollback  never of a transaction that has committed here
 *
 * Where a value cannot be decoded, that is the finding: its consequences are not guessed.
 */

/**
 * @param horizon below it there are no reads: the collector may have taken what is only visible
 *   there
 */
function judgeColumn(
  cell: CellAddress,
  history: ColumnHistory,
  horizon: Timestamp,
): readonly Finding[] {
  const error = errorsIn(cell);
  return [
    ...judgeValues(history, error),
    ...judgeEnds(history, error),
    ...judgeLocks(history, error),
    ...judgeIntervals(history, error),
    ...judgePointers(cell, history, { horizon, error }),
    ...judgeData(cell, history, { horizon, error }),
    ...judgeRollbacks(cell, history, { horizon, error }),
  ];
}

function errorsIn(cell: CellAddress): MakeFinding {
  return (code, timestamps, sentence) => ({ code, severity: 'error', cell, timestamps, sentence });
}

function judgeValues(
  { strangeLocks, strangeRecords }: ColumnHistory,
  error: MakeFinding,
): Finding[] {
  return [
    ...strangeLocks.map((at) =>
      error('lock-undecodable', [at], `the lock at ${at} cannot be decoded`),
    ),
    ...strangeRecords.map((at) =>
      error('record-undecodable', [at], `the record at ${at} is not one that a transaction writes`),
    ),
  ];
}

interface Judging {
  readonly horizon: Timestamp;
  readonly error: MakeFinding;
}

/** Locks of transactions that have ended here. */
function judgeEnds({ locks, records, rollbacks }: ColumnHistory, error: MakeFinding): Finding[] {
  const rolledBack = new Set(rollbacks);
  return locks.flatMap(({ startTimestamp }) => {
    const own = records.find((record) => record.startTimestamp === startTimestamp);
    if (own !== undefined) {
      const committed = own.commitTimestamp;
      const sentence = `the lock of ${startTimestamp} is still in the cell, or again, although it was committed at ${committed}`;
      return error('lock-after-end', [startTimestamp, committed], sentence);
    }
    if (rolledBack.has(startTimestamp)) {
      const sentence = `the lock of ${startTimestamp} is next to the rollback record that forbids it (P1)`;
      return error('lock-after-end', [startTimestamp], sentence);
    }
    return [];
  });
}

function judgeLocks({ locks, records, rollbacks }: ColumnHistory, error: MakeFinding): Finding[] {
  const [newest] = records;
  const ended = new Set([...rollbacks, ...records.map(({ startTimestamp }) => startTimestamp)]);
  return locks.flatMap(({ startTimestamp }, i) => {
    if (ended.has(startTimestamp)) return [];
    const other = locks[i - 1]?.startTimestamp;
    if (other !== undefined) {
      const sentence = `the transactions of ${startTimestamp} and ${other} have both locked the cell`;
      return error('lock-overtaken', [startTimestamp, other], sentence);
    }
    if (newest === undefined || newest.commitTimestamp < startTimestamp) return [];
    const at = newest.commitTimestamp;
    const sentence = `the transaction of ${newest.startTimestamp} committed at ${at}, over the lock of ${startTimestamp}`;
    return error('lock-overtaken', [startTimestamp, newest.startTimestamp, at], sentence);
  });
}

function judgeIntervals({ records }: ColumnHistory, error: MakeFinding): Finding[] {
  return records.flatMap((record, i) => {
    const before = records[i + 1];
    if (before === undefined || before.commitTimestamp < record.startTimestamp) return [];
    return error(
      'record-overlap',
      [record.startTimestamp, before.startTimestamp],
      `${interval(record)} overlaps ${interval(before)}: one of the two had to lose`,
    );
  });
}

/** What records point to: existing data and, for a touch, the version before it. */
function judgePointers(
  { column }: CellAddress,
  { records, data }: ColumnHistory,
  { horizon, error }: Judging,
): Finding[] {
  const present = new Set(data);
  const hasData = !isOfEngine(column); // An acknowledgment consists of its record alone.
  return records.flatMap((record, i) => {
    const { startTimestamp, commitTimestamp, dataTimestamp } = record;
    const next = records[i - 1];
    const isVisible = next === undefined || next.commitTimestamp > horizon;
    if (hasData && isVisible && dataTimestamp !== 0 && !present.has(dataTimestamp)) {
      const sentence = `the record at ${commitTimestamp} points to data at ${dataTimestamp}, which does not exist`;
      return error('record-without-data', [startTimestamp, commitTimestamp], sentence);
    }
    const before = records[i + 1];
    if (record.operation !== 'touch' || before === undefined) return [];
    const isKept =
      before.dataTimestamp === dataTimestamp && before.changedTimestamp === record.changedTimestamp;
    // Of two that overlap, neither has seen the other; the overlap has been reported.
    if (isKept || before.commitTimestamp >= startTimestamp) return [];
    // A collector takes a long row's records newest first: the one that was touched has gone.
    const { changedTimestamp } = record;
    if (before.commitTimestamp < changedTimestamp && changedTimestamp <= horizon) return [];
    const sentence = `the touch at ${commitTimestamp} kept the data of ${dataTimestamp}, but the data of ${before.dataTimestamp} was current`;
    return error('record-wrong-touch', [startTimestamp, commitTimestamp], sentence);
  });
}

function judgeData(
  cell: CellAddress,
  { locks, records, data, rollbacks, strangeLocks, strangeRecords }: ColumnHistory,
  { horizon, error }: Judging,
): Finding[] {
  if (strangeRecords.length > 0) return []; // One of them may point to the data.
  const owned = new Set([
    ...locks.map(({ startTimestamp }) => startTimestamp),
    ...strangeLocks,
    ...records.map(({ dataTimestamp }) => dataTimestamp),
  ]);
  const rolledBack = new Set(rollbacks);
  return data.flatMap((startTimestamp): Finding[] => {
    if (owned.has(startTimestamp)) return [];
    const sentence = `the data at ${startTimestamp} has neither a lock nor a record`;
    const finding = error('data-without-record', [startTimestamp], sentence);
    // Not erased: its transaction may still be in flight.
    if (!rolledBack.has(startTimestamp) && startTimestamp >= horizon) return [finding];
    const newestRecord = records[0]?.commitTimestamp ?? 0;
    return [{ ...finding, fix: { kind: 'erase data', cell, startTimestamp, newestRecord } }];
  });
}

function judgeRollbacks(
  cell: CellAddress,
  { records, rollbacks }: ColumnHistory,
  { horizon, error }: Judging,
): Finding[] {
  const committed = new Map(records.map((record) => [record.startTimestamp, record]));
  return rollbacks.flatMap((startTimestamp): Finding[] => {
    const record = committed.get(startTimestamp);
    if (record !== undefined) {
      const at = record.commitTimestamp;
      const sentence = `the transaction of ${startTimestamp} was rolled back, and also committed at ${at}`;
      return [error('committed-and-rolled-back', [startTimestamp, at], sentence)];
    }
    if (startTimestamp >= horizon) return [];
    const sentence = `the rollback record of ${startTimestamp} is below the horizon ${horizon}; a collector removes it in a later cycle`;
    const timestamps = [startTimestamp];
    return [{ code: 'rollback-below-horizon', severity: 'warning', cell, timestamps, sentence }];
  });
}

function interval({ startTimestamp, commitTimestamp }: WriteRecord): string {
  return `[${startTimestamp}, ${commitTimestamp}]`;
}

/*
 * The errors that shared locks can prove (P90, P91). Of these alone, several are in a cell at once,
 * and what they have committed overlaps. But a transaction that shares a lock, and one that writes
 * the cell, never overlap:
 *
 *     shared   [S, C] ─┐
 *     cell     [S, C] ─┴─▶ disjoint; and there are no locks in both, or over records of the other
 */

/**
 * Of a column of shared locks: those of several transactions may be there at once, and each leaves
 * a rollback record when it is committed.
 */
function judgeSharedLocks(
  cell: CellAddress,
  history: ColumnHistory,
  written: ColumnHistory | undefined,
): readonly Finding[] {
  const error = errorsIn(cell);
  return [
    ...judgeValues(history, error),
    ...judgeEnds(history, error),
    ...judgeShared(history, written, error),
  ];
}

/** A transaction that holds a lock, or did until its commit. */
interface Holder {
  readonly startTimestamp: Timestamp;
  /** Infinity for a lock. */
  readonly commitTimestamp: Timestamp;
}

/**
 * @param shared the history of the shared locks
 * @param cell that of the column that they protect; undefined if it has no cells
 */
function judgeShared(
  shared: ColumnHistory,
  cell: ColumnHistory | undefined,
  error: MakeFinding,
): readonly Finding[] {
  if (cell === undefined) return [];
  const writers = holdersIn(cell);
  return holdersIn(shared).flatMap((holder) =>
    writers
      .filter((writer) => overlap(holder, writer))
      .map((writer) => {
        const starts = [holder.startTimestamp, writer.startTimestamp];
        const both = `${describe(holder)}, which shares its lock, overlaps ${describe(writer)}, which writes the cell`;
        const isLocked = [holder, writer].some(
          ({ commitTimestamp }) => commitTimestamp === Infinity,
        );
        return error(isLocked ? 'lock-overtaken' : 'record-overlap', starts, both);
      }),
  );
}

function holdersIn({ locks, records }: ColumnHistory): readonly Holder[] {
  const locked = locks.map(({ startTimestamp }) => ({ startTimestamp, commitTimestamp: Infinity }));
  return [...locked, ...records];
}

/** A lock that stayed after its own commit is another finding. */
function overlap(one: Holder, other: Holder): boolean {
  return (
    one.startTimestamp !== other.startTimestamp &&
    one.startTimestamp <= other.commitTimestamp &&
    other.startTimestamp <= one.commitTimestamp
  );
}

function describe({ startTimestamp, commitTimestamp }: Holder): string {
  return commitTimestamp === Infinity
    ? `the lock of ${startTimestamp}`
    : `[${startTimestamp}, ${commitTimestamp}]`;
}
