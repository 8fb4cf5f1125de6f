/**
 * Grouping records in memory by a hash table: one pass to build, one to visit the groups.
 *
 * The table holds record numbers, not records; the values of a key are chained in the order they
 * came in, and the groups are visited in the order their keys first appeared. Sorting would give
 * more than grouping needs, at several times the cost, which is why this is the default.
 */
import { Slice } from './bytes.ts';
import type { Values } from './job.ts';
import type { RecordBuffer } from './record-buffer.ts';

/**
 * Memory for grouping per record, besides the record itself: at most 4 slots, a link, a tail, a
 * place.
 */
export const HASH_BYTES_PER_RECORD = 28;

/** Calls `visit` once per key with its values. */
export function forEachGroupByHash(
  records: RecordBuffer,
  visit: (key: Slice, values: Values) => void,
): void {
  const table = new ChainedTable(records);
  const key = new Slice();
  for (let first = 0; first < records.recordCount; first++) {
    if (!table.isFirstOfKey(first)) continue;
    records.keyAt(table.placeOf(first), key);
    table.start(first);
    visit(key, table);
  }
}

class ChainedTable implements Values {
  readonly value = new Slice();
  readonly #records: RecordBuffer;
  /** Number of a key's first record, plus one; 0 is an empty slot. The length is a power of two. */
  readonly #slots: Int32Array;
  /** Where each record lies in the buffer. */
  readonly #places: Int32Array;
  /** Number of the next record with the same key, plus one; 0 ends the chain. */
  readonly #links: Int32Array;
  /** For the first record of a key the number of the last one, plus one; 0 for all others. */
  readonly #tails: Int32Array;
  /** Number, plus one, of the record that `next` will move to. */
  #cursor = 0;

  constructor(records: RecordBuffer) {
    this.#records = records;
    const count = records.recordCount;
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(Math.max(2, count * 2))));
    this.#places = new Int32Array(count);
    this.#links = new Int32Array(count);
    this.#tails = new Int32Array(count);
    let at = 0;
    for (let number = 0; number < count; number++) {
      this.#places[number] = at;
      this.#insert(number, at);
      at = records.after(at);
    }
  }

  isFirstOfKey(number: number): boolean {
    return this.#tails[number] !== 0;
  }

  placeOf(number: number): number {
    return this.#places[number] as number;
  }

  start(first: number): void {
    this.#cursor = first + 1;
  }

  next(): boolean {
    if (this.#cursor === 0) return false;
    const number = this.#cursor - 1;
    this.#records.valueAt(this.#places[number] as number, this.value);
    this.#cursor = this.#links[number] as number;
    return true;
  }

  /** Linear probing; the hash stored with the record saves most comparisons of keys. */
  #insert(number: number, at: number): void {
    const mask = this.#slots.length - 1;
    const hash = this.#records.hashAt(at);
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const taken = this.#slots[slot] as number;
      if (taken === 0) {
        this.#slots[slot] = number + 1;
        this.#tails[number] = number + 1;
        return;
      }
      if (sameKey(this.#records, this.#places[taken - 1] as number, at)) {
        this.#chain(taken - 1, number);
        return;
      }
    }
  }

  #chain(first: number, number: number): void {
    this.#links[(this.#tails[first] as number) - 1] = number + 1;
    this.#tails[first] = number + 1;
  }
}

function sameKey(records: RecordBuffer, a: number, b: number): boolean {
  const { words, bytes } = records;
  const length = words[a + 1] as number;
  if (words[a] !== words[b] || length !== words[b + 1]) return false;
  const aStart = records.keyStart(a);
  const bStart = records.keyStart(b);
  for (let i = 0; i < length; i++) if (bytes[aStart + i] !== bytes[bStart + i]) return false;
  return true;
}
