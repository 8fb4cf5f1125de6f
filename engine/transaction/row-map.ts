/**
 * Values by row: by its table, and there by its key. To make one string of both, and the hash of it, for each look
 * would cost more than the two looks.
 */
interface RowAddress {
  readonly table: string;
  readonly row: string;
}

export class RowMap<V> {
  readonly #tables = new Map<string, Map<string, V>>();

  get({ table, row }: RowAddress): V | undefined {
    return this.#tables.get(table)?.get(row);
  }

  /** What the row has; what `make` makes, if it has nothing yet. */
  getOrMake({ table, row }: RowAddress, make: () => V): V {
    let rows = this.#tables.get(table);
    if (rows === undefined) this.#tables.set(table, (rows = new Map()));
    let value = rows.get(row);
    if (value === undefined) rows.set(row, (value = make()));
    return value;
  }

  /** Those of one table in the order of their making. */
  *values(): Generator<V> {
    for (const rows of this.#tables.values()) yield* rows.values();
  }

  clear(): void {
    this.#tables.clear();
  }
}
