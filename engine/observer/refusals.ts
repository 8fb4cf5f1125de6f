/**
 * The cells whose runs the storage refuses, and the trouble of each column that has some (P56).
 *
 *     first refused cell of a column ─▶ the trouble begins ─▶ last one is over ─▶ the trouble ends
 *
 * A refusal is STORE_REFUSED, STORE_FULL, STORE_DAMAGED, or what the storage says of a table that
 * no run can use. It may concern one cell only: its observer uses a table that no other run uses.
 * So the trouble lasts as long as one cell is refused, however many others run meanwhile.
 */
import type { Troubles } from '../base/index.ts';
import type { DirtyCell } from './observer.ts';
import { columnKey } from './worker-options.ts';

export class Refusals {
  readonly #troubles: Troubles;
  /** Names of refused cells, by the trouble of their column. No set is empty. */
  readonly #refused = new Map<string, Set<string>>();
  #count = 0;

  constructor(troubles: Troubles) {
    this.#troubles = troubles;
  }

  /** How many runs were refused. Only grows. */
  get count(): number {
    return this.#count;
  }

  /** The names of the refused cells. */
  get names(): readonly string[] {
    return [...this.#refused.values()].flatMap((names) => Array.from(names));
  }

  begin(name: string, { table, column }: DirtyCell, error: unknown): void {
    this.#count++;
    const trouble = `refused runs of ${columnKey(table, column)}`;
    const names = this.#refused.get(trouble) ?? new Set<string>();
    this.#refused.set(trouble, names.add(name));
    const sentence = `the observer runs of column ${column} of table ${table} are refused; they are tried again`;
    this.#troubles.begin(trouble, { kind: 'table', sentence, table, column, error });
  }

  /** Harmless if the cell is not refused. */
  end(name: string): void {
    for (const [trouble, names] of this.#refused) {
      if (!names.delete(name) || names.size > 0) continue;
      this.#refused.delete(trouble);
      this.#troubles.end(trouble);
    }
  }
}
