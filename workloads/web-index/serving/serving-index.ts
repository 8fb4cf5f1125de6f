/**
 * The contract of the serving index: what a searcher reads while the crawl is still loading.
 *
 * The pipeline exports each changed page to it, at least once and in any order; the version of a
 * page decides which of two exports holds. So `put` and `remove` may be repeated, and may overtake
 * one another between processes. Without versions, a late export of an older page would bring it
 * back, and a page that was removed would return.
 *
 * The whole index can be computed again from the tables: it is a copy in another order, never the
 * only place of anything.
 */
import type { ServedPage } from '../model/index.ts';

export interface VersionedPage {
  readonly page: ServedPage;
  /** Grows with each change of the page; a whole number above 0. */
  readonly version: number;
}

/** What is to be served under a URL from a version on. */
export interface IndexChange {
  readonly url: string;
  /** Undefined if nothing is. */
  readonly page: ServedPage | undefined;
  readonly version: number;
}

/** A text in pieces, some of which matched the query. */
export type MarkedText = readonly { readonly text: string; readonly isHit: boolean }[];

export interface SearchResult {
  readonly url: string;
  readonly title: MarkedText;
  readonly snippet: MarkedText;
  readonly language: string;
  /** Texts of links to it, the most frequent first. */
  readonly anchors: readonly string[];
  /** Other URLs with the same content. */
  readonly duplicates: readonly string[];
  /** When the crawler fetched it, in milliseconds since 1970. */
  readonly capturedMs: number;
}

export interface SearchResults {
  /** Pages that match, on all pages of results. */
  readonly total: number;
  /** Whether each result has all words of the query; if no page has, each has some. */
  readonly haveAllWords: boolean;
  /** The best first. */
  readonly results: readonly SearchResult[];
}

export interface SearchRange {
  readonly limit: number;
  /** Default 0. */
  readonly offset?: number | undefined;
}

/** What a process that only searches needs. */
export interface IndexReader extends Disposable {
  /** Any text is a query: nothing that a searcher types is an error. */
  search(query: string, range: SearchRange): SearchResults;
  /** The number of pages that are served. */
  count(): number;
  /** Every page that is served, in the order of URLs, as of one moment. */
  pages(): Iterable<VersionedPage>;
  /** The version of the last change of each URL, removals included. */
  versions(): ReadonlyMap<string, number>;
}

/**
 * What the pipeline exports to. It takes part in no transaction, so an export may arrive twice, or
 * late, after a newer one.
 */
export interface ExportTarget {
  /**
   * Serves the page from now on, unless this or a newer version of its URL has been put or removed.
   * So the index remembers the versions of removals, too. Resolves when that is as durable as the
   * index itself; one on the disk survives a power failure.
   */
  put(page: ServedPage, version: number): Promise<void>;
  /**
   * Serves the URL no more, unless this or a newer version of it has been put or removed. Resolves
   * as `put` does.
   */
  remove(url: string, version: number): Promise<void>;
}

/**
 * Several processes may have it open. Close it with `await using`: `using` would close only what
 * searches.
 */
export interface ServingIndex extends IndexReader, ExportTarget, AsyncDisposable {
  /** Replaces all that the index holds, in one step: for a rebuild, and for a batch's result. */
  replaceAll(changes: Iterable<IndexChange>): Promise<void>;
}
