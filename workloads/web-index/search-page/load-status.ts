/** How far a crawl is on its way to the searcher, for the panel of the search page. */

export interface LoadStage {
  /** A few words: `rendered in this load`. */
  readonly name: string;
  /**
   * Documents that have reached this stage, so far; the name says whether in this load or in all.
   */
  readonly documents: number;
}

export interface LoadStatus {
  readonly state: 'loading' | 'ready';
  /** In the order in which a document goes through them; at the last one it can be found. */
  readonly stages: readonly LoadStage[];
}

/** Tells its watchers about each change. */
export class LoadProgress {
  #status: LoadStatus;
  readonly #watchers = new Set<() => void>();

  constructor(status: LoadStatus) {
    this.#status = status;
  }

  get status(): LoadStatus {
    return this.#status;
  }

  update(change: Partial<LoadStatus>): void {
    this.#status = { ...this.#status, ...change };
    for (const watcher of this.#watchers) watcher();
  }

  /** Calls `watcher` after each change, until the returned function is called. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }
}
