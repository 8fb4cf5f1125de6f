/**
 * What one transaction reads of its snapshot: each cell once, cells of one row in one atomic read,
 * and with prefetching also cells that are not yet asked for (`Prefetch`).
 *
 *     cells ──▶ not read yet ──▶ by row ──▶ a read each        each answer is validated,
 *                                      └──▶ with batching, one  then kept
 *                                           call for rows alike
 *
 * Without batching, every row is a call of its own: the paper's batching is measured against that.
 */
import { assert, PercolatorError } from '../base/index.ts';
import type { Row } from '../bigtable/index.ts';
import { type CellAddress, columnOf } from './columns.ts';
import type { Context } from './context.ts';
import type { ColumnRead, PrefetchModel } from './prefetch-model.ts';
import {
  committedVersion,
  type HeldSnapshot,
  isElsewhere,
  pendingLocks,
  type RowToRead,
  type SeenRow,
  snapshotRead,
  snapshotReadRows,
  validateRead,
  type Version,
} from './snapshot-read.ts';
import { RowMap } from './writes.ts';

export class Reads {
  readonly #context: Context;
  readonly #held: HeldSnapshot;
  /** By row and column. The snapshot does not change, so a cell that is here is not read again. */
  readonly #versions = new RowMap<Map<string, Version | undefined>>();
  /** The cells read ahead; undefined without prefetching. */
  readonly #prefetch: Prefetch | undefined;

  constructor(context: Context, held: HeldSnapshot, kind: string) {
    const { prefetchModel } = context;
    this.#context = context;
    this.#held = held;
    this.#prefetch = prefetchModel && new Prefetch(context, prefetchModel, kind);
  }

  async version({ table, row, column }: CellAddress): Promise<Version | undefined> {
    const kept = this.#versionsOf({ table, row });
    if (!kept.has(column)) await this.#readRows([{ table, row, columns: [column] }]);
    return kept.get(column);
  }

  async versions(cells: readonly CellAddress[]): Promise<readonly (Version | undefined)[]> {
    const unread = cells.filter((cell) => this.#versions.get(cell)?.has(cell.column) !== true);
    // Looked up before the read, because the caller may change its list and its cells meanwhile.
    const kept = cells.map((cell) => [this.#versionsOf(cell), cell.column] as const);
    if (unread.length > 0) await this.#readRows(rowsOf(unread));
    return kept.map(([versions, column]) => versions.get(column));
  }

  /** The transaction will read no more. */
  end(): void {
    this.#prefetch?.end();
  }

  #readRows(rows: readonly RowToRead[]): Promise<unknown> {
    const prefetch = this.#prefetch;
    const targets =
      prefetch === undefined ? rows : rows.flatMap((row) => this.#targetOf(row, prefetch));
    const [first, second] = targets;
    if (first !== undefined && second === undefined) return this.#readRow(first);
    if (this.#context.store.manifest.batches) {
      return Promise.all(groupsOf(targets).map((group) => this.#readGroup(group)));
    }
    return Promise.all(targets.map((target) => this.#readRow(target)));
  }

  /** What to read of a row; nothing if all of it was read ahead. */
  #targetOf(row: RowToRead, prefetch: Prefetch): RowToRead | readonly RowToRead[] {
    const versions = this.#versionsOf(row);
    const columns = prefetch.ask(row, (column, version) => {
      versions.set(column, version);
    });
    if (columns.length === 0) return [];
    const target = { ...row, columns };
    return { ...target, alongside: prefetch.guess(target) };
  }

  async #readRow(target: RowToRead): Promise<void> {
    const seen = await this.#held.tables.read(target.table, (table) =>
      snapshotRead(this.#context, { ...target, table }, this.#held.startTimestamp),
    );
    const validating = validateRead(this.#context, this.#held);
    if (validating !== undefined) await validating;
    this.#keep(target, seen);
  }

  async #readGroup(targets: readonly RowToRead[]): Promise<void> {
    const [first] = targets;
    assert(first !== undefined, 'a group has a row');
    const seen = await this.#held.tables.read(first.table, (table) => {
      const stored = targets.map((target) => ({ ...target, table }));
      return snapshotReadRows(this.#context, stored, this.#held.startTimestamp);
    });
    await validateRead(this.#context, this.#held);
    targets.forEach((target, i) => {
      const one = seen[i];
      assert(one !== undefined, 'every row has an answer');
      this.#keep(target, one);
    });
  }

  /** Keeps validated answers only. */
  #keep(target: RowToRead, { versions, row }: SeenRow): void {
    const kept = this.#versionsOf(target);
    target.columns.forEach((column, i) => kept.set(column, versions[i]));
    this.#prefetch?.keep(target, row);
  }

  #versionsOf(row: Pick<RowToRead, 'table' | 'row'>): Map<string, Version | undefined> {
    return this.#versions.getOrMake(row, () => new Map());
  }
}

/** The rows of these cells, in order of first mention, each with its columns. */
function rowsOf(cells: readonly CellAddress[]): readonly RowToRead[] {
  const rows: (Omit<RowToRead, 'columns'> & { readonly columns: Set<string> })[] = [];
  const columnsOf = new RowMap<Set<string>>();
  for (const cell of cells) {
    const columns = columnsOf.getOrMake(cell, () => {
      const made = new Set<string>();
      rows.push({ table: cell.table, row: cell.row, columns: made });
      return made;
    });
    columns.add(cell.column);
  }
  return rows.map(({ table, row, columns }) => ({ table, row, columns: [...columns] }));
}

/** Groups of rows that one call can read: of one table, and with the same columns. */
function groupsOf(targets: readonly RowToRead[]): readonly (readonly RowToRead[])[] {
  const groups: [RowToRead, ...RowToRead[]][] = [];
  for (const target of targets) {
    // There are as many groups as calls: few.
    const group = groups.find(([first]) => areAlike(first, target));
    if (group === undefined) groups.push([target]);
    else group.push(target);
  }
  return groups;
}

function areAlike(a: RowToRead, b: RowToRead): boolean {
  return (
    a.table === b.table &&
    areEqual(a.columns, b.columns) &&
    areEqual(a.alongside ?? [], b.alongside ?? [])
  );
}

function areEqual(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((column, i) => column === b[i]);
}

/*
 * Prefetching (section 2.5): "reading two or more values in the same row is essentially the same
 * cost as reading one value", so a read also fetches what the transaction will probably read next
 * in the row.
 *
 *     get a ──▶ guess b, c ──▶ one read of a, b, c ──▶ a to the caller; b, c kept
 *     get b ──▶ kept: no read
 *     end   ──▶ learn: b followed a
 *
 * The kept values belong to the transaction alone. They were read at its own start timestamp, in
 * one atomic read together with what was asked for, and validated with it. They are as
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

class Prefetch {
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
