/**
 * A cell as a committed transaction leaves it: its data, and the write record that points to the
 * data. For loading a database in bulk, where there are no readers yet and locks would protect
 * nothing.
 */
import type { Mutation, Timestamp } from '../bigtable/index.ts';
import { placeOf, DATA, isAcknowledgment, WRITE } from './columns.ts';
import { encodeWriteRecord } from './write-record.ts';

export function committedCell(
  column: string,
  value: Uint8Array,
  { startTimestamp, commitTimestamp }: { startTimestamp: Timestamp; commitTimestamp: Timestamp },
): Mutation[] {
  const record = encodeWriteRecord(startTimestamp, 'put');
  const mutations: Mutation[] = [
    { kind: 'set', ...placeOf(WRITE, column), timestamp: commitTimestamp, value: record },
  ];
  if (!isAcknowledgment(column)) {
    mutations.push({ kind: 'set', ...placeOf(DATA, column), timestamp: startTimestamp, value });
  }
  return mutations;
}
