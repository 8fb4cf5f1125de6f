/**
 * Prefetching (section 2.5): "reading two or more values in the same row is essentially the same
 * cost as reading one value", so a read also fetches what the transaction will probably read next
 * in the row.
 *
 *     get a ──▶ guess b, c ──▶ one read of a, b, c ──▶ a to the caller; b, c kept
 *     get b ──▶ kept: no read
 *     end   ──▶ learn: b followed a
 *
 * The kept values belong to the transaction alone. They were read at its own start timestamp, in
 * one atomic read together with what was asked for, and validated with it (stale.ts). They are as
 * good as a read made now: a transaction that locks the cell after that read receives its commit
 * timestamp later still, so above our start timestamp.
 *
 * A wrong guess costs bytes and nothing else. So a lock at a guessed column is neither resolved nor
 * waited for: the column is not kept, and if it is asked for after all, it is read then, as if it
 * had not been guessed. The same goes for a value that the read did not bring, because it has been
 * collected, and for one whose write record is damaged.
 *
 * The transaction's own writes are consulted before any of this.
 */
import { PercolatorError } from '../../base/index.ts';
import type { Row } from '../../bigtable/index.ts';
import { columnOf } from '../columns.ts';
import type { Context } from '../context.ts';
import type { ColumnRead, PrefetchModel } from './prefetch-model.ts';
import { RowMap } from '../row-map.ts';
import {
  committedVersion,
  isElsewhere,
  pendingLocks,
  type RowToRead,
  type Version,
} from '../snapshot-read.ts';

/** Columns per row that the model learns from. */
const LEARNED_MAX = 32;

/** What one transaction has read ahead of one row. */
interface RowAhead {
  readonly table: string;
  /** Columns asked for, each once, with those answered before it; learned from at the end. */
  readonly asked: ColumnRead[];
  /** Columns whose answers the transaction has. */
  readonly answered: Set<string>;
  /** The first of them, in the order of the answers. */
  readonly first: string[];
  /** Columns read ahead and not yet asked for. */
  readonly kept: Map<string, Version | undefined>;
}

export class Prefetch {
  readonly #model: PrefetchModel;
  readonly #counters: Context['counters'];
  readonly #kind: string;
  readonly #rows = new RowMap<RowAhead>();

  constructor(context: Context, model: PrefetchModel, kind: string) {
    this.#model = model;
    this.#counters = context.counters;
    this.#kind = kind;
  }

  /**
   * Asks for columns of a row that the transaction does not have yet. Passes those that were read
   * ahead to `found` and returns the others. A column may be asked for again while its first read
   * is in flight; that teaches nothing new.
   */
  ask(
    target: RowToRead,
    found: (column: string, version: Version | undefined) => void,
  ): readonly string[] {
    const { columns } = target;
    const row = this.#rowOf(target);
    const earlier = [...row.first];
    for (const column of columns) {
      if (row.asked.length >= LEARNED_MAX) break;
      const isAsked = row.asked.some((one) => one.column === column);
      if (!isAsked) row.asked.push({ column, earlier });
    }
    const others = columns.filter((column) => !row.kept.has(column));
    for (const column of columns) {
      if (!row.kept.has(column)) continue;
      found(column, row.kept.get(column));
      row.kept.delete(column);
      addAnswered(row, column);
      this.#counters.prefetchedUsed++;
    }
    if (others.length === 0) this.#counters.readsSaved++;
    return others;
  }

  /** The columns to read ahead together with the asked ones of one row. */
  guess(target: RowToRead): readonly string[] {
    const { table, columns } = target;
    const row = this.#rowOf(target);
    const guesses = this.#model.guess({ kind: this.#kind, table }, columns);
    return guesses.filter((column) => !row.answered.has(column) && !row.kept.has(column));
  }

  /** Keeps what a read brought, `read`, after it was found valid. */
  keep(target: RowToRead, read: Row | undefined): void {
    const row = this.#rowOf(target);
    for (const column of target.columns) addAnswered(row, column);
    const alongside = target.alongside ?? [];
    this.#counters.prefetched += alongside.length;
    const locked = new Set(pendingLocks(read).map(columnOf));
    for (const column of alongside) {
      try {
        if (locked.has(column) || isElsewhere(read, column)) continue;
        row.kept.set(column, committedVersion(column, read?.cells ?? []));
      } catch (error) {
        if (!(error instanceof PercolatorError)) throw error; // Otherwise its record is damaged.
      }
    }
  }

  /** The transaction will read no more. */
  end(): void {
    for (const { table, asked } of this.#rows.values()) {
      this.#model.learn({ kind: this.#kind, table }, asked);
    }
    this.#rows.clear();
  }

  #rowOf(target: RowToRead): RowAhead {
    const { table } = target;
    return this.#rows.getOrMake(target, () => ({
      table,
      asked: [],
      answered: new Set(),
      first: [],
      kept: new Map(),
    }));
  }
}

function addAnswered({ answered, first }: RowAhead, column: string): void {
  if (first.length < LEARNED_MAX && !answered.has(column)) first.push(column);
  answered.add(column);
}
