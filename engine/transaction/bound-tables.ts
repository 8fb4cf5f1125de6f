/**
 * The tables of one transaction: of each the incarnation that it was bound to when it first used the table.
 *
 *     first use ──▶ known here? ──▶ created before the snapshot? ──▶ bound: every read and write goes there
 *                                   └ after: STALE_SNAPSHOT
 *     read ──▶ the storage has no such table ──▶ look ──▶ gone: TABLE_NOT_FOUND
 *                                                     └─▶ another one: bound to that, if the snapshot is not older
 *     commit, with all locks held ──▶ look ──▶ still the ones that were locked, or it fails (P54)
 *
 * What is known here may be out of date, and need not be right: reads of an incarnation that is gone fail, and a commit
 * looks. Can one transaction read two incarnations of a table? No: the second one's `createdAt` was handed out after the first
 * was gone from the storage. A snapshot that is not older began later still, and all of its reads of the first fail.
 */
import { assert, PercolatorError } from '../base/index.ts';
import type { Timestamp } from '../bigtable/index.ts';
import type { Incarnation, TableCatalog } from './catalog.ts';
import type { CellAddress } from './columns.ts';
import type { RowWrites } from './writes.ts';

/** A cell by the user's name of its table, with the storage's. */
export interface BoundCell extends CellAddress {
  readonly stored: string;
}

export class BoundTables {
  readonly #catalog: TableCatalog | undefined;
  readonly #startTimestamp: Timestamp;
  readonly #bound = new Map<string, Incarnation>();

  constructor(
    { catalog }: { readonly catalog: TableCatalog | undefined },
    startTimestamp: Timestamp,
  ) {
    this.#catalog = catalog;
    this.#startTimestamp = startTimestamp;
  }

  /**
   * Runs `read` with what the storage calls the table; again, if it was out of date.
   * @throws TABLE_NOT_FOUND, STALE_SNAPSHOT if the table is younger than the snapshot
   */
  read<T>(table: string, read: (stored: string) => Promise<T>): Promise<T> {
    return this.#catalog === undefined ? read(table) : this.#read(this.#catalog, table, read);
  }

  /**
   * Binds the tables of the cells.
   * @throws TABLE_NOT_FOUND, STALE_SNAPSHOT
   */
  async bind(cells: readonly { readonly table: string }[]): Promise<void> {
    if (this.#catalog === undefined) return;
    for (const { table } of cells) {
      if (!this.#bound.has(table)) await this.#bind(this.#catalog, table);
    }
  }

  /** Rows as the storage knows them; their tables must be bound. */
  inStore(rows: readonly RowWrites[]): readonly RowWrites[] {
    if (this.#catalog === undefined) return rows;
    return rows.map(({ table, row, writes }) => {
      const stored = this.#storedName(table);
      return { table: stored, row, writes: writes.map((write) => ({ ...write, table: stored })) };
    });
  }

  /** The same for a cell, which keeps its user's name beside the storage's. */
  boundCell<T extends CellAddress>(cell: T): T & BoundCell {
    return { ...cell, stored: this.#storedName(cell.table) };
  }

  /** Whether the column is observed in the incarnation that is bound; undefined without a catalog. */
  isObserved({ table, column }: CellAddress): boolean | undefined {
    if (this.#catalog === undefined) return undefined;
    return this.#boundTo(table).observedColumns.has(column);
  }

  /**
   * Looks whether the incarnations that the transaction writes are still there; undefined without a catalog.
   * To be called when all locks are held (P54).
   * @throws TABLE_NOT_FOUND if one was dropped, STALE_SNAPSHOT if it was also created again
   */
  confirm(cells: readonly { readonly table: string }[]): Promise<void> | undefined {
    return this.#catalog === undefined ? undefined : this.#confirm(this.#catalog, cells);
  }

  /** What to tell of a failure: if the storage has no such table, whether there is another one by now. */
  async explain(error: unknown): Promise<unknown> {
    if (!isTableNotFound(error)) return error;
    try {
      await this.confirm([...this.#bound.values()]);
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
      const { stored } = this.#bound.get(table) ?? (await this.#bind(catalog, table));
      try {
        return await read(stored);
      } catch (error) {
        if (!isTableNotFound(error)) throw error;
        const [present] = await catalog.look([table]);
        if (present?.stored === stored) throw error; // It should be there; or it is about another table.
        this.#bound.delete(table);
        this.#bindTo(table, present);
      }
    }
  }

  async #bind(catalog: TableCatalog, table: string): Promise<Incarnation> {
    const known = catalog.known(table) ?? (await catalog.look([table]))[0];
    return this.#bound.get(table) ?? this.#bindTo(table, known); // Another read may have been faster.
  }

  #bindTo(table: string, incarnation: Incarnation | undefined): Incarnation {
    if (incarnation === undefined) throw tableNotFound(table);
    const { createdAt } = incarnation;
    if (createdAt > this.#startTimestamp) {
      throw new PercolatorError(
        'STALE_SNAPSHOT',
        `the snapshot at ${this.#startTimestamp} is older than table ${table}, which was created at ${createdAt}`,
      );
    }
    this.#bound.set(table, incarnation);
    return incarnation;
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
          `since the transaction of ${this.#startTimestamp} used it`,
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
  return error instanceof PercolatorError && error.code === 'TABLE_NOT_FOUND';
}

function tableNotFound(table: string): PercolatorError {
  return new PercolatorError('TABLE_NOT_FOUND', `there is no Percolator table ${table}`);
}
