/**
 * The serving index, as the pipeline sees it: an outside system that answers queries. It takes part
 * in no transaction, so an export may arrive twice, or late, after a newer one.
 */
import type { ServedPage } from '../model/index.ts';

export interface ServingIndex {
  /**
   * Serves the page under its URL. Resolves when that is as durable as the index itself.
   *
   * A call whose version is not above the last one of that URL, removals included, changes nothing.
   * So an index that removes a page must remember the version of the removal.
   */
  put(page: ServedPage, version: number): Promise<void>;
  /** Serves nothing under the URL any more; versions as for `put`. */
  remove(url: string, version: number): Promise<void>;
}
