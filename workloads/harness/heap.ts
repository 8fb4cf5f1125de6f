/**
 * A binary heap: whatever was pushed comes out in an order of choice, one item at a time, and each
 * push and pop costs the logarithm of how many there are.
 */
export class Heap<T> {
  readonly #items: T[] = [];
  readonly #isBefore: (a: T, b: T) => boolean;

  /** @param isBefore must never hold for both orders of two items that differ */
  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore;
  }

  /** The item that comes out next. */
  get first(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    const items = this.#items;
    let i = items.push(item) - 1;
    while (i > 0) {
      const parent = (i - 1) >>> 1;
      const above = items[parent] as T;
      if (!this.#isBefore(item, above)) break;
      items[i] = above;
      i = parent;
    }
    items[i] = item;
  }

  /** Removes and returns the first item. */
  pop(): T | undefined {
    const items = this.#items;
    const [first] = items;
    const last = items.pop();
    if (last !== undefined && items.length > 0) this.#sink(last);
    return first;
  }

  /** Finds the place of an item that is put on top. */
  #sink(item: T): void {
    const items = this.#items;
    const { length } = items;
    let i = 0;
    for (let child = 1; child < length; child = 2 * i + 1) {
      let least = items[child] as T;
      const right = items[child + 1];
      if (right !== undefined && this.#isBefore(right, least)) {
        least = right;
        child++;
      }
      if (!this.#isBefore(least, item)) break;
      items[i] = least;
      i = child;
    }
    items[i] = item;
  }
}
