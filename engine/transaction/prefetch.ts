/**
 * Prefetching (section 2.5): "reading two or more values in the same row is essentially the same cost as reading
 * one value", so a read takes along what the transaction will probably read next of the row.
 *
 *     get a ──▶ guess b, c ──▶ one read of a, b, c ──▶ a to the caller; b, c kept
 *     get b ──▶ kept: no read
 *     end   ──▶ learn: b followed a
 *
 * What is kept is the transaction's own, read at its own start timestamp in one atomic read together with
 * what was asked for, and validated with it (stale.ts). It is as good as a read made now: a transaction that
 * locks the cell after that read gets its commit timestamp later still, so above our start timestamp.
 *
 * A wrong guess costs bytes and nothing else. So a lock at a guessed column is not resolved, nor waited for:
 * nothing is kept of the column, and if it is asked for after all, it is read then, as if it had not been
 * guessed. The same goes for a value that the read did not bring (a touch that points far back).
 *
 * The transaction's own writes are looked at before anything of this.
 */
import type { Row } from '../bigtable/index.ts';
import type { CellAddress } from './columns.ts';
import type { Context } from './context.ts';
import type { ColumnRead, PrefetchModel } from './prefetch-model.ts';
import {
  committedVersion,
  isElsewhere,
  pendingLocks,
  type RowToRead,
  type Version,
} from './snapshot-read.ts';

/** Columns of a row that are learned from. */
const LEARNED_MAX = 32;

/** What one transaction has read ahead of its row. */
interface RowAhead {
  readonly table: string;
  /** Columns asked for, with those that were answered before; to be learned from in the end. */
  readonly asked: ColumnRead[];
  /** Columns whose answer the transaction has, in their order. */
  readonly answered: string[];
  /** Columns read along and not yet asked for. */
  readonly kept: Map<string, Version | undefined>;
}

export class Prefetch {
  readonly #model: PrefetchModel;
  readonly #counters: Context['counters'];
  readonly #kind: string;
  readonly #rows = new Map<string, RowAhead>();

  constructor(context: Context, model: PrefetchModel, kind: string) {
    this.#model = model;
    this.#counters = context.counters;
    this.#kind = kind;
  }

  /**
   * The cells of one row are asked for, each for the first time. Gives those that are here to `found`, and returns
   * the others.
   */
  ask(
    cells: readonly CellAddress[],
    found: (cell: CellAddress, version: Version | undefined) => void,
  ): readonly CellAddress[] {
    const row = this.#rowOf(cells[0]);
    const earlier = row.answered.slice(0, LEARNED_MAX);
    for (const { column } of cells) {
      if (row.asked.length < LEARNED_MAX) row.asked.push({ column, earlier });
    }
    const kept = cells.filter(({ column }) => row.kept.has(column));
    for (const cell of kept) {
      found(cell, row.kept.get(cell.column));
      row.kept.delete(cell.column);
      row.answered.push(cell.column);
    }
    this.#counters.prefetchedUsed += kept.length;
    if (kept.length === cells.length) this.#counters.readsSaved++;
    return cells.filter((cell) => !kept.includes(cell));
  }

  /** The columns to read along with these of one row. */
  guess({ table, row: key, columns }: RowToRead): readonly string[] {
    const row = this.#rowOf({ table, row: key });
    const guesses = this.#model.guess({ kind: this.#kind, table }, columns);
    return guesses.filter((column) => !row.answered.includes(column) && !row.kept.has(column));
  }

  /** The read is done and was found valid; `read` is what it brought. */
  keep(target: RowToRead, read: Row | undefined): void {
    const row = this.#rowOf(target);
    row.answered.push(...target.columns);
    const alongside = target.alongside ?? [];
    this.#counters.prefetched += alongside.length;
    const locked = new Set(pendingLocks(read).map(({ qualifier }) => qualifier));
    for (const column of alongside) {
      if (locked.has(column) || isElsewhere(read, column)) continue;
      row.kept.set(column, committedVersion(column, read?.cells ?? []));
    }
  }

  /** The transaction has read what it will read. */
  end(): void {
    for (const { table, asked } of this.#rows.values()) {
      this.#model.learn({ kind: this.#kind, table }, asked);
    }
    this.#rows.clear();
  }

  #rowOf(address: { readonly table: string; readonly row: string } | undefined): RowAhead {
    const name = `${address?.table}\0${address?.row}`;
    const existing = this.#rows.get(name);
    if (existing !== undefined) return existing;
    const row = { table: address?.table ?? '', asked: [], answered: [], kept: new Map() };
    this.#rows.set(name, row);
    return row;
  }
}
