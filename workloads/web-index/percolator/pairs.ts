/**
 * Tables of pairs, such as "this page links to that one": a row for each pair, found from its first
 * half by one scan.
 *
 * A row for each pair, rather than a list in a cell: the list of the pages that link to a home page
 * would be written by all of them, and all would conflict. Each pair has one writer, the second
 * half, which remembers in a cell of its own what it has written, and so knows what to delete.
 */
import type { Reader, Transaction } from '#engine';
import { cellOf, type Column } from './columns.ts';

/** No URL and no hash holds it. */
const SEPARATOR = '\0';
const AFTER_SEPARATOR = '\u0001';

export function pairRow(first: string, second: string): string {
  return `${first}${SEPARATOR}${second}`;
}

/** The second halves of all pairs with this first half, in order, with their values. */
export async function readPairs<T>(
  reader: Reader,
  column: Column<T>,
  first: string,
): Promise<readonly (readonly [second: string, value: T])[]> {
  const pairs: [string, T][] = [];
  const { table, name } = column;
  const range = { start: first + SEPARATOR, end: first + AFTER_SEPARATOR, columns: [name] };
  for await (const { row, values } of reader.scan({ table, ...range })) {
    const bytes = values.get(name);
    if (bytes !== undefined) pairs.push([row.slice(range.start.length), column.decode(bytes)]);
  }
  return pairs;
}

/**
 * Writes the pairs of `second` that are new or have changed, and deletes those that are not wanted
 * any more. Returns the first halves of all that it wrote or deleted.
 */
export function writePairs<T>(
  transaction: Transaction,
  column: Column<T>,
  second: string,
  {
    before,
    after,
  }: { readonly before: ReadonlyMap<string, T>; readonly after: ReadonlyMap<string, T> },
): readonly string[] {
  const changed: string[] = [];
  for (const [first, value] of after) {
    const bytes = column.encode(value);
    const old = before.get(first);
    if (old !== undefined && column.encode(old).equals(bytes)) continue;
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
