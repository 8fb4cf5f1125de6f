/**
 * One leaf of the index: up to a few hundred keys in order, each with its place in the log, in 16
 * KB outside of V8's heap.
 *
 *     entries ─▶  key length, file, offset, length, footprint, newest, key │ ...   free   ... ◀─ slots
 *
 * A slot holds where an entry begins, and a mark; the slots are in the order of the keys. The mark
 * is four bytes of the key, those after the prefix that all keys of the leaf have in common: a
 * search compares marks, which lie side by side, and looks at the keys of equal marks alone. A
 * removed entry leaves its bytes until the leaf is packed. After `write` the 16 KB alone hold the
 * whole leaf, so they go to a file as they are (hint.ts).
 */
import { assert } from '../../base/index.ts';
import type { Timestamp } from '../bigtable.ts';

/** Where a record is in the log. */
export interface Place {
  readonly file: number;
  readonly offset: number;
  readonly length: number;
}

/** What the index knows of a page. */
export interface Entry extends Place {
  /** Bytes of the log that the page keeps in use: its record, and those of its large values. */
  readonly footprint: number;
  /** The newest timestamp of its cells: a read of newer cells passes over the page. */
  readonly newest: Timestamp;
}

export const LEAF_BYTES = 16_384;
const HEADER_BYTES = 8;
const ENTRY_BYTES = 26;
const SLOT_BYTES = 6;
/** Where the mark begins in a slot. */
const MARK_AT = 2;

export class Leaf {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  /** How many keys there are; each has a slot. */
  count: number;
  /** Where the free space begins. */
  #used: number;
  /** Bytes of entries that have a slot. Invariant: at most `#used - HEADER_BYTES`. */
  #live: number;
  /** All keys have at least this many bytes at their beginning in common. */
  #prefix: number;

  /** @param bytes a leaf as `write` left it; by default an empty one */
  constructor(bytes: Uint8Array = new Uint8Array(LEAF_BYTES)) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.count = this.#view.getUint16(0, true);
    this.#used = Math.max(HEADER_BYTES, this.#view.getUint16(2, true));
    this.#live = this.#view.getUint16(4, true);
    this.#prefix = this.#view.getUint16(6, true);
  }

  /** The last slot whose key is not above `key`; -1 if there is none. */
  floor(key: Uint8Array): number {
    if (this.count === 0) return -1;
    const mark = markOf(key, this.#prefix, key.length);
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const difference = this.#mark(middle) - mark || this.compare(middle, key);
      if (difference <= 0) low = middle + 1;
      else high = middle;
    }
    // The marks say nothing of a key without the prefix: it is before all keys, or after them.
    const found = Math.max(0, low - 1);
    if (this.#inCommon(found, key) === this.#prefix) return low - 1;
    return this.compare(found, key) < 0 ? this.count - 1 : -1;
  }

  /** Below 0 if the slot's key is before `key`, 0 if it is the same. */
  compare(slot: number, key: Uint8Array): number {
    const at = this.#at(slot);
    const length = this.#view.getUint16(at, true);
    const shorter = Math.min(length, key.length);
    const start = at + ENTRY_BYTES;
    for (let i = 0; i < shorter; i++) {
      const difference = (this.bytes[start + i] as number) - (key[i] as number);
      if (difference !== 0) return difference;
    }
    return length - key.length;
  }

  startsWith(slot: number, prefix: Uint8Array): boolean {
    const at = this.#at(slot);
    if (this.#view.getUint16(at, true) < prefix.length) return false;
    // Backwards: keys of one leaf differ near their ends.
    for (let i = prefix.length - 1; i >= 0; i--) {
      if (this.bytes[at + ENTRY_BYTES + i] !== prefix[i]) return false;
    }
    return true;
  }

  /** A copy. */
  key(slot: number): Buffer {
    const start = this.#at(slot) + ENTRY_BYTES;
    return Buffer.from(this.bytes.subarray(start, start + this.#keyLength(slot)));
  }

  entry(slot: number): Entry {
    const at = this.#at(slot);
    const view = this.#view;
    return {
      file: view.getUint32(at + 2, true),
      offset: view.getUint32(at + 6, true),
      length: view.getUint32(at + 10, true),
      footprint: view.getUint32(at + 14, true),
      newest: view.getFloat64(at + 18, true),
    };
  }

  footprint(slot: number): number {
    return this.#view.getUint32(this.#at(slot) + 14, true);
  }

  newest(slot: number): Timestamp {
    return this.#view.getFloat64(this.#at(slot) + 18, true);
  }

  /** Replaces what is known of an existing key. */
  replace(slot: number, { file, offset, length, footprint, newest }: Entry): void {
    const at = this.#at(slot);
    const view = this.#view;
    view.setUint32(at + 2, file, true);
    view.setUint32(at + 6, offset, true);
    view.setUint32(at + 10, length, true);
    view.setUint32(at + 14, footprint, true);
    view.setFloat64(at + 18, newest, true);
  }

  /** Inserts a key at its slot. False, and nothing inserted, if there is no room. */
  insert(slot: number, key: Uint8Array, entry: Entry): boolean {
    const need = ENTRY_BYTES + key.length;
    const roomWithoutGarbage =
      LEAF_BYTES - HEADER_BYTES - this.#live - SLOT_BYTES * (this.count + 1);
    if (need > roomWithoutGarbage) return false;
    if (this.#used + need > LEAF_BYTES - SLOT_BYTES * (this.count + 1)) this.#pack();
    // A key between two others begins as both do.
    if (slot === 0 || slot === this.count) this.#shortenPrefix(key);
    const at = this.#used;
    const mark = markOf(key, this.#prefix, key.length);
    this.#view.setUint16(at, key.length, true);
    this.bytes.set(key, at + ENTRY_BYTES);
    const lastSlot = LEAF_BYTES - SLOT_BYTES * this.count;
    const firstMoved = LEAF_BYTES - SLOT_BYTES * slot;
    this.bytes.copyWithin(lastSlot - SLOT_BYTES, lastSlot, firstMoved);
    this.#view.setUint16(firstMoved - SLOT_BYTES, at, true);
    this.#view.setUint32(firstMoved - SLOT_BYTES + MARK_AT, mark, true);
    this.count++;
    this.#used += need;
    this.#live += need;
    this.replace(slot, entry);
    return true;
  }

  remove(slot: number): void {
    this.#live -= ENTRY_BYTES + this.#keyLength(slot);
    const lastSlot = LEAF_BYTES - SLOT_BYTES * this.count;
    const removed = LEAF_BYTES - SLOT_BYTES * (slot + 1);
    this.bytes.copyWithin(lastSlot + SLOT_BYTES, lastSlot, removed);
    this.count--;
    if (this.count === 0) this.#used = HEADER_BYTES;
  }

  /** Moves the slots from `from` on into a new leaf. */
  splitAt(from: number): Leaf {
    const upper = new Leaf();
    for (let slot = from; slot < this.count; slot++) upper.append(this, slot);
    while (this.count > from) this.remove(this.count - 1);
    if (from > 0) this.#setPrefix(this.#inCommon(0, this.key(from - 1), LEAF_BYTES));
    return upper;
  }

  /** Adds another leaf's key, which is above all keys here. */
  append(from: Leaf, slot: number): void {
    const isInserted = this.insert(this.count, from.key(slot), from.entry(slot));
    assert(isInserted, 'the entries of a leaf fit into another one');
  }

  /** Whether the entries of both leaves would fill less than half of one. */
  isSmallWith({ count, live }: { readonly count: number; readonly live: number }): boolean {
    return this.live + live + SLOT_BYTES * (this.count + count) < LEAF_BYTES / 2;
  }

  get live(): number {
    return this.#live;
  }

  /** Makes `bytes` a leaf that the constructor takes. */
  write(): Uint8Array {
    this.#view.setUint16(0, this.count, true);
    this.#view.setUint16(2, this.#used, true);
    this.#view.setUint16(4, this.#live, true);
    this.#view.setUint16(6, this.#prefix, true);
    return this.bytes;
  }

  /** Removes the bytes of removed entries. */
  #pack(): void {
    const packed = new Leaf();
    for (let slot = 0; slot < this.count; slot++) packed.append(this, slot);
    this.bytes.set(packed.bytes);
    this.#used = packed.#used;
    this.#prefix = packed.#prefix;
  }

  /** Before a key is inserted at an end. */
  #shortenPrefix(key: Uint8Array): void {
    if (this.count === 0) this.#prefix = key.length;
    else if (this.#inCommon(0, key) < this.#prefix) this.#setPrefix(this.#inCommon(0, key));
  }

  #setPrefix(prefix: number): void {
    this.#prefix = prefix;
    for (let slot = 0; slot < this.count; slot++) {
      const start = this.#at(slot) + ENTRY_BYTES;
      const mark = markOf(this.bytes, start + prefix, start + this.#keyLength(slot));
      this.#view.setUint32(LEAF_BYTES - SLOT_BYTES * (slot + 1) + MARK_AT, mark, true);
    }
  }

  /** How many bytes at its beginning the key has in common with that of the slot, up to `most`. */
  #inCommon(slot: number, key: Uint8Array, most = this.#prefix): number {
    const start = this.#at(slot) + ENTRY_BYTES;
    const end = Math.min(most, key.length, this.#keyLength(slot));
    let common = 0;
    while (common < end && this.bytes[start + common] === key[common]) common++;
    return common;
  }

  #mark(slot: number): number {
    return this.#view.getUint32(LEAF_BYTES - SLOT_BYTES * (slot + 1) + MARK_AT, true);
  }

  #at(slot: number): number {
    return this.#view.getUint16(LEAF_BYTES - SLOT_BYTES * (slot + 1), true);
  }

  #keyLength(slot: number): number {
    return this.#view.getUint16(this.#at(slot), true);
  }
}

/** The four bytes from `at` on as a number, so that the order of marks is the order of the keys. */
function markOf(bytes: Uint8Array, at: number, end: number): number {
  let mark = 0;
  for (let i = at; i < at + 4; i++) mark = mark * 256 + (i < end ? (bytes[i] as number) : 0);
  return mark;
}
