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
  readonly #first: Waiting<R>[] = [];
  readonly #others: Waiting<R>[] = [];
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
    return Math.min(this.#first[0]?.sinceMs ?? Infinity, this.#others[0]?.sinceMs ?? Infinity);
  }

  add(waiting: Waiting<R>, goesFirst: boolean): void {
    (goesFirst ? this.#first : this.#others).push(waiting);
    this.#rows += waiting.rows;
  }

  /** Takes requests that have at most `rowsMax` rows together, but at least one request. */
  take(rowsMax: number): readonly Waiting<R>[] {
    const taken: Waiting<R>[] = [];
    let rows = 0;
    for (let queue = this.#oldest(); queue.length > 0; queue = this.#next()) {
      const [waiting] = queue;
      if (waiting === undefined || (taken.length > 0 && rows + waiting.rows > rowsMax)) break;
      taken.push(waiting);
      rows += waiting.rows;
      queue.shift();
    }
    this.#rows -= rows;
    return taken;
  }

  #next(): Waiting<R>[] {
    return this.#first.length > 0 ? this.#first : this.#others;
  }

  /** The queue with the oldest request. */
  #oldest(): Waiting<R>[] {
    const [first] = this.#first;
    const [other] = this.#others;
    return other !== undefined && (first === undefined || other.sinceMs < first.sinceMs)
      ? this.#others
      : this.#next();
  }
}
