/**
 * Counts the calls that a process sends to the storage: for transactions, scanners and collectors
 * alike. A decorator, so that the verbs of the protocol do not count. It is also where a database
 * that was closed stops (closing.ts).
 */
import { answersTo } from '../bigtable/answers.ts';
import { type Bigtable, decorate } from '../bigtable/index.ts';
import type { Closing } from './closing.ts';

/** Reads and mutations sent to the storage, and how many rows they named or, for a range, found. */
export interface CallCounters {
  reads: number;
  readRows: number;
  mutations: number;
  mutatedRows: number;
}

/**
 * `store`, with each call counted in `counters` when it is sent; the rows of a range when read.
 * Once the database is closed, nothing is sent any more, even if the store stays open.
 */
export function countCalls(store: Bigtable, counters: CallCounters, closing: Closing): Bigtable {
  const read = (rows: number): void => {
    counters.reads++;
    counters.readRows += rows;
  };
  const mutate = (rows: number): void => {
    counters.mutations++;
    counters.mutatedRows += rows;
  };
  /** Sends in this turn, because a storage may keep the order (`manifest.ordered`). */
  const send = <T>(call: () => Promise<T>): Promise<T> => closing.refusal() ?? call();
  return decorate(store, {
    readRow: (...given) =>
      send(() => {
        read(1);
        return store.readRow(...given);
      }),
    readRows: (table, rows, filters) =>
      send(() => {
        read(rows.length);
        return store.readRows(table, rows, filters);
      }),
    readRange: (...given) =>
      send(async () => {
        read(0);
        const rows = await store.readRange(...given);
        counters.readRows += rows.length;
        return rows;
      }),
    checkAndMutateRow: (conditional) =>
      send(() => {
        mutate(1);
        return store.checkAndMutateRow(conditional);
      }),
    checkAndMutateRows: (conditionals) => {
      const refusal = closing.refusal();
      if (refusal !== undefined) return answersTo(conditionals.map(() => refusal));
      mutate(conditionals.length);
      return store.checkAndMutateRows(conditionals);
    },
    mutateRows: (rows) =>
      send(() => {
        mutate(rows.length);
        return store.mutateRows(rows);
      }),
    sampleRowKeys: (table) => send(() => store.sampleRowKeys(table)),
    createTable: (...given) => send(() => store.createTable(...given)),
    listTables: () => send(() => store.listTables()),
    dropTable: (table) => send(() => store.dropTable(table)),
  });
}
