/**
 * The errors that a row and its marks can prove: by column, by notification, and by timestamps that
 * cannot have been handed out yet, as in a table that was restored or copied without its oracle.
 * Such cells are invisible to readers, and conflict with writers, until the oracle has passed them.
 */
import type { Timestamp } from '../bigtable/index.ts';
import { isAcknowledgment } from '../transaction/index.ts';
import type { ColumnHistory } from './column-history.ts';
import type { Finding } from './finding.ts';
import { judgeColumn } from './judge-column.ts';
import { judgeNotifications, type RowWithMarks } from './judge-notifications.ts';

export interface Limits {
  /** Every timestamp handed out before this one was asked for is below it. */
  readonly bound: Timestamp;
  /** Below it there are no reads: the collector may have taken what is only visible there (P31). */
  readonly horizon: Timestamp;
}

export function judgeRow(subject: RowWithMarks, { bound, horizon }: Limits): readonly Finding[] {
  const { audited, row, histories, marks } = subject;
  const { table } = audited;
  const columns = [...histories].flatMap(([column, history]) => {
    const cell = { table, row, column };
    const timestamps = timestampsOf(history);
    return aheadOfOracle(cell, timestamps, bound).concat(judgeColumn(cell, history, horizon));
  });
  const aheadMarks = [...Map.groupBy(marks, ({ qualifier }) => qualifier)].flatMap(
    ([column, cells]) => {
      const timestamps = cells.map(({ timestamp }) => timestamp);
      return aheadOfOracle({ table, row, column }, timestamps, bound);
    },
  );
  return [...columns, ...aheadMarks, ...judgeNotifications(subject, { bound, horizon })];
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
  const { locks, records, data, markers, strangeLocks, strangeRecords } = history;
  return [
    ...locks.map(({ startTimestamp }) => startTimestamp),
    ...records.flatMap((record) => [
      record.startTimestamp,
      record.commitTimestamp,
      record.dataTimestamp,
      record.changedTimestamp,
    ]),
    ...data,
    ...markers,
    ...strangeLocks,
    ...strangeRecords,
  ];
}
