/**
 * The tables of a damaged store: the newest catalog that is intact, and what is legible of damaged
 * ones that are newer. An older catalog lacks the tables that were made since, and still has those
 * that were dropped.
 */
import { type Catalog, EMPTY_CATALOG, type TableEntry } from './catalog.ts';

/** As `JSON.stringify` writes an entry: damage somewhere else leaves it as it is. */
const ENTRY =
  /\{"id":\d+,"name":"(?:[^"\\]|\\.)*","families":\["(?:[^"\\]|\\.)*"(?:,"(?:[^"\\]|\\.)*")*\],"splits":\[[^\]]*\]\}/g;

export class SalvagedCatalog {
  #catalog = EMPTY_CATALOG;
  /** Whether no newer one is known to be lost. */
  #isNewest = false;
  #texts: string[] = [];

  /** A catalog that is intact, newer than all that were added before. */
  add(catalog: Catalog): void {
    this.#catalog = catalog;
    this.#isNewest = true;
    this.#texts = [];
  }

  /** What may hold a newer catalog, or parts of one. */
  addDamaged(text: Buffer): void {
    this.#texts.push(text.toString());
  }

  /** A newer one was there, and is lost. */
  lose(): void {
    this.#isNewest = false;
  }

  get isNewest(): boolean {
    return this.#isNewest;
  }

  /** Tables whose entries are from damaged bytes, so that a name may be wrong. */
  get doubtful(): readonly TableEntry[] {
    if (this.#isNewest) return [];
    const { tables } = this.#catalog;
    const found = this.#texts.flatMap((text) => text.match(ENTRY) ?? []).flatMap(entryOf);
    const newest = new Map(found.map((entry) => [entry.id, entry]));
    for (const { id, name } of tables) {
      newest.delete(id);
      for (const one of newest.values()) if (one.name === name) newest.delete(one.id);
    }
    return [...newest.values()];
  }

  /** In an older one, no id counts as that of a dropped table. */
  get catalog(): Catalog {
    if (this.#isNewest) return this.#catalog;
    return { nextId: 1, tables: [...this.#catalog.tables, ...this.doubtful] };
  }
}

function entryOf(text: string): readonly TableEntry[] {
  try {
    return [JSON.parse(text) as TableEntry];
  } catch {
    return [];
  }
}
