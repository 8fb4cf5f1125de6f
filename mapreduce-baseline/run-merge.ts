/** Merging sorted runs: their records in one order, and from that order the groups. */
import { ByteBuilder, compareBytes, Slice } from './bytes.ts';
import type { Values } from './job.ts';
import { RunReader } from './sorted-run.ts';

/** A heap of runs, the one with the smallest key on top; among equal keys the earlier run. */
export class RunMerge implements Disposable {
  readonly #readers: RunReader[];
  readonly #heap: RunReader[] = [];

  constructor(paths: readonly string[], blockBytes: number) {
    this.#readers = paths.map((path, order) => new RunReader(path, order, blockBytes));
    this.#heap.push(...this.#readers.filter((reader) => reader.next(true)));
    for (let i = (this.#heap.length >> 1) - 1; i >= 0; i--) this.#sink(i);
  }

  top(): RunReader | undefined {
    return this.#heap[0];
  }

  /** Moves on by one record. */
  advance(): void {
    const top = this.#heap[0];
    if (top === undefined) return;
    if (!top.next(false)) {
      const last = this.#heap.pop();
      if (last === undefined || last === top) return;
      this.#heap[0] = last;
    }
    this.#sink(0);
  }

  [Symbol.dispose](): void {
    for (const reader of this.#readers) reader[Symbol.dispose]();
  }

  #sink(from: number): void {
    const heap = this.#heap;
    for (let parent = from; ;) {
      let smallest = parent;
      const left = parent * 2 + 1;
      if (left < heap.length && this.#before(left, smallest)) smallest = left;
      if (left + 1 < heap.length && this.#before(left + 1, smallest)) smallest = left + 1;
      if (smallest === parent) return;
      const moved = heap[parent] as RunReader;
      heap[parent] = heap[smallest] as RunReader;
      heap[smallest] = moved;
      parent = smallest;
    }
  }

  #before(i: number, j: number): boolean {
    const a = this.#heap[i] as RunReader;
    const b = this.#heap[j] as RunReader;
    const order = compareBytes(a.key, b.key);
    return order === 0 ? a.order < b.order : order < 0;
  }
}

/**
 * The merged records as groups. The key is copied: the block it lay in may be refilled meanwhile.
 */
export class MergedGroups implements Values {
  readonly key: Slice = new Slice();
  readonly value: Slice = new Slice();
  readonly #merge: RunMerge;
  readonly #keyBytes = new ByteBuilder();
  /** Whether the record on top was handed out and must be passed before the next one is read. */
  #handedOut = false;
  #started = false;

  constructor(merge: RunMerge) {
    this.#merge = merge;
  }

  /** Moves to the next key, past unread values of the last one; false at the end. */
  nextKey(): boolean {
    while (this.next());
    const top = this.#merge.top();
    if (top === undefined) return false;
    this.#keyBytes.clear();
    this.#keyBytes.appendSlice(top.key);
    this.key.point(this.#keyBytes.bytes, 0, this.#keyBytes.length);
    this.#started = true;
    return true;
  }

  next(): boolean {
    if (!this.#started) return false;
    if (this.#handedOut) this.#merge.advance();
    this.#handedOut = false;
    const top = this.#merge.top();
    if (top === undefined || compareBytes(top.key, this.key) !== 0) return false;
    top.block.valueAt(top.at, this.value);
    this.#handedOut = true;
    return true;
  }
}
