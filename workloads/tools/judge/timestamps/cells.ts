/**
 * What a history is collected into: its keys, each with its name in the judge, and transactions
 * that may still change. A key's name is its JSON text, so that the number 1 and the string "1" are
 * two keys.
 *
 * Scans need the order of keys: numbers before strings, numbers by size, strings by their bytes in
 * UTF-8.
 */
import type { HistoricTransaction, HistoricValue } from '../../../verification/judges/index.ts';

export type Key = string | number;

/** A key's name in histories. */
export type CellName = string;

export class CellNames {
  readonly #cells = new Map<Key, CellName>();
  /** Undefined after a key was added. */
  #sorted: readonly Key[] | undefined;

  get count(): number {
    return this.#cells.size;
  }

  of(key: Key): CellName {
    const known = this.#cells.get(key);
    if (known !== undefined) return known;
    const cell = JSON.stringify(key);
    this.#cells.set(key, cell);
    this.#sorted = undefined;
    return cell;
  }

  /** The cells of all keys in a range, in order. */
  *between(range: KeyRange): Generator<CellName> {
    const sorted = (this.#sorted ??= [...this.#cells.keys()].toSorted(compareKeys));
    const first = range.from === undefined ? 0 : firstFrom(sorted, range.from);
    for (let i = first; i < sorted.length; i++) {
      const key = sorted[i] ?? '';
      if (!isInside(range, key)) return;
      yield this.of(key);
    }
  }
}

export interface KeyRange {
  /** Included; undefined: from the first. */
  readonly from: Key | undefined;
  /** Not included; undefined: to the last. */
  readonly to: Key | undefined;
  /** Included: the last row of a scan that its limit has cut. */
  readonly through?: Key | undefined;
}

export function isInside({ from, to, through }: KeyRange, key: Key): boolean {
  if (from !== undefined && compareKeys(key, from) < 0) return false;
  if (through !== undefined && compareKeys(key, through) > 0) return false;
  return to === undefined || compareKeys(key, to) < 0;
}

export function compareKeys(a: Key, b: Key): number {
  if (typeof a === 'number') return typeof b === 'number' ? a - b : -1;
  if (typeof b === 'number') return 1;
  // UTF-16 and UTF-8 order strings in the same way, except those with surrogates.
  if (SURROGATE.test(a) || SURROGATE.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a < b ? -1 : Number(a > b);
}

const SURROGATE = /[\ud800-\udfff]/;

/** The index of the first key that is not before `from`. */
function firstFrom(sorted: readonly Key[], from: Key): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(sorted[middle] ?? '', from) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A transaction whose timestamps are not yet positions. */
export interface Draft extends Writable<Omit<HistoricTransaction, 'reads' | 'writes' | 'locks'>> {
  reads: HistoricValue[];
  writes: Writable<HistoricValue>[];
  locks: CellName[];
}

/** A contradiction within a single transaction. */
export interface OwnContradiction {
  readonly claim: 'own write not read' | 'row returned twice';
  /** The index of the transaction. */
  readonly transaction: number;
  readonly cell: CellName;
  /** What the transaction read; `OWN` if the history tells only that it was a write of its own. */
  readonly value: string | undefined;
  /** The transaction's last write to the key before the read; undefined if there was none. */
  readonly before: HistoricValue | undefined;
}

/** The version by which a history says that a transaction read its own write. */
export const OWN = 'vown';

export function isWriter({ writes, locks }: Draft): boolean {
  return writes.length + locks.length > 0;
}

/** The cells that the transaction locked and did not write, each once. */
export function locksOnly({ writes, locks }: Draft): readonly CellName[] {
  if (locks.length === 0) return locks;
  return [...new Set(locks)].filter((cell) => !writes.some((write) => write.cell === cell));
}
