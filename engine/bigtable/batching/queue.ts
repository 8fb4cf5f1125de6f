/**
 * Requests that wait to share an RPC: first the priority requests (`goesFirst`), then the normal
 * ones, each oldest first.
 *
 * A batch begins with the oldest normal request if that has waited longer than all priority
 * requests, so that an endless stream of these cannot starve the normal ones.
 */

export interface Waiting<R = unknown> {
  readonly request: R;
  readonly rows: number;
  readonly sinceMs: number;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

export class Queue<R = unknown> {
  readonly #first = new Fifo<Waiting<R>>();
  readonly #others = new Fifo<Waiting<R>>();
  /** Rows of all waiting requests. */
  #rows = 0;

  get length(): number {
    return this.#first.length + this.#others.length;
  }

  get rows(): number {
    return this.#rows;
  }

  /** When the oldest waiting request was added. */
  get oldestMs(): number {
    return Math.min(
      this.#first.at(0)?.sinceMs ?? Infinity,
      this.#others.at(0)?.sinceMs ?? Infinity,
    );
  }

  add(waiting: Waiting<R>, goesFirst: boolean): void {
    (goesFirst ? this.#first : this.#others).push(waiting);
    this.#rows += waiting.rows;
  }

  /** Takes requests that have at most `rowsMax` rows together, but at least one request. */
  take(rowsMax: number): readonly Waiting<R>[] {
    const taken: Waiting<R>[] = [];
    let rows = 0;
    let [first, others] = [0, 0];
    for (let isFirst = !this.#isOthersTurn(); ; isFirst = first < this.#first.length) {
      const waiting = isFirst ? this.#first.at(first) : this.#others.at(others);
      if (waiting === undefined || (taken.length > 0 && rows + waiting.rows > rowsMax)) break;
      taken.push(waiting);
      rows += waiting.rows;
      if (isFirst) first++;
      else others++;
    }
    this.#first.drop(first);
    this.#others.drop(others);
    this.#rows -= rows;
    return taken;
  }

  /** Whether the oldest request is a normal one. */
  #isOthersTurn(): boolean {
    const [first, other] = [this.#first.at(0), this.#others.at(0)];
    return first === undefined || (other !== undefined && other.sinceMs < first.sinceMs);
  }
}

/**
 * First in, first out. `Array.shift` moves all other elements of a large array, and a large
 * transaction has many requests: to send them would take time that grows with the square.
 */
class Fifo<T> {
  readonly #items: T[] = [];
  /** Where the first one is; those before it have left. */
  #start = 0;

  get length(): number {
    return this.#items.length - this.#start;
  }

  at(index: number): T | undefined {
    return this.#items[this.#start + index];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Removes the first ones. */
  drop(count: number): void {
    this.#start += count;
    if (2 * this.#start < this.#items.length) return;
    this.#items.splice(0, this.#start);
    this.#start = 0;
  }
}
