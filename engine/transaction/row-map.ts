/**
 * Values by row: first by table, then by row key. Making one string of both for each lookup, and
 * hashing it, would cost more than two lookups.
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

  /** The row's value; made by `make` if there is none yet. */
  getOrMake({ table, row }: RowAddress, make: () => V): V {
    let rows = this.#tables.get(table);
    if (rows === undefined) this.#tables.set(table, (rows = new Map()));
    let value = rows.get(row);
    if (value === undefined) rows.set(row, (value = make()));
    return value;
  }

  /** All values: table by table, within a table in order of creation. */
  *values(): Generator<V> {
    for (const rows of this.#tables.values()) yield* rows.values();
  }

  clear(): void {
    this.#tables.clear();
  }
}
