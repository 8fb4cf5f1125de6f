/**
 * The tables of one transaction: each is bound to one incarnation when it is first used.
 *
 * A table that is dropped and created again is a different table with the same name: another
 * *incarnation*. The storage keeps each incarnation under a name of its own, which is never used
 * again, so nothing that was meant for one can reach the other (P52, old table for new). The
 * engine's own code, locks included, names tables as the storage does; users and observers use the
 * names that users gave the tables. A transaction translates, once per table:
 *
 *     first use ──▶ known here? ──▶ created before the snapshot? ──▶ bound: all reads and writes
 *                                   └ after: STALE_SNAPSHOT
 *     read ──▶ the storage has no such table ──▶ look ──▶ gone: TABLE_NOT_FOUND
 *                                                     └─▶ another, not newer than S: bound to it
 *     commit, with all locks held ──▶ a drop since we looked? ──▶ no: still the locked ones
 *                                                             └─▶ look, and fail if not (P54)
 *
 * What this process knows may be out of date and does not have to be right: reads of an incarnation
 * that is gone fail, and a commit checks. Can one transaction read two incarnations of a table? No:
 * the second one's `createdAt` was handed out after the first was gone from the storage. A snapshot
 * that is not older began later still, and all of its reads of the first incarnation fail.
 */
import { assert, hasCode, PercolatorError } from '../base/index.ts';
import type { Timestamp } from '../bigtable/index.ts';
import type { CellAddress } from './columns.ts';
import type { RowWrites, Write } from './writes.ts';

export interface Incarnation {
  /** The name that users gave the table. */
  readonly table: string;
  /** The storage's name of this incarnation, which no other table ever has. */
  readonly stored: string;
  /**
   * A timestamp handed out after the previous incarnation was gone:
   * no older snapshot may read this one (P53, snapshot before table).
   */
  readonly createdAt: Timestamp;
  readonly observedColumns: ReadonlySet<string>;
  /** The columns whose cells several transactions may lock at once. */
  readonly sharedColumns: ReadonlySet<string>;
}

/**
 * What transactions ask about tables (tables/catalog.ts). Without a catalog every table exists
 * forever, under its own name. Tests of the protocol and the exhaustive search work that way.
 */
export interface TableCatalog {
  /** The newest incarnation that this process has learned of; there may be a newer one. */
  known(table: string): Incarnation | undefined;
  /**
   * Whether no drop of any table has been announced, as far as this process has heard, since it
   * asked the storage for what `known` returns (P54, commit during drop). Costs nothing.
   */
  isCurrent(table: string): boolean;
  /**
   * Reads from the storage, after this call, the existing incarnation of each table; undefined
   * where there is none, or where it is being created or dropped. Concurrent calls share a read.
   */
  look(tables: readonly string[]): Promise<readonly (Incarnation | undefined)[]>;
  /**
   * Whether the incarnation that the storage calls `stored` is gone, and went only after every
   * transaction that had locked a cell of it and could commit had ended (P55, primaries dropped).
   * Reads the storage.
   */
  isGone(stored: string): Promise<boolean>;
}

/** A cell by the user's name of its table, together with the storage's name. */
export interface BoundCell extends CellAddress {
  readonly stored: string;
}

export class BoundTables {
  readonly #catalog: TableCatalog | undefined;
  /** Without a catalog: of every table. */
  readonly #sharedColumns: ReadonlySet<string>;
  readonly #startTimestamp: Timestamp;
  readonly #bound = new Map<string, Incarnation>();

  constructor(
    {
      catalog,
      sharedColumns,
    }: {
      readonly catalog: TableCatalog | undefined;
      readonly sharedColumns: ReadonlySet<string>;
    },
    startTimestamp: Timestamp,
  ) {
    this.#catalog = catalog;
    this.#sharedColumns = sharedColumns;
    this.#startTimestamp = startTimestamp;
  }

  /**
   * Runs `read` with the storage's name of the table; runs it again if that name was out of date.
   * @throws TABLE_NOT_FOUND, STALE_SNAPSHOT if the table is younger than the snapshot
   */
  read<T>(table: string, read: (stored: string) => Promise<T>): Promise<T> {
    return this.#catalog === undefined ? read(table) : this.#read(this.#catalog, table, read);
  }

  /**
   * Binds the tables of the cells; undefined if this process knows all of them.
   * @throws TABLE_NOT_FOUND, STALE_SNAPSHOT
   */
  bind(cells: readonly { readonly table: string }[]): Promise<unknown> | undefined {
    const catalog = this.#catalog;
    if (catalog === undefined) return undefined;
    const unknown = cells.filter(({ table }) => this.#known(catalog, table) === undefined);
    if (unknown.length === 0) return undefined;
    return Promise.all(unknown.map(({ table }) => this.#bind(catalog, table)));
  }

  /** The rows by the storage's names of their tables, which must be bound. */
  inStore(rows: readonly RowWrites[]): readonly RowWrites[] {
    if (this.#catalog === undefined && this.#sharedColumns.size === 0) return rows;
    return rows.map(({ table, row, writes }) => {
      const stored = this.#storedName(table);
      const shared = this.#sharedOf(table);
      const inStore = (write: Write): Write =>
        shared.has(write.column)
          ? { ...write, table: stored, takesShared: true }
          : { ...write, table: stored };
      return { table: stored, row, writes: writes.map(inStore) };
    });
  }

  /**
   * Whether several transactions may lock the cell at once.
   * @throws TABLE_NOT_FOUND, STALE_SNAPSHOT
   */
  async takesShared(cell: CellAddress): Promise<boolean> {
    await this.bind([cell]);
    return this.#sharedOf(cell.table).has(cell.column);
  }

  #sharedOf(table: string): ReadonlySet<string> {
    return this.#catalog === undefined ? this.#sharedColumns : this.#boundTo(table).sharedColumns;
  }

  /** The cell's address, with the user's name of its table and the storage's. */
  boundCell({ table, row, column }: CellAddress): BoundCell {
    return { table, row, column, stored: this.#storedName(table) };
  }

  /** Whether the column is observed in the bound incarnation; undefined without a catalog. */
  isObserved({ table, column }: CellAddress): boolean | undefined {
    if (this.#catalog === undefined) return undefined;
    return this.#boundTo(table).observedColumns.has(column);
  }

  /**
   * Checks whether the incarnations that the transaction writes still exist; undefined if they
   * certainly do. To be called when all locks are held and the commit timestamp has come with the
   * count of drops (P54).
   * @throws TABLE_NOT_FOUND if one was dropped, STALE_SNAPSHOT if it was also created again
   */
  confirm(cells: readonly { readonly table: string }[]): Promise<void> | undefined {
    const catalog = this.#catalog;
    if (catalog === undefined) return undefined;
    const isCertain = cells.every(({ table }) => this.#isCertain(catalog, table));
    return isCertain ? undefined : this.#confirm(catalog, cells);
  }

  /**
   * The error to report. If the storage does not have the table, the error says whether a newer
   * incarnation exists.
   */
  async explain(error: unknown): Promise<unknown> {
    if (!isTableNotFound(error) || this.#catalog === undefined) return error;
    try {
      await this.#confirm(this.#catalog, [...this.#bound.values()]);
      return error;
    } catch (better) {
      return better;
    }
  }

  async #read<T>(
    catalog: TableCatalog,
    table: string,
    read: (stored: string) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const { stored } = this.#known(catalog, table) ?? (await this.#bind(catalog, table));
      try {
        return await read(stored);
      } catch (error) {
        if (!isTableNotFound(error)) throw error;
        const [present] = await catalog.look([table]);
        // The table exists, so the storage is mistaken, or its error is about another table.
        if (present?.stored === stored) throw error;
        // If this throws, the table stays bound: a commit may be in progress.
        this.#bindTo(table, present);
      }
    }
  }

  /**
   * The incarnation that the table is bound to. If it is not bound yet, binds it to the one that
   * this process knows; undefined if it knows none.
   */
  #known(catalog: TableCatalog, table: string): Incarnation | undefined {
    const bound = this.#bound.get(table);
    if (bound !== undefined) return bound;
    const known = catalog.known(table);
    return known && this.#bindTo(table, known);
  }

  async #bind(catalog: TableCatalog, table: string): Promise<Incarnation> {
    const [present] = await catalog.look([table]);
    // Another read may have been faster.
    return this.#bound.get(table) ?? this.#bindTo(table, present);
  }

  #bindTo(table: string, incarnation: Incarnation | undefined): Incarnation {
    if (incarnation === undefined) throw tableNotFound(table);
    const { createdAt } = incarnation;
    if (createdAt > this.#startTimestamp) {
      throw new PercolatorError(
        'STALE_SNAPSHOT',
        `the snapshot at ${this.#startTimestamp} is older than table ${table}, created at ${createdAt}`,
      );
    }
    this.#bound.set(table, incarnation);
    return incarnation;
  }

  #isCertain(catalog: TableCatalog, table: string): boolean {
    return catalog.isCurrent(table) && catalog.known(table)?.stored === this.#storedName(table);
  }

  async #confirm(
    catalog: TableCatalog,
    cells: readonly { readonly table: string }[],
  ): Promise<void> {
    const tables = [...new Set(cells.map(({ table }) => table))];
    const present = await catalog.look(tables);
    tables.forEach((table, i) => {
      const incarnation = present[i];
      if (incarnation === undefined) throw tableNotFound(table);
      if (incarnation.stored === this.#storedName(table)) return;
      throw new PercolatorError(
        'STALE_SNAPSHOT',
        `table ${table} was dropped, and created again at ${incarnation.createdAt}, ` +
          `and the transaction of ${this.#startTimestamp} used the one before`,
      );
    });
  }

  #storedName(table: string): string {
    return this.#catalog === undefined ? table : this.#boundTo(table).stored;
  }

  #boundTo(table: string): Incarnation {
    const incarnation = this.#bound.get(table);
    assert(incarnation !== undefined, 'a table is bound before it is written');
    return incarnation;
  }
}

export function isTableNotFound(error: unknown): error is PercolatorError {
  return hasCode(error, 'TABLE_NOT_FOUND');
}

function tableNotFound(table: string): PercolatorError {
  return new PercolatorError('TABLE_NOT_FOUND', `there is no Percolator table ${table}`);
}
