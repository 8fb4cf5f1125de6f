/**
 * Columns with a codec, and the two ways in which an observer writes its results.
 *
 * `settle` is for observers that weak notifications run. Two of their runs may overlap, and a run
 * acknowledges nothing, so nothing but what it writes makes them conflict. If the newer run finds
 * that its result is there already and writes nothing, the older one, which has seen less, commits
 * after it and wins. So a result that has not changed is locked: then the older run conflicts.
 *
 * `update` is for observers that run once per change of the cell they observe: of two runs at the
 * same time one loses on the acknowledgment.
 */
import { bytesOf, copyOf } from '../base/index.ts';
import type { CellAddress, Reader, Transaction } from '../transaction/index.ts';
import { type Codec, codecs } from '../typed/index.ts';

interface ColumnName {
  readonly table: string;
  readonly name: string;
}

/** A column of a table, and what its cells mean. Equal values must be encoded alike. */
export interface TypedColumn<T> extends ColumnName, Codec<T> {}

/** A column of values that JSON can hold. */
export function jsonColumn<T>(table: string, name: string): TypedColumn<T> {
  return { table, name, ...codecs.json<T>() };
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
  if (areEqual(before, after)) return false;
  if (after === undefined) transaction.delete(cell);
  else transaction.set(cell, after);
  return true;
}

/** Whether both are the same bytes, or both are none. */
export function areEqual(
  a: Uint8Array | string | undefined,
  b: Uint8Array | string | undefined,
): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (typeof a === 'string' && typeof b === 'string') return a === b;
  const [left, right] = [inBytes(a), inBytes(b)];
  return left.length === right.length && left.every((byte, i) => byte === right[i]);
}

export function inBytes(encoded: Uint8Array | string): Uint8Array {
  return typeof encoded === 'string' ? bytesOf(encoded) : encoded;
}

/** Stays as it is when the codec that has made it uses its buffer again. */
export function ownOf(encoded: Uint8Array | string): Uint8Array | string {
  return typeof encoded === 'string' ? encoded : copyOf(encoded);
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
