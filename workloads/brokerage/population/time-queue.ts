/**
 * A priority queue by time: a binary heap. Items that are due at the same time come out in the
 * order of trade ids.
 */

export interface QueuedTrade {
  readonly dueMs: number;
  readonly tradeId: number;
}

export class TimeQueue<T extends QueuedTrade> {
  readonly #heap: T[] = [];

  add(item: T): void {
    const heap = this.#heap;
    let i = heap.push(item) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(item, heap[parent] as T)) break;
      heap[i] = heap[parent] as T;
      i = parent;
    }
    heap[i] = item;
  }

  /** Removes the items that are due at `timeMs` or before, earliest first. */
  *takeUntil(timeMs: number): Generator<T> {
    for (;;) {
      const [first] = this.#heap;
      if (first === undefined || first.dueMs > timeMs) return;
      this.#removeFirst();
      yield first;
    }
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as T, heap[child] as T)) child++;
      if (!isBefore(heap[child] as T, last)) break;
      heap[i] = heap[child] as T;
      i = child;
    }
    heap[i] = last;
  }
}

function isBefore(a: QueuedTrade, b: QueuedTrade): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.tradeId < b.tradeId);
}
