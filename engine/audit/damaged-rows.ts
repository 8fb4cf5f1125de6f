/**
 * Reads around damaged rows: the storage of an audit, which goes on after the first damage.
 *
 *     readRange ─▶ STORE_DAMAGED, names a row ─▶ a finding
 *                                             └▶ the rows before it, and on from the key after it
 *     readRow   ─▶ STORE_DAMAGED ─▶ a finding, and the error: no reader may take the row for absent
 *
 * A range therefore has no damaged row in it, and who compares two ranges must ask `has`. Each row
 * is told once, so the keys of damaged rows stay in memory. A storage that does not say which row
 * is damaged cannot be read around: its error passes through.
 */
import { hasCode } from '../base/index.ts';
import { type Bigtable, decorate, keyAfter, type Row } from '../bigtable/index.ts';
import type { Finding } from './finding.ts';

export class DamagedRows {
  /** Reads around damaged rows. */
  readonly store: Bigtable;
  /** By table. */
  readonly #rows = new Map<string, Set<string>>();
  #untold: Finding[] = [];

  constructor(store: Bigtable) {
    this.store = decorate(store, {
      readRow: (...given) => this.#noting(() => store.readRow(...given)),
      readRows: (...given) => this.#noting(() => store.readRows(...given)),
      readRange: (...given) => this.#readAround(store, ...given),
    });
  }

  has(table: string, row: string): boolean {
    return this.#rows.get(table)?.has(row) === true;
  }

  /** The damaged rows of the table that were met so far. */
  of(table: string): ReadonlySet<string> {
    return this.#rows.get(table) ?? new Set();
  }

  /** The findings since the last call. */
  take(): readonly Finding[] {
    const untold = this.#untold;
    this.#untold = [];
    return untold;
  }

  async #noting<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      this.#note(error);
      throw error;
    }
  }

  async #readAround(
    store: Bigtable,
    ...[table, range, filters]: Parameters<Bigtable['readRange']>
  ): Promise<readonly Row[]> {
    const rows: Row[] = [];
    for (let { start } = range; rows.length < range.limit;) {
      const rest = { ...range, start, limit: range.limit - rows.length };
      try {
        return [...rows, ...(await store.readRange(table, rest, filters))];
      } catch (error) {
        const damaged = this.#note(error);
        if (damaged === undefined) throw error;
        const before = { ...rest, end: damaged };
        rows.push(...(await this.#readAround(store, table, before, filters)));
        start = keyAfter(damaged);
      }
    }
    return rows;
  }

  /** The row that the error names. */
  #note(error: unknown): string | undefined {
    if (!hasCode(error, 'STORE_DAMAGED') || error.damagedRow === undefined) return undefined;
    const { table, row, why } = error.damagedRow;
    const known = this.#rows.get(table) ?? new Set();
    this.#rows.set(table, known);
    if (!known.has(row)) this.#untold.push(rowDamaged(table, row, why));
    known.add(row);
    return row;
  }
}

function rowDamaged(table: string, row: string, sentence: string): Finding {
  return { code: 'row-damaged', severity: 'error', cell: { table, row }, timestamps: [], sentence };
}
