/** The functions that are called when something in a store has changed. */
import type { ChangeListener } from '../bigtable.ts';

export class Listeners {
  readonly #tells = new Set<ChangeListener>();

  get size(): number {
    return this.#tells.size;
  }

  /** @returns a function that ends the listening */
  add(listener: ChangeListener): () => void {
    const tell: ChangeListener = (tables) => listener(tables); // Lets one function listen twice.
    this.#tells.add(tell);
    return () => {
      this.#tells.delete(tell);
    };
  }

  tell(tables?: ReadonlySet<string>): void {
    // A copy: a listener that ends itself and listens anew would otherwise be told without end.
    const tells = [...this.#tells];
    for (const tell of tells) {
      try {
        if (this.#tells.has(tell)) tell(tables);
      } catch {
        // The change has happened, whatever its listeners make of it.
      }
    }
  }
}
