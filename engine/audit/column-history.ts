/**
 * The cells of a row by column: its locks, records, data and rollback records.
 *
 * Values are decoded leniently. The engine's reads may fail on a value that it did not write; an
 * audit has to report it and go on.
 */
import type { Cell, Timestamp } from '../bigtable/index.ts';
import {
  columnOf,
  DATA,
  decodeWriteRecord,
  isTimestamp,
  kindOf,
  type Lock,
  LOCK,
  readLock,
  ROLLBACK,
  WRITE,
  type WriteRecord,
} from '../transaction/index.ts';

/** Everything that a row holds for one column, newest first. */
export interface ColumnHistory {
  readonly locks: readonly Lock[];
  readonly records: readonly WriteRecord[];
  /** Timestamps of the data. */
  readonly data: readonly Timestamp[];
  readonly rollbacks: readonly Timestamp[];
  /** Timestamps of locks and records that cannot be decoded, or that no transaction writes. */
  readonly strangeLocks: readonly Timestamp[];
  readonly strangeRecords: readonly Timestamp[];
}

export const NO_HISTORY: ColumnHistory = {
  locks: [],
  records: [],
  data: [],
  rollbacks: [],
  strangeLocks: [],
  strangeRecords: [],
};

/** By column, in the order of their first cells. */
export function historiesOf(cells: readonly Cell[]): ReadonlyMap<string, ColumnHistory> {
  const columns = Map.groupBy(cells, columnOf);
  return new Map([...columns].map(([column, ofColumn]) => [column, historyOf(ofColumn)]));
}

function historyOf(cells: readonly Cell[]): ColumnHistory {
  const kinds = Map.groupBy(cells, kindOf);
  const [locks, data, rollbacks, recordCells] = [LOCK, DATA, ROLLBACK, WRITE].map(
    (kind) => kinds.get(kind) ?? [],
  ) as [Cell[], Cell[], Cell[], Cell[]];
  const decodedLocks = locks.map(readLock);
  const decodedRecords = recordCells.map(readRecord);
  return {
    locks: decodedLocks.filter((lock) => lock !== undefined),
    records: decodedRecords.filter((record) => record !== undefined),
    data: data.map(({ timestamp }) => timestamp),
    rollbacks: rollbacks.map(({ timestamp }) => timestamp),
    strangeLocks: timestampsWithout(locks, decodedLocks),
    strangeRecords: timestampsWithout(recordCells, decodedRecords),
  };
}

/**
 * The record in the cell; undefined if it cannot be decoded, or if no transaction writes it: a
 * timestamp in it is impossible, or it does not commit after it starts.
 */
function readRecord(cell: Cell): WriteRecord | undefined {
  try {
    const record = decodeWriteRecord(cell);
    const { startTimestamp, commitTimestamp, dataTimestamp, changedTimestamp } = record;
    const sound = [startTimestamp, dataTimestamp, changedTimestamp].every(isTimestamp);
    return sound && startTimestamp < commitTimestamp ? record : undefined;
  } catch {
    return undefined;
  }
}

function timestampsWithout(cells: readonly Cell[], decoded: readonly unknown[]): Timestamp[] {
  return cells.filter((_, i) => decoded[i] === undefined).map(({ timestamp }) => timestamp);
}
