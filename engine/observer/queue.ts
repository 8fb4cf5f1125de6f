/**
 * The dirty cells that were found and whose runs have not begun, by column; and which of them runs
 * next (P82, one column takes all).
 *
 *     t:seen   ▪▪▪▪▪▪▪▪▪ ─┐
 *     t:next   ▪▪        ─┼─▶ the column with the fewest runs, if fewer than `concurrency` run
 *     u:seen   ▪         ─┘   in all, or if it has none
 *
 * So columns that have work share the places, and one that has work alone has all of them. When an
 * observer hangs in all places, each other column still has one, beyond `concurrency`. A place kept
 * free for it would be idle as long as nothing hangs.
 *
 * The room is shared, too: a column whose cells do not get to run must not fill the queue.
 */
import type { Notified } from './run-observer.ts';
import { columnKey } from './worker-options.ts';

/** Cells waiting in the queue beyond which new ones are left to the scanner. */
const ROOM = 100_000;

export interface WaitingCell {
  readonly name: string;
  /** Becomes the one with the newest notification. */
  cell: Notified;
}

interface QueuedColumn {
  readonly waiting: ColumnQueue<WaitingCell>;
  /** Begun and not ended. */
  running: number;
  /** The number of the run of all columns that it began last. Only grows. */
  turn: number;
}

export class Queue {
  readonly #columns: ReadonlyMap<string, QueuedColumn>;
  readonly #concurrency: number;
  readonly #room: number;
  readonly #names = new Map<string, WaitingCell>();
  #running = 0;
  #turns = 0;

  constructor(
    columns: readonly string[],
    { concurrency, room = ROOM }: { readonly concurrency: number; readonly room?: number },
  ) {
    this.#columns = new Map(
      columns.map((key) => [key, { waiting: new ColumnQueue<WaitingCell>(), running: 0, turn: 0 }]),
    );
    this.#concurrency = concurrency;
    this.#room = Math.ceil(room / columns.length);
  }

  get size(): number {
    return this.#names.size;
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** The keys of the columns of which more than `cells` cells wait. */
  crowded(cells: number): readonly string[] {
    return [...this.#columns]
      .filter(([, { waiting }]) => waiting.length > cells)
      .map(([key]) => key);
  }

  /** False, and nothing has changed, if the cell's column has no more room. */
  add(waiting: WaitingCell): boolean {
    const column = this.#columnOf(waiting.cell);
    if (column === undefined || column.waiting.length >= this.#room) return false;
    column.waiting.push(waiting);
    this.#names.set(waiting.name, waiting);
    return true;
  }

  /**
   * Whether the cell waits; then its newest notification counts: a run sees all that came before.
   */
  renew(name: string, cell: Notified): boolean {
    const waiting = this.#names.get(name);
    if (waiting !== undefined && cell.timestamp > waiting.cell.timestamp) waiting.cell = cell;
    return waiting !== undefined;
  }

  /** Takes the next cell, whose run begins; undefined if none waits, or none has a place. */
  begin(): WaitingCell | undefined {
    const next = this.#nextColumn();
    const begun = next?.waiting.shift();
    if (next === undefined || begun === undefined) return undefined;
    this.#names.delete(begun.name);
    next.running++;
    next.turn = ++this.#turns;
    this.#running++;
    return begun;
  }

  /** A run that had begun for the cell has ended. */
  ended(cell: Notified): void {
    const column = this.#columnOf(cell);
    if (column === undefined) return;
    column.running--;
    this.#running--;
  }

  /** Nothing that waits will run. */
  clear(): void {
    for (const { waiting } of this.#columns.values()) waiting.clear();
    this.#names.clear();
  }

  #columnOf({ table, column }: Notified): QueuedColumn | undefined {
    return this.#columns.get(columnKey(table, column));
  }

  #nextColumn(): QueuedColumn | undefined {
    let next: QueuedColumn | undefined;
    for (const column of this.#columns.values()) {
      if (column.waiting.length > 0 && (next === undefined || isBefore(column, next))) {
        next = column;
      }
    }
    const hasPlace = this.#running < this.#concurrency || next?.running === 0;
    return hasPlace ? next : undefined;
  }
}

/** Fewer runs first; of equal ones the one whose last run began earlier. */
function isBefore(one: QueuedColumn, other: QueuedColumn): boolean {
  if (one.running !== other.running) return one.running < other.running;
  return one.turn < other.turn;
}

/**
 * First in, first out. Neither a Map nor an array is emptied from the front in one step for each
 * entry: the former steps over the entries that are gone, the latter moves those that stay.
 */
class ColumnQueue<T> {
  #items: T[] = [];
  #first = 0;

  get length(): number {
    return this.#items.length - this.#first;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#first++];
    // At least as many have gone as are moved: on average, each is moved at most once.
    if (2 * this.#first >= this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }

  clear(): void {
    this.#items = [];
    this.#first = 0;
  }
}
