/**
 * When each recrawled edition of a page could be found: once the serving index's call had resolved.
 *
 * A page can be found under its own address or as a duplicate of a result. So a result shows its
 * edition for all of its addresses.
 */
import type { ServedPage } from '../model/index.ts';
import { editionOf } from './crawl.ts';

export interface Sighting {
  readonly url: string;
  readonly edition: number;
  /** By the clock that all processes of the machine share. */
  readonly atUs: number;
}

export class Sightings {
  readonly all: Sighting[] = [];
  readonly #shown = new Map<string, number>();

  /** The page can be found from `atUs` on. */
  add({ url, duplicates, text }: ServedPage, atUs: number): void {
    const edition = editionOf(text);
    if (edition === undefined) return;
    for (const one of [url, ...duplicates]) {
      if ((this.#shown.get(one) ?? 0) >= edition) continue;
      this.#shown.set(one, edition);
      this.all.push({ url: one, edition, atUs });
    }
  }
}
