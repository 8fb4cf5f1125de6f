/**
 * The storage with tables by the users' names: used to scan, park and clear notifications.
 *
 *     t, t.notify ──▶ the current incarnation ──▶ the storage
 *                       ▲                          │ no such table
 *                       └──────── look again ◀─────┘
 *
 * Each call goes to the incarnation that is current at that moment. For marks any incarnation will
 * do: a mark's timestamp tells which one it is meant for, because the marks of an incarnation are
 * younger than all marks of the previous one. Transactions must not use this class: they are bound
 * (transaction/bound-tables.ts).
 */
import type {
  Bigtable,
  CellFilter,
  ConditionalRowMutation,
  Manifest,
  Row,
  RowMutation,
  RowRange,
  TableSchema,
} from '../bigtable/index.ts';
import { answersTo } from '../bigtable/answers.ts';
import { isTableNotFound, notifyTable, type TableCatalog } from '../transaction/index.ts';
import { companionOf } from './names.ts';

export class NamedBigtable implements Bigtable {
  readonly manifest: Manifest;
  readonly onChange: Bigtable['onChange'];
  readonly #store: Bigtable;
  readonly #catalog: TableCatalog;

  constructor(store: Bigtable, catalog: TableCatalog) {
    this.#store = store;
    this.#catalog = catalog;
    this.manifest = store.manifest;
    this.onChange = store.onChange;
  }

  readRow(table: string, row: string, filters: readonly CellFilter[]): Promise<Row | undefined> {
    return this.#at(table, (stored) => this.#store.readRow(stored, row, filters));
  }

  readRows(
    table: string,
    rows: readonly string[],
    filters: readonly CellFilter[],
  ): Promise<readonly (Row | undefined)[]> {
    return this.#at(table, (stored) => this.#store.readRows(stored, rows, filters));
  }

  readRange(
    table: string,
    range: RowRange & { readonly limit: number },
    filters: readonly CellFilter[],
  ): Promise<readonly Row[]> {
    return this.#at(table, (stored) => this.#store.readRange(stored, range, filters));
  }

  checkAndMutateRow(conditional: ConditionalRowMutation): Promise<boolean> {
    return this.#at(conditional.table, (table) =>
      this.#store.checkAndMutateRow({ ...conditional, table }),
    );
  }

  checkAndMutateRows(
    conditionals: readonly ConditionalRowMutation[],
  ): Promise<readonly (boolean | Error)[]> {
    return answersTo(conditionals.map((conditional) => this.checkAndMutateRow(conditional)));
  }

  async mutateRows(rows: readonly RowMutation[]): Promise<void> {
    await Promise.all(
      [...Map.groupBy(rows, ({ table }) => table)].map(([name, group]) =>
        this.#at(name, (table) => this.#store.mutateRows(group.map((row) => ({ ...row, table })))),
      ),
    );
  }

  sampleRowKeys(table: string): Promise<readonly string[]> {
    return this.#at(table, (stored) => this.#store.sampleRowKeys(stored));
  }

  createTable(table: string, schema: TableSchema): Promise<void> {
    return this.#store.createTable(table, schema);
  }

  listTables(): Promise<readonly string[]> {
    return this.#store.listTables();
  }

  dropTable(table: string): Promise<void> {
    return this.#store.dropTable(table);
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** A call that the storage refuses because the table is missing was not applied,
   * and may be repeated. */
  async #at<T>(name: string, call: (stored: string) => Promise<T>): Promise<T> {
    const table = companionOf(name);
    if (table === undefined) return this.#withTable(name, call);
    return this.#withTable(table, (stored) => call(notifyTable(stored)));
  }

  async #withTable<T>(table: string, call: (stored: string) => Promise<T>): Promise<T> {
    const known = this.#catalog.known(table) ?? (await this.#catalog.look([table]))[0];
    try {
      return await call(known?.stored ?? table);
    } catch (error) {
      if (!isTableNotFound(error)) throw error;
      const [present] = await this.#catalog.look([table]);
      if (present === undefined || present.stored === known?.stored) throw error;
      return call(present.stored);
    }
  }
}
