/**
 * The storage with tables by the users' names: used to scan, park and clear notifications, to list
 * and replay parked cells, and to read a write record (observer/run-observer.ts).
 *
 *     t, t.notify ──▶ the current incarnation ──▶ the storage
 *                       ▲                          │ no such table
 *                       └──────── look again ◀─────┘
 *
 * Each call goes to the incarnation that this process knows, even if that one is already being
 * dropped; only if it knows none, or the storage has no such table, is the present one looked up.
 * For marks any incarnation will do: a mark's timestamp tells which one it is meant for, because
 * the marks of an incarnation are younger than all marks of the previous one. A cell is parked only
 * where its mark is (observer/parking.ts). Transactions must not use this storage: they bind each
 * table to one incarnation (transaction/bound-tables.ts).
 */
import { type Bigtable, decorate } from '../bigtable/index.ts';
import { answersTo } from '../bigtable/answers.ts';
import { isTableNotFound, notifyTable, type TableCatalog } from '../transaction/index.ts';
import { companionOf } from './names.ts';

export function namedBigtable(store: Bigtable, catalog: TableCatalog): Bigtable {
  const at = createLookup(catalog);
  const checkAndMutateRow: Bigtable['checkAndMutateRow'] = (conditional) =>
    at(conditional.table, (table) => store.checkAndMutateRow({ ...conditional, table }));
  return decorate(store, {
    checkAndMutateRow,
    checkAndMutateRows: (conditionals) => answersTo(conditionals.map(checkAndMutateRow)),
    readRow: (name, row, filters) => at(name, (table) => store.readRow(table, row, filters)),
    readRows: (name, rows, filters) => at(name, (table) => store.readRows(table, rows, filters)),
    readRange: (name, range, filters) =>
      at(name, (table) => store.readRange(table, range, filters)),
    sampleRowKeys: (name) => at(name, (table) => store.sampleRowKeys(table)),
    async mutateRows(rows) {
      await Promise.all(
        [...Map.groupBy(rows, ({ table }) => table)].map(([name, group]) =>
          at(name, (table) => store.mutateRows(group.map((row) => ({ ...row, table })))),
        ),
      );
    },
  });
}

/**
 * Runs `call` with the storage's name of the table that users call `name`, or, if `name` is that of
 * a companion, with the storage's name of the companion.
 */
type At = <T>(name: string, call: (stored: string) => Promise<T>) => Promise<T>;

function createLookup(catalog: TableCatalog): At {
  /**
   * A call that the storage refuses because the table is missing was not applied, and may be
   * repeated.
   */
  const withTable: At = async (table, call) => {
    const known = catalog.known(table) ?? (await catalog.look([table]))[0];
    try {
      return await call(known?.stored ?? table);
    } catch (error) {
      if (!isTableNotFound(error)) throw error;
      const [present] = await catalog.look([table]);
      if (present === undefined || present.stored === known?.stored) throw error;
      return call(present.stored);
    }
  };
  return async (name, call) => {
    const table = companionOf(name);
    if (table === undefined) return withTable(name, call);
    return withTable(table, (stored) => call(notifyTable(stored)));
  };
}
