/**
 * What one transaction reads of its snapshot: each cell once, cells of one row in one atomic read,
 * and with prefetching also cells that are not yet asked for (prefetch.ts).
 *
 *     cells ──▶ not read yet ──▶ by row ──▶ a read each        each answer is validated (stale.ts),
 *                                      └──▶ with batching, one  then kept
 *                                           call for rows alike
 *
 * Without batching, every row is a call of its own: the paper's batching is measured against that.
 */
import { assert } from '../base/index.ts';
import type { CellAddress } from './columns.ts';
import type { Context } from './context.ts';
import { Prefetch } from './prefetch/prefetch.ts';
import { RowMap } from './row-map.ts';
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
