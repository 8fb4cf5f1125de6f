/**
 * What one transaction reads of its snapshot: each cell once, cells of a row in one atomic read, and ahead of what is
 * asked for (prefetch.ts).
 *
 *     cells ──▶ not read yet ──▶ by row ──▶ a read each          each answer is validated (stale.ts),
 *                                      └──▶ with batching, one    then kept
 *                                           call for rows alike
 *
 * Every row is a call of its own where nobody batches: that is what the paper's batching is measured against.
 */
import { assert } from '../base/index.ts';
import { type CellAddress, cellName } from './columns.ts';
import type { Context } from './context.ts';
import { Prefetch } from './prefetch.ts';
import {
  type RowToRead,
  type SeenRow,
  snapshotRead,
  snapshotReadRows,
  type Version,
} from './snapshot-read.ts';
import { type HeldSnapshot, validateRead } from './stale.ts';

export class Reads {
  readonly #context: Context;
  readonly #held: HeldSnapshot;
  /** The snapshot does not change, so no cell is read twice. */
  readonly #versions = new Map<string, Version | undefined>();
  /** What was read ahead; undefined without prefetching. */
  readonly #prefetch: Prefetch | undefined;

  constructor(context: Context, held: HeldSnapshot, kind: string) {
    const { prefetchModel } = context;
    this.#context = context;
    this.#held = held;
    this.#prefetch = prefetchModel && new Prefetch(context, prefetchModel, kind);
  }

  async version(cell: CellAddress): Promise<Version | undefined> {
    const name = cellName(cell);
    if (!this.#versions.has(name)) await this.#readRows([[cell]]);
    return this.#versions.get(name);
  }

  async versions(cells: readonly CellAddress[]): Promise<readonly (Version | undefined)[]> {
    const names = cells.map(cellName);
    const unread = cells.filter((_, i) => !this.#versions.has(names[i] as string));
    if (unread.length > 0) {
      const rows = Map.groupBy(unread, ({ table, row }) => `${table}\0${row}`);
      await this.#readRows([...rows.values()]);
    }
    return names.map((name) => this.#versions.get(name));
  }

  /** The transaction has read what it will read. */
  end(): void {
    this.#prefetch?.end();
  }

  /** Cells not read yet, by row. */
  async #readRows(rows: readonly (readonly CellAddress[])[]): Promise<void> {
    const targets = rows.flatMap((cells) => this.#targetOf(cells));
    if (this.#context.store.manifest.batches) {
      const groups = Map.groupBy(targets, shapeOf);
      await Promise.all([...groups.values()].map((group) => this.#readGroup(group)));
    } else {
      await Promise.all(targets.map((target) => this.#readRow(target)));
    }
  }

  /** What to read for cells of one row; nothing if all of them were read ahead. */
  #targetOf(cells: readonly CellAddress[]): readonly RowToRead[] {
    const prefetch = this.#prefetch;
    if (prefetch === undefined) return [rowOf(cells)];
    const unread = prefetch.ask(cells, (cell, version) => {
      this.#versions.set(cellName(cell), version);
    });
    if (unread.length === 0) return [];
    const target = rowOf(unread);
    return [{ ...target, alongside: prefetch.guess(target) }];
  }

  async #readRow(target: RowToRead): Promise<void> {
    const seen = await snapshotRead(this.#context, target, this.#held.startTimestamp);
    await validateRead(this.#context, this.#held);
    this.#keep(target, seen);
  }

  async #readGroup(targets: readonly RowToRead[]): Promise<void> {
    const seen = await snapshotReadRows(this.#context, targets, this.#held.startTimestamp);
    await validateRead(this.#context, this.#held);
    targets.forEach((target, i) => {
      const one = seen[i];
      assert(one !== undefined, 'every row has an answer');
      this.#keep(target, one);
    });
  }

  /** Only what was validated is kept. */
  #keep(target: RowToRead, { versions, row }: SeenRow): void {
    const { table, row: key, columns } = target;
    columns.forEach((column, i) => {
      this.#versions.set(cellName({ table, row: key, column }), versions[i]);
    });
    this.#prefetch?.keep(target, row);
  }
}

/** The row of these cells, and their columns. */
function rowOf(cells: readonly CellAddress[]): RowToRead {
  const [first] = cells;
  assert(first !== undefined, 'a row is read for a cell');
  return { table: first.table, row: first.row, columns: cells.map(({ column }) => column) };
}

/** Equal for rows that one call can read. */
function shapeOf({ table, columns, alongside = [] }: RowToRead): string {
  return [table, ...columns, '', ...alongside].join('\0');
}
