/**
 * The tables of an open embedded store, of which there are two lists.
 *
 *     submitted ──▶ pending: what the next mutation is checked against
 *                      └── the group is durable ──▶ current: what readers see
 *                      └── the group has failed ──▶ current again
 *
 * The lists differ for as long as a group is on its way to the disk. A mutation that is submitted
 * after a table was created, and before that is durable, is in the same group or in a later one.
 */
import { PercolatorError } from '../../base/index.ts';
import {
  type Catalog,
  CATALOG_ROW,
  EMPTY_CATALOG,
  familyId,
  findTable,
  type TableEntry,
} from './catalog.ts';
import { columnKey, tablePrefix } from './keys.ts';
import type { Place } from './leaf.ts';
import type { PendingRow } from './pending-row.ts';
import { cellsOf, filterFor } from './row-pages.ts';
import type { RowChange, RowStore } from './row-store.ts';

/** The only cell of the catalog's row. */
const CATALOG_TABLE: TableEntry = { id: 0, name: '', families: [''], splits: [] };
const CATALOG_CELL = { family: '', qualifier: '', timestamp: 0 } as const;

/** A change of the tables that was submitted. */
export interface SubmittedChange {
  /** False if the tables are as wanted already, though perhaps not durable. */
  readonly isChange: boolean;
  /** Why the group will fail. */
  readonly failure: Error | undefined;
  /** Resolves when the change is durable, and readers see it. */
  readonly durable: () => Promise<void>;
}

export class EmbeddedTables {
  readonly #rows: RowStore;
  #current: Catalog;
  #pending: Catalog;

  /** @param salvaged what salvage.ts has found, instead of what is stored */
  constructor(rows: RowStore, salvaged: Catalog | undefined) {
    this.#rows = rows;
    this.#current = salvaged ?? this.#stored();
    this.#pending = this.#current;
    this.#forgetDropped();
  }

  get names(): readonly string[] {
    return this.#current.tables.map(({ name }) => name);
  }

  /** As readers see it. @throws TABLE_NOT_FOUND */
  current(name: string): TableEntry {
    return tableOf(this.#current, name);
  }

  /** As it will be when everything submitted is durable. @throws TABLE_NOT_FOUND */
  pending(name: string): TableEntry {
    return tableOf(this.#pending, name);
  }

  submit(change: (catalog: Catalog) => Catalog): SubmittedChange {
    const changed = change(this.#pending);
    const isChange = changed !== this.#pending;
    let failure: Error | undefined;
    if (isChange) {
      const value = Buffer.from(JSON.stringify(changed));
      failure = this.#rows.change(() => {
        const set = { kind: 'set', ...CATALOG_CELL, value } as const;
        mutateRow(this.#rows, this.#rows.pendingRow(CATALOG_ROW), CATALOG_TABLE, {
          mutations: [set],
        });
      });
      this.#pending = changed;
    }
    const durable = (): Promise<void> =>
      this.#rows.durable(() => {
        this.#current = changed;
        this.#forgetDropped();
      });
    return { isChange, failure, durable };
  }

  /** What is pending will not be applied. */
  failed(): void {
    this.#pending = this.#current;
  }

  #stored(): Catalog {
    const pages = this.#rows.row(CATALOG_ROW);
    const wanted = [filterFor(CATALOG_TABLE, { family: '' })];
    const readLong = (place: Place): Buffer => this.#rows.log.readBody(place);
    const [cell] = pages === undefined ? [] : cellsOf(pages, wanted, readLong);
    if (cell === undefined) return EMPTY_CATALOG;
    return JSON.parse(Buffer.from(cell.value).toString()) as Catalog;
  }

  /** Removes the rows of dropped tables from the index. */
  #forgetDropped(): void {
    const known = new Set(this.#current.tables.map(({ id }) => id));
    for (let id = 1; id < this.#current.nextId; id++) {
      if (!known.has(id)) this.#rows.index.deleteAll(tablePrefix(id));
    }
  }
}

export function mutateRow(
  rows: RowStore,
  row: PendingRow,
  table: TableEntry,
  change: RowChange,
): void {
  rows.mutate(row, table.name, change, ({ family, qualifier }) =>
    columnKey(familyId(table, family), qualifier),
  );
}

function tableOf(catalog: Catalog, name: string): TableEntry {
  const table = findTable(catalog, name);
  if (table !== undefined) return table;
  throw notFound(name);
}

export function notFound(table: string): PercolatorError {
  return new PercolatorError('TABLE_NOT_FOUND', `there is no table ${table}`);
}
