/**
 * The index of the store: every page's key, in order, with the place of its record in the log.
 *
 *     first keys ────────▶ a       g       n
 *     leaves, in order ─▶ [a … f] [g … m] [n … z]
 *                           the last leaf that begins at or before a key ─▶ the slot in it
 *
 * Ten million rows have some 100,000 leaves, so a sorted array of leaves, and a copy of their first
 * keys to search in, are the whole upper part of the tree: inserting a leaf moves the array's end,
 * but happens once in about a hundred keys. The keys are outside of V8's heap (leaf.ts): as objects
 * they would cost several times the memory, and half a core of garbage collection.
 */
import type { Timestamp } from '../bigtable.ts';
import { type Entry, Leaf } from './leaf.ts';

/**
 * A place in the order of the keys, valid until the index is changed: leaf and slot in one number,
 * because every read makes some of these. `NONE` is no place.
 */
export type Position = number;
export const NONE: Position = -1;
/** More than a leaf has. */
const SLOTS = 1024;
/** Keys that are tried one after the other; a search in the whole index compares some twenty. */
const STEPS = 8;

export class SortedIndex {
  /** Invariant: none is empty. */
  readonly #leaves: Leaf[] = [];
  /** Invariant: those of the leaves. */
  readonly #firstKeys = new FirstKeys();
  #keys = 0;
  #footprint = 0;

  /** How many keys there are. */
  get keys(): number {
    return this.#keys;
  }

  /** Bytes of the log that are in use: the sum over all entries. */
  get footprint(): number {
    return this.#footprint;
  }

  get(key: Uint8Array): Entry | undefined {
    const at = this.floor(key);
    return at !== NONE && this.compare(at, key) === 0 ? this.entry(at) : undefined;
  }

  /** The last key at or before `key`. */
  floor(key: Uint8Array): Position {
    const leaf = this.#firstKeys.leafFor(key);
    return leaf < 0 ? NONE : leaf * SLOTS + (this.#leaves[leaf] as Leaf).floor(key);
  }

  /** Like `floor`, but never before `at`. Faster where the key is near `at`. */
  floorFrom(at: Position, key: Uint8Array): Position {
    let found = at;
    for (let steps = 0; steps < STEPS; steps++) {
      const next = this.next(found);
      if (next === NONE || this.compare(next, key) > 0) return found;
      found = next;
    }
    return this.floor(key);
  }

  /** The first key at or after `key`. */
  ceiling(key: Uint8Array): Position {
    const at = this.floor(key);
    if (at === NONE) return this.#leaves.length > 0 ? 0 : NONE;
    return this.compare(at, key) === 0 ? at : this.next(at);
  }

  /** The last key before `key`. */
  before(key: Uint8Array): Position {
    const at = this.floor(key);
    return at !== NONE && this.compare(at, key) === 0 ? this.previous(at) : at;
  }

  next(at: Position): Position {
    const leaf = Math.floor(at / SLOTS);
    if ((at % SLOTS) + 1 < (this.#leaves[leaf] as Leaf).count) return at + 1;
    return leaf + 1 < this.#leaves.length ? (leaf + 1) * SLOTS : NONE;
  }

  previous(at: Position): Position {
    if (at % SLOTS > 0) return at - 1;
    const leaf = Math.floor(at / SLOTS) - 1;
    return leaf < 0 ? NONE : leaf * SLOTS + (this.#leaves[leaf] as Leaf).count - 1;
  }

  /** A copy of the key. */
  key(at: Position): Buffer {
    return this.#leafAt(at).key(at % SLOTS);
  }

  entry(at: Position): Entry {
    return this.#leafAt(at).entry(at % SLOTS);
  }

  /** The newest timestamp of the page with this key. */
  newest(at: Position): Timestamp {
    return this.#leafAt(at).newest(at % SLOTS);
  }

  compare(at: Position, key: Uint8Array): number {
    return this.#leafAt(at).compare(at % SLOTS, key);
  }

  /** False for `NONE`. */
  startsWith(at: Position, prefix: Uint8Array): boolean {
    return at !== NONE && this.#leafAt(at).startsWith(at % SLOTS, prefix);
  }

  set(key: Uint8Array, entry: Entry): void {
    this.#footprint += entry.footprint;
    const at = Math.max(0, this.#firstKeys.leafFor(key));
    const leaf = this.#leaves[at];
    if (leaf === undefined) {
      this.#leaves.push(new Leaf());
      this.#insert(0, 0, key, entry);
      return;
    }
    const slot = leaf.floor(key);
    if (slot >= 0 && leaf.compare(slot, key) === 0) {
      this.#footprint -= leaf.footprint(slot);
      leaf.replace(slot, entry);
    } else this.#insert(at, slot + 1, key, entry);
  }

  delete(key: Uint8Array): void {
    const at = this.floor(key);
    if (at !== NONE && this.compare(at, key) === 0) this.#removeAt(at);
  }

  /** Removes every key with the prefix: whole leaves at once, because a table may have millions. */
  deleteAll(prefix: Uint8Array): void {
    this.#deleteLeaves(prefix);
    for (;;) {
      const at = this.ceiling(prefix);
      if (!this.startsWith(at, prefix)) return;
      this.#removeAt(at);
    }
  }

  /** Removes the leaves that have only keys with the prefix. */
  #deleteLeaves(prefix: Uint8Array): void {
    const at = this.ceiling(prefix);
    if (!this.startsWith(at, prefix)) return;
    const from = Math.ceil(at / SLOTS);
    let to = from;
    const isWhole = (leaf: Leaf | undefined): leaf is Leaf =>
      leaf?.startsWith(leaf.count - 1, prefix) === true;
    for (let leaf = this.#leaves[to]; isWhole(leaf); leaf = this.#leaves[++to]) {
      for (let slot = 0; slot < leaf.count; slot++) this.#footprint -= leaf.footprint(slot);
      this.#keys -= leaf.count;
    }
    for (let leaf = to - 1; leaf >= from; leaf--) this.#firstKeys.remove(leaf);
    this.#leaves.splice(from, to - from);
  }

  /** The next leaf to be copied: its keys above `after`; undefined if there are none. */
  leafAfter(after: Uint8Array | undefined): Leaf | undefined {
    const from = after === undefined ? 0 : Math.max(0, this.#firstKeys.leafFor(after));
    for (let i = from; i < this.#leaves.length; i++) {
      const leaf = this.#leaves[i] as Leaf;
      const first = after === undefined ? 0 : leaf.floor(after) + 1;
      if (first === 0) return leaf;
      if (first === leaf.count) continue;
      const rest = new Leaf();
      for (let slot = first; slot < leaf.count; slot++) rest.append(leaf, slot);
      return rest;
    }
    return undefined;
  }

  /** Adds a leaf whose keys are above all others; the index takes it over. */
  addLeaf(leaf: Leaf): void {
    this.#firstKeys.insert(this.#leaves.length, leaf.key(0));
    this.#leaves.push(leaf);
    this.#keys += leaf.count;
    for (let slot = 0; slot < leaf.count; slot++) this.#footprint += leaf.footprint(slot);
  }

  #insert(at: number, slot: number, key: Uint8Array, entry: Entry): void {
    const leaf = this.#leaves[at] as Leaf;
    if (leaf.insert(slot, key, entry)) {
      this.#keys++;
      if (slot > 0) return;
      if (leaf.count > 1) this.#firstKeys.remove(at);
      this.#firstKeys.insert(at, key);
      return;
    }
    // Keys that come in order fill the last leaf, instead of leaving every leaf half empty.
    const isAppend = at === this.#leaves.length - 1 && slot === leaf.count;
    const half = isAppend ? slot : leaf.count >>> 1;
    const upper = leaf.splitAt(half);
    this.#leaves.splice(at + 1, 0, upper);
    if (upper.count > 0) this.#firstKeys.insert(at + 1, upper.key(0));
    if (slot > half || isAppend) this.#insert(at + 1, slot - half, key, entry);
    else this.#insert(at, slot, key, entry);
  }

  #removeAt(at: Position): void {
    const place = Math.floor(at / SLOTS);
    const leaf = this.#leafAt(at);
    this.#footprint -= leaf.footprint(at % SLOTS);
    this.#keys--;
    leaf.remove(at % SLOTS);
    if (at % SLOTS === 0) {
      this.#firstKeys.remove(place);
      if (leaf.count > 0) this.#firstKeys.insert(place, leaf.key(0));
    }
    const next = this.#leaves[place + 1];
    if (leaf.count === 0) this.#leaves.splice(place, 1);
    else if (next !== undefined && leaf.isSmallWith(next)) {
      for (let slot = 0; slot < next.count; slot++) leaf.append(next, slot);
      this.#leaves.splice(place + 1, 1);
      this.#firstKeys.remove(place + 1);
    }
  }

  #leafAt(at: Position): Leaf {
    return this.#leaves[Math.floor(at / SLOTS)] as Leaf;
  }
}

/*
 * Finds the leaf for a key without a look at other leaves: copies of the first keys of all leaves,
 * side by side in blocks.
 *
 *     blocks ─▶ [a g n]                    [q t w]
 *     leaves ─▶ [a … f] [g … m] [n … p]    [q … s] [t … v] [w … z]
 *
 * A search that halves the leaves themselves looks into another leaf each time, and no processor's
 * cache holds the leaves of millions of keys: with four million keys it takes 1.6 times as long as
 * with blocks, with thirty thousand the same time. A block is a leaf whose entries have no place.
 */

interface Block {
  /** The number of the leaf that begins with the block's first key. */
  start: number;
  readonly keys: Leaf;
}

const NOWHERE: Entry = { file: 0, offset: 0, length: 0, footprint: 0, newest: 0 };

class FirstKeys {
  readonly #blocks: Block[] = [];

  /** The number of the last leaf whose first key is not above `key`; -1 if there is none. */
  leafFor(key: Uint8Array): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#blocks[middle] as Block).keys.compare(0, key) <= 0) low = middle + 1;
      else high = middle;
    }
    if (low === 0) return -1;
    const { start, keys } = this.#blocks[low - 1] as Block;
    return start + keys.floor(key);
  }

  /** Adds the first key of a new leaf, which has this number now; later leaves move up by one. */
  insert(leaf: number, key: Uint8Array): void {
    if (this.#blocks.length === 0) this.#blocks.push({ start: 0, keys: new Leaf() });
    const at = this.#blockOf(leaf);
    const { start, keys } = this.#blocks[at] as Block;
    if (keys.insert(leaf - start, key, NOWHERE)) {
      this.#shift(at + 1, 1);
      return;
    }
    // A key after all keys of the block begins a new block: keys that come in order fill blocks.
    const half = leaf - start === keys.count ? keys.count : keys.count >>> 1;
    this.#blocks.splice(at + 1, 0, { start: start + half, keys: keys.splitAt(half) });
    this.insert(leaf, key);
  }

  /** Removes the key of a leaf that was removed; later leaves move down by one. */
  remove(leaf: number): void {
    const at = this.#blockOf(leaf);
    const { start, keys } = this.#blocks[at] as Block;
    keys.remove(leaf - start);
    this.#shift(at + 1, -1);
    if (keys.count === 0) this.#blocks.splice(at, 1);
  }

  /** The block with the key of this leaf; for a new last leaf, the last block. */
  #blockOf(leaf: number): number {
    let at = this.#blocks.length - 1;
    while (at > 0 && (this.#blocks[at] as Block).start > leaf) at--;
    return at;
  }

  #shift(from: number, by: number): void {
    for (let at = from; at < this.#blocks.length; at++) (this.#blocks[at] as Block).start += by;
  }
}
