/** A serving index in memory, for tests: it can tell what is served, and what has arrived. */
import type { ServedPage } from '../model/index.ts';
import type { ExportTarget } from '../serving/serving-index.ts';

export class MemoryServingIndex implements ExportTarget {
  readonly #versions = new Map<string, number>();
  readonly #pages = new Map<string, ServedPage>();
  /** Calls that changed something. */
  applied = 0;
  /** Calls whose version was not above the last one. */
  refused = 0;

  /** By URL. */
  get pages(): ReadonlyMap<string, ServedPage> {
    return this.#pages;
  }

  /** The version of the last change, by URL; of removals, too. */
  get versions(): ReadonlyMap<string, number> {
    return this.#versions;
  }

  async put(page: ServedPage, version: number): Promise<void> {
    if (this.#advance(page.url, version)) this.#pages.set(page.url, page);
  }

  async remove(url: string, version: number): Promise<void> {
    if (this.#advance(url, version)) this.#pages.delete(url);
  }

  #advance(url: string, version: number): boolean {
    const isNew = version > (this.#versions.get(url) ?? 0);
    if (isNew) this.#versions.set(url, version);
    if (isNew) this.applied++;
    else this.refused++;
    return isNew;
  }
}
