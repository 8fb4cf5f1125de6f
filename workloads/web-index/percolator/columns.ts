/**
 * Typed columns, tables of pairs, and the two ways in which an observer writes its results.
 *
 * `settle` is for observers that weak notifications run. Two of their runs may overlap, and a run
 * acknowledges nothing, so nothing but what it writes makes them conflict. If the newer run finds
 * that its result is there already and writes nothing, the older one, which has seen less, commits
 * after it and wins. So a result that has not changed is locked: then the older run conflicts.
 *
 * `update` is for observers that run once per change of the cell they observe: of two runs at the
 * same time one loses on the acknowledgment.
 *
 * A table of pairs, such as "this page links to that one", has a row for each pair, found from its
 * first half by one scan. It is not a list in a cell: the list of the pages that link to a home
 * page would be written by all of them, and all would conflict. Each pair has one writer, the
 * second half, which remembers in a cell of its own what it has written, and so knows what to
 * delete.
 */
import { type CellAddress, type Reader, textOf, type Transaction } from '#engine';

interface ColumnName {
  readonly table: string;
  readonly name: string;
}

export interface TypedColumn<T> extends ColumnName {
  encode(value: T): Buffer;
  decode(bytes: Uint8Array): T;
}

/** A column of values that JSON can hold. Equal values must have equal texts. */
export function jsonColumn<T>(table: string, name: string): TypedColumn<T> {
  return {
    table,
    name,
    encode: (value) => Buffer.from(JSON.stringify(value)),
    decode: (bytes) => JSON.parse(textOf(bytes)) as T,
  };
}

export function cellOf({ table, name }: ColumnName, row: string): CellAddress {
  return { table, row, column: name };
}

export async function read<T>(
  reader: Reader,
  column: TypedColumn<T>,
  row: string,
): Promise<T | undefined> {
  const bytes = await reader.get(cellOf(column, row));
  return bytes && column.decode(bytes);
}

/** The values of one column in many rows. */
export async function readMany<T>(
  reader: Reader,
  column: TypedColumn<T>,
  rows: readonly string[],
): Promise<readonly (T | undefined)[]> {
  const values = await reader.getMany(rows.map((row) => cellOf(column, row)));
  return values.map((bytes) => bytes && column.decode(bytes));
}

/** The values of several columns of one row, read at once. */
export async function readRow<T extends readonly unknown[]>(
  reader: Reader,
  row: string,
  ...columns: { readonly [I in keyof T]: TypedColumn<T[I]> }
): Promise<{ readonly [I in keyof T]: T[I] | undefined }> {
  const values = await reader.getMany(columns.map((column) => cellOf(column, row)));
  const decoded = columns.map((column, i) => {
    const bytes = values[i];
    return bytes && column.decode(bytes);
  });
  return decoded as { readonly [I in keyof T]: T[I] | undefined };
}

/** Writes the value if it has changed; undefined deletes. Resolves to whether it had. */
export async function update<T>(
  transaction: Transaction,
  column: TypedColumn<T>,
  row: string,
  value: T | undefined,
): Promise<boolean> {
  const cell = cellOf(column, row);
  const before = await transaction.get(cell);
  const after = value === undefined ? undefined : column.encode(value);
  if (before === undefined ? after === undefined : after !== undefined && after.equals(before)) {
    return false;
  }
  if (after === undefined) transaction.delete(cell);
  else transaction.set(cell, after);
  return true;
}

/** Like `update`, and locks the cell if its value stays. */
export async function settle<T>(
  transaction: Transaction,
  column: TypedColumn<T>,
  row: string,
  value: T | undefined,
): Promise<boolean> {
  const changed = await update(transaction, column, row, value);
  if (!changed) await transaction.lock(cellOf(column, row));
  return changed;
}

/** A weak notification of a cell. */
export function notify(transaction: Transaction, column: ColumnName, row: string): void {
  transaction.notifyWeakly(cellOf(column, row));
}

/** No URL and no hash holds it. */
const SEPARATOR = '\0';
const AFTER_SEPARATOR = '\u0001';

export function pairRow(first: string, second: string): string {
  return `${first}${SEPARATOR}${second}`;
}

/** The second halves of all pairs with this first half, in order, with their values. */
export async function readPairs<T>(
  reader: Reader,
  column: TypedColumn<T>,
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
  column: TypedColumn<T>,
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
