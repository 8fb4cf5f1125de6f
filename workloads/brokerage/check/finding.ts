/** The result of a check: a sentence about a row, and the condition that it breaks. */

export type Condition =
  | 'broker trades'
  | 'broker commission'
  | 'positions are their lots'
  | 'positions are their trades'
  | 'lots are their history'
  | 'trades have moved lots'
  | 'trade status'
  | 'settlements'
  | 'balances'
  | 'acknowledged trades'
  | 'index entries';

export interface Finding {
  readonly condition: Condition;
  readonly message: string;
}

/** Sums of numbers by key; a key without numbers has the sum 0. */
export class Sums<K> {
  readonly #sums = new Map<K, number>();

  add(key: K, amount: number): void {
    this.#sums.set(key, (this.#sums.get(key) ?? 0) + amount);
  }

  of(key: K): number {
    return this.#sums.get(key) ?? 0;
  }

  keys(): Iterable<K> {
    return this.#sums.keys();
  }
}
