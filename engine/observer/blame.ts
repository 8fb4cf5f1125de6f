/**
 * Who is to blame for a run that did not commit: its observer, or the storage (P45, P56)?
 *
 *     a conflict, a lost answer, a refusal    the storage
 *     a table, or a store that is closed      the storage, if it says the same of the cell's table
 *     another database, where ours was        the storage, or the oracle: it may be over again
 *     anything else                           the observer
 *
 * A failure of the observer counts towards parking. After one of the storage the cell only rests,
 * and its observers run again.
 */
import { hasCode } from '../base/index.ts';
import { type Context, placeOf, WRITE } from '../transaction/index.ts';
import { isMarked } from './parking.ts';
import { isNoFailure, isRefusal, type Notified } from './run-observer.ts';

/** Why a run that did not commit is no failure of its observer. */
export interface StoragesError {
  readonly error: unknown;
  /** Whether the storage will refuse such a run until the cause is mended. */
  readonly isRefusal: boolean;
}

/**
 * Asks the store and the oracle if the error may be theirs, and resolves with what they throw.
 * Undefined if the failure is the observer's.
 */
export async function storagesError(
  context: Context,
  cell: Notified,
  error: unknown,
): Promise<StoragesError | undefined> {
  if (isNoFailure(error)) return { error, isRefusal: isRefusal(error) };
  if (!isAboutTable(error) && !isAboutStore(error)) return undefined;
  let isMarkedNow = false;
  try {
    await isMarked(context.named, cell);
    isMarkedNow = true; // The table has not been dropped, at least not whole.
    if (isAboutTable(error)) await useTable(context, cell);
    else await context.oracle.readHorizon();
    await context.identity?.check();
    if (hasCode(error, 'WRONG_DATABASE')) return { error, isRefusal: true };
    return undefined; // The observer asked for another table, or another store.
  } catch (storages) {
    return { error: storages, isRefusal: isMarkedNow && isAboutTable(storages) };
  }
}

/** Whether it says that no run can ever succeed: if it is the cell's own store. */
export function isAboutStore(error: unknown): boolean {
  return hasCode(error, 'STORE_CLOSED') || hasCode(error, 'WRONG_DATABASE');
}

/** What the storage says of a table that no run can use, and of one that only the observer uses. */
function isAboutTable(error: unknown): boolean {
  const codes = ['TABLE_NOT_FOUND', 'TABLE_MISMATCH', 'FAMILY_NOT_FOUND'] as const;
  return codes.some((code) => hasCode(error, code));
}

/** Does with the cell's table what every run does: looks up its definition, and reads from it. */
async function useTable(context: Context, { table, row, column }: Notified): Promise<void> {
  await context.isObserved(table, column);
  const filter = { ...placeOf(WRITE, column), versions: 1 };
  await context.named.readRow(table, row, [filter]);
}
