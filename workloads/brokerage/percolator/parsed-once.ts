/**
 * Values that many transactions read and few change, such as the prices of securities: equal bytes are parsed once, and
 * whoever reads them gets the same object. Nothing is read less often for it.
 */

/** Objects of one kind by their text. */
export class ParsedOnce<V extends object> {
  readonly #parse: (text: string) => V;
  readonly #most: number;
  readonly #parsed = new Map<string, V>();

  /** @param most texts to know; then all are forgotten, because those that are still in use come back soon */
  constructor(parse: (text: string) => V, most: number) {
    this.#parse = parse;
    this.#most = most;
  }

  /** Frozen, because others have it, too. */
  of(text: string): V {
    return this.#parsed.get(text) ?? this.#add(text);
  }

  #add(text: string): V {
    const parsed = Object.freeze(this.#parse(text));
    if (this.#parsed.size >= this.#most) this.#parsed.clear();
    this.#parsed.set(text, parsed);
    return parsed;
  }
}
