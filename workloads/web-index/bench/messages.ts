/** What the process of the bench's pipeline is told, and what it answers. */
import type { StoreAddress } from '#engine';
import type { StoreCounts } from '../../harness/stores/store-counts.ts';
import type { CrawlSize } from './crawl.ts';
import type { Sighting } from './sightings.ts';

export interface BenchPipelineOptions {
  readonly store: StoreAddress;
  readonly indexFolder: string;
  readonly crawl: CrawlSize;
}

export type ToPipeline =
  /** Loads the repository, at full speed; answers when no observer has work left. */
  | { readonly kind: 'load' }
  /** Recrawls before this number have arrived. */
  | { readonly kind: 'arrived'; readonly end: number }
  /** Calls of the store count from now on, for the recrawls from this number on. No answer. */
  | { readonly kind: 'count from'; readonly arrival: number }
  /** No more recrawls arrive; answers when no observer has work left. */
  | { readonly kind: 'finish' };

export interface LoadedAnswer {
  readonly seconds: number;
  /** Per document. */
  readonly counts: StoreCounts;
}

export interface FinishedAnswer {
  readonly sightings: readonly Sighting[];
  /** Per recrawl. */
  readonly counts: StoreCounts;
  /** What the check has found; empty if all is well. */
  readonly findings: readonly string[];
}
