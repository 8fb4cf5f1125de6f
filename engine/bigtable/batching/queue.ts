/** Requests that wait to share an RPC: those that go first, then the others, each oldest first. */

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
  /** Of all who wait. */
  #rows = 0;

  get length(): number {
    return this.#first.length + this.#others.length;
  }

  get rows(): number {
    return this.#rows;
  }

  /** Since when the one who waits longest has waited. */
  get oldestMs(): number {
    return Math.min(this.#first[0]?.sinceMs ?? Infinity, this.#others[0]?.sinceMs ?? Infinity);
  }

  add(waiting: Waiting<R>, goesFirst: boolean): void {
    (goesFirst ? this.#first : this.#others).push(waiting);
    this.#rows += waiting.rows;
  }

  /** Takes out as many as have `rowsMax` rows together; at least one. */
  take(rowsMax: number): readonly Waiting<R>[] {
    const all = [...this.#first, ...this.#others];
    let rows = 0;
    let end = 0;
    for (const waiting of all) {
      if (end > 0 && rows + waiting.rows > rowsMax) break;
      rows += waiting.rows;
      end++;
    }
    const ofFirst = Math.min(end, this.#first.length);
    this.#first.splice(0, ofFirst);
    this.#others.splice(0, end - ofFirst);
    this.#rows -= rows;
    return all.slice(0, end);
  }
}
