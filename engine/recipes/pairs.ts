/**
 * Tables of pairs: lists that many write, without conflicts.
 *
 * A table of pairs, such as "this page links to that one", has a row for each pair, found from its
 * first half by one scan. It is not a list in a cell: the list of the pages that link to a home
 * page would be written by all of them, and all would conflict. Each pair has one writer, the
 * second half, which remembers in a cell of its own what it has written, and so knows what to
 * delete.
 */
import { PercolatorError } from '../base/index.ts';
import type { Reader, ScanRange, Transaction } from '../transaction/index.ts';
import { areEqual, cellOf, ownOf, type TypedColumn } from './columns.ts';

/** No first half may hold it. */
const SEPARATOR = '\0';

/** @throws INVALID_ARGUMENT if the first half holds a NUL, which ends it */
export function pairRow(first: string, second: string): string {
  if (first.includes(SEPARATOR)) {
    const message = `the first half of a pair must not hold a NUL: ${JSON.stringify(first)}`;
    throw new PercolatorError('INVALID_ARGUMENT', message);
  }
  return `${first}${SEPARATOR}${second}`;
}

/** The second halves of all pairs with this first half, in order, with their values. */
export async function readPairs<T>(
  reader: Reader,
  column: TypedColumn<T>,
  first: string,
  options: Pick<ScanRange, 'limit'> = {},
): Promise<readonly (readonly [second: string, value: T])[]> {
  const pairs: [string, T][] = [];
  const { table, name } = column;
  const prefix = pairRow(first, '');
  for await (const { row, values } of reader.scan({ ...options, table, prefix, columns: [name] })) {
    const bytes = values.get(name);
    if (bytes !== undefined) pairs.push([row.slice(prefix.length), column.decode(bytes)]);
  }
  return pairs;
}

/**
 * Writes the pairs of `second` that are new or have changed, and deletes those that are not wanted
 * any more. Returns the first halves of all that it wrote or deleted.
 */
export function writePairs<T>(
  transaction: Transaction,
  column: TypedColumn<T>,
  second: string,
  {
    before,
    after,
  }: { readonly before: ReadonlyMap<string, T>; readonly after: ReadonlyMap<string, T> },
): readonly string[] {
  const changed: string[] = [];
  for (const [first, value] of after) {
    const old = before.get(first);
    const oldBytes = old === undefined ? undefined : ownOf(column.encode(old));
    const bytes = column.encode(value);
    if (areEqual(oldBytes, bytes)) continue;
    transaction.set(cellOf(column, pairRow(first, second)), bytes);
    changed.push(first);
  }
  for (const first of before.keys()) {
    if (after.has(first)) continue;
    transaction.delete(cellOf(column, pairRow(first, second)));
    changed.push(first);
  }
  return changed;
}
