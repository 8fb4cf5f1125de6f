/**
 * The tables of a database, as one process creates, drops and finds them.
 *
 * Definitions are kept in the storage (definition.ts), so that all processes agree on which columns
 * are observed: a loader that did not know them would write without notifications, and no observer
 * would run.
 */
import { PercolatorError } from '../base/index.ts';
import type { Bigtable } from '../bigtable/index.ts';
import type { Context, Incarnation } from '../transaction/index.ts';
import type { Administration } from './administration.ts';
import type { StoredCatalog } from './catalog.ts';
import { createTable, type TableDefinition } from './create.ts';
import { dropTable, storedTables, tablesWithLocks } from './drop.ts';
import { Waiting } from './waiting.ts';

export class Tables {
  readonly #administration: Administration;

  /** @param store the storage itself, without batching */
  constructor(context: Context, store: Bigtable, catalog: StoredCatalog) {
    let creators = 0;
    const nextCreator = (): string => `${context.liveness.self}#${context.nonce}.${++creators}`;
    const waiting = new Waiting(context);
    this.#administration = { context, store, catalog, waiting, nextCreator };
  }

  create(table: string, definition: TableDefinition): Promise<void> {
    return createTable(this.#administration, table, definition);
  }

  drop(table: string): Promise<void> {
    return dropTable(this.#administration, table);
  }

  /**
   * The storage's names of the tables whose definitions say that they are in use or being dropped,
   * without companions; with `locks`, also of tables that have lost their definition, because they
   * may contain locks.
   */
  list(needs?: 'locks'): Promise<readonly string[]> {
    const { store } = this.#administration;
    return needs === 'locks' ? tablesWithLocks(store) : storedTables(store);
  }
}

/**
 * The newest incarnation that this process knows, which may be out of date; if it knows none, the
 * one that it reads now.
 * @throws TABLE_NOT_FOUND if there is none, it is being created or dropped, or its definition is
 *   damaged
 */
export async function findIncarnation(catalog: StoredCatalog, table: string): Promise<Incarnation> {
  const incarnation = catalog.known(table) ?? (await catalog.look([table]))[0];
  if (incarnation !== undefined) return incarnation;
  throw new PercolatorError('TABLE_NOT_FOUND', `there is no Percolator table ${table}`);
}
