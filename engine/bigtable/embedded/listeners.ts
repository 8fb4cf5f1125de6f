/** The functions that are called when something in a store has changed. */
export class Listeners {
  readonly #tells = new Set<() => void>();

  get size(): number {
    return this.#tells.size;
  }

  /** @returns a function that ends the listening */
  add(listener: () => void): () => void {
    const tell = (): void => listener(); // Lets one function listen twice.
    this.#tells.add(tell);
    return () => {
      this.#tells.delete(tell);
    };
  }

  tell(): void {
    // A copy: a listener that ends itself and listens anew would otherwise be told without end.
    const tells = [...this.#tells];
    for (const tell of tells) {
      try {
        if (this.#tells.has(tell)) tell();
      } catch {
        // The change has happened, whatever its listeners make of it.
      }
    }
  }
}
