/**
 * Counts the calls that a process sends to the storage: for transactions, scanners and collectors
 * alike. A decorator, so that the verbs of the protocol do not count.
 */
import { type Bigtable, decorate } from '../bigtable/index.ts';

/** Reads and mutations sent to the storage, and how many rows they named or, for a range, found. */
export interface CallCounters {
  reads: number;
  readRows: number;
  mutations: number;
  mutatedRows: number;
}

/** `store`, with each call counted in `counters` when it is sent; the rows of a range when read. */
export function countCalls(store: Bigtable, counters: CallCounters): Bigtable {
  const read = (rows: number): void => {
    counters.reads++;
    counters.readRows += rows;
  };
  const mutate = (rows: number): void => {
    counters.mutations++;
    counters.mutatedRows += rows;
  };
  return decorate(store, {
    readRow: (table, row, filters) => {
      read(1);
      return store.readRow(table, row, filters);
    },
    readRows: (table, rows, filters) => {
      read(rows.length);
      return store.readRows(table, rows, filters);
    },
    readRange: async (...given) => {
      read(0);
      const rows = await store.readRange(...given);
      counters.readRows += rows.length;
      return rows;
    },
    checkAndMutateRow: (conditional) => {
      mutate(1);
      return store.checkAndMutateRow(conditional);
    },
    checkAndMutateRows: (conditionals) => {
      mutate(conditionals.length);
      return store.checkAndMutateRows(conditionals);
    },
    mutateRows: (rows) => {
      mutate(rows.length);
      return store.mutateRows(rows);
    },
  });
}
