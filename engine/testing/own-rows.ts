/**
 * A part of a store's rows as a store of its own: many tests share tables, and see nothing of each
 * other's rows.
 */
import type { Bigtable, Row } from '../bigtable/index.ts';
import { decorate } from '../bigtable/decorate.ts';

/** @param name of the part; no part's name begins with another part's name and a slash */
export function ownRows(store: Bigtable, name: string): Bigtable {
  const before = `${name}/`;
  /** The first key after all keys that begin with `before`: `0` follows `/`. */
  const after = `${name}0`;
  const named = <T extends { readonly row: string }>(one: T): T => ({
    ...one,
    row: `${before}${one.row}`,
  });
  const unnamed = <T extends Row | undefined>(row: T): T =>
    row === undefined ? row : { ...row, key: row.key.slice(before.length) };
  return decorate(store, {
    readRow: async (table, row, filters) =>
      unnamed(await store.readRow(table, `${before}${row}`, filters)),
    readRows: async (table, rows, filters) => {
      const keys = rows.map((row) => `${before}${row}`);
      return (await store.readRows(table, keys, filters)).map(unnamed);
    },
    readRange: async (table, { start = '', end, ...rest }, filters) => {
      const range = { start: `${before}${start}`, end: end === undefined ? after : before + end };
      return (await store.readRange(table, { ...range, ...rest }, filters)).map(unnamed);
    },
    checkAndMutateRow: (conditional) => store.checkAndMutateRow(named(conditional)),
    checkAndMutateRows: (conditionals) => store.checkAndMutateRows(conditionals.map(named)),
    mutateRows: (rows) => store.mutateRows(rows.map(named)),
  });
}
