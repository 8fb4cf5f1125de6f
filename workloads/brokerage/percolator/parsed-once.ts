/**
 * Values that many transactions read and few change, such as the prices of securities: equal bytes
 * are parsed once, and all readers share the object. This saves no reads of the store.
 */

/** Objects of one kind by their text. */
export class ParsedOnce<V extends object> {
  readonly #parse: (text: string) => V;
  readonly #most: number;
  readonly #parsed = new Map<string, V>();

  /**
   * @param most maximum number of texts; when it is reached, all are forgotten, because those still
   * in use return soon
   */
  constructor(parse: (text: string) => V, most: number) {
    this.#parse = parse;
    this.#most = most;
  }

  /** The object is frozen, because callers share it. */
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
