/**
 * A Map that holds at most so many entries, and then forgets the one that was set the longest ago:
 * for what a long-lived process remembers, and can do without.
 *
 *     set(key, value) ──▶ newest │ ... │ oldest ──▶ forgotten
 *
 * Setting a key again makes it the newest. Reading does not: what is read often may be old.
 */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #max: number;

  /** @param max entries, at least 1 */
  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    if (this.size <= this.#max) return this;
    for (const oldest of this.keys()) {
      this.delete(oldest);
      break;
    }
    return this;
  }
}
