/**
 * A cell as a committed transaction leaves it: its data, and the write record that points to the
 * data. An acknowledgment consists of its write record alone. Bulk loading makes such cells: there
 * are no readers yet, so locks would protect nothing.
 */
import type { Mutation, Timestamp } from '../bigtable/index.ts';
import { placeOf, DATA, isAcknowledgment, WRITE } from './columns.ts';
import { encodeWriteRecord } from './write-record.ts';

/** When a transaction began and committed. */
export interface CommitTimes {
  readonly startTimestamp: Timestamp;
  readonly commitTimestamp: Timestamp;
  /** The encoded write record that all its cells share. Default: encoded anew for each cell. */
  readonly record?: Uint8Array;
}

export function commitTimes(startTimestamp: Timestamp, commitTimestamp: Timestamp): CommitTimes {
  return { startTimestamp, commitTimestamp, record: encodeWriteRecord(startTimestamp, 'put') };
}

export function committedCell(
  column: string,
  value: Uint8Array,
  {
    startTimestamp,
    commitTimestamp,
    record = encodeWriteRecord(startTimestamp, 'put'),
  }: CommitTimes,
): Mutation[] {
  const mutations: Mutation[] = [
    { kind: 'set', ...placeOf(WRITE, column), timestamp: commitTimestamp, value: record },
  ];
  if (!isAcknowledgment(column)) {
    mutations.push({ kind: 'set', ...placeOf(DATA, column), timestamp: startTimestamp, value });
  }
  return mutations;
}
