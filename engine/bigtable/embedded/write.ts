/** Applying mutations to lmdb, inside a write transaction. */
import { unreachable } from '../../base/index.ts';
import type { ConditionalRowMutation, Mutation } from '../bigtable.ts';
import { familyId, type TableEntry } from './catalog.ts';
import { cellKey, columnPrefix, familyPrefix, prefixEnd, rowPrefix, tablePrefix } from './keys.ts';
import type { Cells } from './cells.ts';
import { anyCell, type Storage } from './read.ts';
import { filterForTable } from './table-filter.ts';

/** The part of an lmdb database that writing needs. */
export interface WritableCells extends Cells {
  putSync(key: Buffer, value: Buffer): unknown;
  removeSync(key: Buffer): unknown;
}

export function applyMutations(
  cells: WritableCells,
  table: TableEntry,
  row: string,
  mutations: readonly Mutation[],
): void {
  const prefix = rowPrefix(tablePrefix(table.id), row);
  for (const mutation of mutations) applyMutation(cells, table, prefix, mutation);
}

/** Checks, then mutates, inside one write transaction, so nothing comes in between. */
export function applyConditional(
  storage: Storage<WritableCells>,
  table: TableEntry,
  conditional: ConditionalRowMutation,
): boolean {
  const found = anyCell(
    storage,
    table,
    conditional.row,
    conditional.anyOf.map((filter) => filterForTable(table, filter)),
  );
  applyMutations(
    storage.cells,
    table,
    conditional.row,
    (found ? conditional.ifFound : conditional.ifNotFound) ?? [],
  );
  return found;
}

function applyMutation(
  cells: WritableCells,
  table: TableEntry,
  row: Buffer,
  mutation: Mutation,
): void {
  const family = familyPrefix(row, familyId(table, mutation.family));
  const column = columnPrefix(family, mutation.qualifier);
  switch (mutation.kind) {
    case 'set':
      cells.putSync(cellKey(column, mutation.timestamp), asBuffer(mutation.value));
      break;
    case 'erase':
      if (mutation.from === mutation.to) cells.removeSync(cellKey(column, mutation.from));
      else {
        eraseRange(cells, cellKey(column, mutation.to), prefixEnd(cellKey(column, mutation.from)));
      }
      break;
    default:
      unreachable(mutation);
  }
}

function eraseRange(cells: WritableCells, start: Buffer, end: Buffer): void {
  const keys = [...cells.getKeys({ start, end })];
  for (const key of keys) cells.removeSync(key);
}

function asBuffer(value: Uint8Array): Buffer {
  return Buffer.isBuffer(value)
    ? value
    : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
