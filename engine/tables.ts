/**
 * The definitions of Percolator tables, kept in the storage: so that every process notifies observers
 * of the same columns. A loader that did not know a column is observed would lose its changes.
 */
import { rowBatches } from './audit/index.ts';
import { PercolatorError } from './base/index.ts';
import type { Bigtable, Cell } from './bigtable/index.ts';
import { NOTIFY_FAMILIES, notifyTable, TABLE_FAMILIES } from './transaction/index.ts';

export interface TableDefinition {
  /** Columns whose changes leave a notification for observers. Default none. */
  readonly observedColumns?: readonly string[] | undefined;
  /** Rows at which tablets begin, for storage that has tablets, and for scanners to spread over. */
  readonly splits?: readonly string[] | undefined;
}

export const TABLES_TABLE = 'percolator-tables';
const DEFINITION = { family: 'table', qualifier: 'definition' } as const;
/** Definitions are written outside of any transaction, once. */
const TIMESTAMP = 1;

export class Tables {
  readonly #store: Bigtable;
  readonly #observed = new Map<string, ReadonlySet<string>>();

  constructor(store: Bigtable) {
    this.#store = store;
  }

  async open(): Promise<void> {
    await this.#store.createTable(TABLES_TABLE, { families: [DEFINITION.family] });
  }

  /**
   * Creates the table and its companion for notifications; harmless if it exists like that.
   * @throws TABLE_MISMATCH if it exists otherwise
   */
  async create(table: string, definition: TableDefinition): Promise<void> {
    const observedColumns = [...new Set(definition.observedColumns)].toSorted();
    const { splits } = definition;
    // Families without any age or number of versions at which the storage deletes by itself. It would count
    // data of transactions that never committed, compare our timestamps with the time of day, and know of
    // no snapshot (P32); a lock that vanished would be taken for a transaction rolled back (P34).
    await this.#store.createTable(table, { families: TABLE_FAMILIES, splits });
    await this.#store.createTable(notifyTable(table), { families: NOTIFY_FAMILIES, splits });
    await this.#store.checkAndMutateRow({
      table: TABLES_TABLE,
      row: table,
      anyOf: [DEFINITION],
      ifNotFound: [
        {
          kind: 'set',
          ...DEFINITION,
          timestamp: TIMESTAMP,
          value: Buffer.from(JSON.stringify({ observedColumns })),
        },
      ],
    });
    const observed = [...(await this.#load(table))].toSorted();
    if (observed.join('\0') === observedColumns.join('\0')) return;
    throw new PercolatorError(
      'TABLE_MISMATCH',
      `table ${table} exists with observed columns [${observed.join(', ')}], not [${observedColumns.join(', ')}]`,
    );
  }

  async isObserved(table: string, column: string): Promise<boolean> {
    const known = this.#observed.get(table) ?? (await this.#load(table));
    return known.has(column);
  }

  /** Drops the table with its data, notifications and definition. */
  async drop(table: string): Promise<void> {
    await this.#store.mutateRows([
      {
        table: TABLES_TABLE,
        row: table,
        mutations: [{ kind: 'erase', ...DEFINITION, from: TIMESTAMP, to: TIMESTAMP }],
      },
    ]);
    this.#observed.delete(table);
    await this.#store.dropTable(notifyTable(table));
    await this.#store.dropTable(table);
  }

  async #load(table: string): Promise<ReadonlySet<string>> {
    const row = await this.#store.readRow(TABLES_TABLE, table, [DEFINITION]);
    const cell = row?.cells[0];
    if (cell === undefined) {
      throw new PercolatorError('TABLE_NOT_FOUND', `there is no Percolator table ${table}`);
    }
    const observed = new Set(decode(cell));
    this.#observed.set(table, observed);
    return observed;
  }
}

/** The observed columns of each table that is defined; undefined where the definition is not legible. */
export async function readDefinitions(
  store: Bigtable,
): Promise<ReadonlyMap<string, readonly string[] | undefined>> {
  const definitions = new Map<string, readonly string[] | undefined>();
  for await (const { rows } of rowBatches(store, TABLES_TABLE, {}, [DEFINITION])) {
    for (const { key, cells } of rows) definitions.set(key, decodeIfLegible(cells[0]));
  }
  return definitions;
}

function decodeIfLegible(cell: Cell | undefined): readonly string[] | undefined {
  try {
    const columns: unknown = cell && decode(cell);
    if (!Array.isArray(columns)) return undefined;
    return columns.every((column) => typeof column === 'string') ? columns : undefined;
  } catch {
    return undefined;
  }
}

function decode({ value }: Cell): readonly string[] {
  const { observedColumns } = JSON.parse(Buffer.from(value).toString()) as {
    readonly observedColumns: readonly string[];
  };
  return observedColumns;
}
