/**
 * Grouping records in memory: by a hash table, or by sorting.
 *
 * The hash table takes one pass to build and one to visit the groups. It holds record numbers, not
 * records; the values of a key are chained in the order they came in, and the groups are visited in
 * the order their keys first appeared. Sorting gives more than grouping needs, at several times the
 * cost, which is why the hash table is the default.
 *
 * Sorting gives byte order of the keys, and is stable. A comparison function per pair would be the
 * slow part, so most of the order is found by numbers:
 *
 * 1. Leave out the first bytes, as far as all keys share them.
 * 2. Pack the next four bytes of each key and the number of its record into one double (32 + 21
 *    bits fit a double's 53), and let V8 sort the doubles, which it does natively.
 * 3. Keys that agree in these four bytes lie together now, as a run: the same again for each run,
 *    further into the key. Short runs are finished by insertion sort with real comparisons.
 */
import { compareBytes, Slice } from './bytes.ts';
import type { ValueCursor } from './job.ts';
import type { RecordBuffer } from './record-buffer.ts';

/**
 * Memory for grouping per record, besides the record itself: at most 4 slots, a link, a tail, a
 * place.
 */
export const HASH_BYTES_PER_RECORD = 28;

/** Calls `visit` once per key with its values. */
export function forEachGroupByHash(
  records: RecordBuffer,
  visit: (key: Slice, values: ValueCursor) => void,
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

class ChainedTable implements ValueCursor {
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

/**
 * Memory for sorting per record, besides the record itself: a place, a copy of it, a double twice.
 */
export const SORT_BYTES_PER_RECORD = 24;

/**
 * How many records step 2 can number. If there are more, external-merge.ts sorts them in parts and
 * merges these.
 */
export const SORT_RECORDS_MAX: number = 2 ** 21;

/** Up to this length insertion sort is cheaper than packing. */
const INSERTION_LENGTH_MAX = 12;

/**
 * After so many rounds real comparisons sort what is left. A round may finish one key only, as in a
 * chain of keys that are prefixes of one another, and each round is a call on the stack.
 */
const ROUNDS_MAX = 50;

/**
 * Calls `visit` once per key, in byte order of the keys, with its values in the order they came.
 */
export function forEachGroupBySort(
  records: RecordBuffer,
  visit: (key: Slice, values: ValueCursor) => void,
): void {
  const places = sortedPlaces(records);
  const values = new RunValues(records, places);
  const key = new Slice();
  const other = new Slice();
  for (let start = 0; start < places.length;) {
    records.keyAt(places[start] as number, key);
    let end = start + 1;
    for (; end < places.length; end++) {
      records.keyAt(places[end] as number, other);
      if (compareBytes(key, other) !== 0) break;
    }
    values.start(start, end);
    visit(key, values);
    start = end;
  }
}

/**
 * Where the records lie, in byte order of their keys; records with equal keys stay in their order.
 */
export function sortedPlaces(records: RecordBuffer): Int32Array {
  const places = new Int32Array(records.recordCount);
  let at = 0;
  for (let i = 0; i < places.length; i++) {
    places[i] = at;
    at = records.after(at);
  }
  new KeySort(records, places).sort(0, places.length, 0);
  return places;
}

class RunValues implements ValueCursor {
  readonly value = new Slice();
  readonly #records: RecordBuffer;
  readonly #places: Int32Array;
  #next = 0;
  #end = 0;

  constructor(records: RecordBuffer, places: Int32Array) {
    this.#records = records;
    this.#places = places;
  }

  start(start: number, end: number): void {
    this.#next = start;
    this.#end = end;
  }

  next(): boolean {
    if (this.#next === this.#end) return false;
    this.#records.valueAt(this.#places[this.#next++] as number, this.value);
    return true;
  }
}

class KeySort {
  readonly #records: RecordBuffer;
  readonly #places: Int32Array;
  readonly #copy: Int32Array;
  readonly #packed: Float64Array;
  readonly #a = new Slice();
  readonly #b = new Slice();

  constructor(records: RecordBuffer, places: Int32Array) {
    this.#records = records;
    this.#places = places;
    this.#copy = new Int32Array(places.length);
    this.#packed = new Float64Array(places.length);
  }

  /**
   * Sorts `places[start..end)`, whose keys agree in their first `depth` bytes.
   * @param rounds those that have led to this run of keys
   */
  sort(start: number, end: number, depth: number, rounds = 0): void {
    if (end - start <= INSERTION_LENGTH_MAX) {
      this.#insertionSort(start, end);
      return;
    }
    if (rounds === ROUNDS_MAX) {
      this.#sortByComparison(start, end);
      return;
    }
    const shared = this.#sharedPrefix(start, end, depth);
    if (shared === undefined) return;
    this.#sortByWord(start, end, shared);
    for (let from = start; from < end;) {
      const word = this.#wordAt(from, shared);
      let to = from + 1;
      while (to < end && this.#wordAt(to, shared) === word) to++;
      if (to - from > 1) this.#sortEqualWords(from, to, shared, rounds);
      from = to;
    }
  }

  /**
   * A key that ends inside the word looks like one with zero bytes there, so the word does not tell
   * them apart, and neither would the words after it: real comparisons do.
   */
  #sortEqualWords(start: number, end: number, depth: number, rounds: number): void {
    for (let i = start; i < end; i++) {
      this.#records.keyAt(this.#places[i] as number, this.#a);
      if (this.#a.length < depth + 4) {
        this.#sortByComparison(start, end);
        return;
      }
    }
    this.sort(start, end, depth + 4, rounds + 1);
  }

  /** How many bytes all keys share; undefined if the keys are all equal. */
  #sharedPrefix(start: number, end: number, depth: number): number | undefined {
    this.#records.keyAt(this.#places[start] as number, this.#a);
    let shared = this.#a.length;
    let equal = true;
    for (let i = start + 1; i < end; i++) {
      this.#records.keyAt(this.#places[i] as number, this.#b);
      if (this.#b.length !== this.#a.length) equal = false;
      let same = depth;
      const most = Math.min(shared, this.#b.length);
      while (same < most && this.#byte(this.#a, same) === this.#byte(this.#b, same)) same++;
      shared = same;
    }
    return equal && shared === this.#a.length ? undefined : shared;
  }

  #byte(slice: Slice, index: number): number {
    return slice.bytes[slice.start + index] as number;
  }

  #sortByWord(start: number, end: number, depth: number): void {
    const packed = this.#packed.subarray(0, end - start);
    for (let i = start; i < end; i++) {
      packed[i - start] = this.#wordAt(i, depth) * SORT_RECORDS_MAX + (i - start);
    }
    packed.sort();
    this.#copy.set(this.#places.subarray(start, end));
    for (let i = 0; i < packed.length; i++) {
      this.#places[start + i] = this.#copy[(packed[i] as number) % SORT_RECORDS_MAX] as number;
    }
  }

  /** Four bytes of the key as a number, high byte first; zero bytes after its end. */
  #wordAt(index: number, depth: number): number {
    this.#records.keyAt(this.#places[index] as number, this.#a);
    const { bytes, start, end } = this.#a;
    const at = start + depth;
    if (at + 4 <= end) return bytes.readUInt32BE(at);
    let word = 0;
    for (let i = 0; i < 4; i++) word = word * 256 + (at + i < end ? (bytes[at + i] as number) : 0);
    return word;
  }

  #insertionSort(start: number, end: number): void {
    for (let i = start + 1; i < end; i++) {
      const place = this.#places[i] as number;
      let hole = i;
      for (; hole > start; hole--) {
        const before = this.#places[hole - 1] as number;
        if (this.#compare(before, place) <= 0) break;
        this.#places[hole] = before;
      }
      this.#places[hole] = place;
    }
  }

  #sortByComparison(start: number, end: number): void {
    const order = Array.from(this.#places.subarray(start, end));
    order.sort((a, b) => this.#compare(a, b));
    this.#places.set(order, start);
  }

  #compare(a: number, b: number): number {
    this.#records.keyAt(a, this.#a);
    this.#records.keyAt(b, this.#b);
    return compareBytes(this.#a, this.#b);
  }
}
