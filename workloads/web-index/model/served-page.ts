/** One result of the index, as it is exported: a cluster of pages under its canonical URL. */
import type { Anchor } from './anchors.ts';

export interface ServedPage {
  /** The canonical URL. */
  readonly url: string;
  readonly title: string;
  readonly text: string;
  readonly language: string;
  /** By text, sorted; each count is a power of two (anchors.ts). */
  readonly anchors: readonly Anchor[];
  /** The other URLs with the same rendered form, sorted. */
  readonly duplicates: readonly string[];
  /** The rank of the canonical URL, as results show it (page-rank.ts). */
  readonly rank: number;
  /** When the canonical URL was last fetched, in milliseconds since 1970. */
  readonly capturedMs: number;
}
