/**
 * The value that was in a cell before a change of it: that of the newest record below the change's.
 * It is there as long as the place is not below the horizon from which the change was read: what a
 * snapshot at the place sees stays, and all that is newer.
 */
import { copyOf } from '../base/index.ts';
import { type Context, DATA, decodeWriteRecord, placeOf, WRITE } from '../transaction/index.ts';
import type { FoundChange } from './look.ts';

/** Undefined if there was none. */
export async function valueBefore(
  { store }: Context,
  stored: string,
  { row, column, record }: FoundChange,
): Promise<Uint8Array | undefined> {
  const to = record.commitTimestamp - 1;
  const found = await store.readRow(stored, row, [{ ...placeOf(WRITE, column), to, versions: 1 }]);
  const [cell] = found?.cells ?? [];
  if (cell === undefined) return undefined;
  const { dataTimestamp: at } = decodeWriteRecord(cell);
  if (at === 0) return undefined;
  const data = await store.readRow(stored, row, [{ ...placeOf(DATA, column), from: at, to: at }]);
  const value = data?.cells[0]?.value;
  return value && copyOf(value);
}
