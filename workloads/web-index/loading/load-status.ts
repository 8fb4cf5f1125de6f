/**
 * How far a crawl is on its way to the searcher: counted in the process that loads it, and shown in
 * the panel of the search page.
 */
import type { CommittedRun } from '#engine';

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

/**
 * What has happened to an address once a run of the observer for it has committed, even one that
 * found nothing to do.
 */
const STAGES: readonly (readonly [observer: string, stage: string])[] = [
  ['document-processor', 'read'],
  ['renderer', 'rendered'],
  ['clustering', 'clustered'],
  ['ranker', 'ranked'],
];

/**
 * Counts the addresses for which the observer of each stage has committed a run. They are counts
 * of this process, that is, of one load; only the results are those of all loads.
 */
export class Stages {
  readonly #captured = new Set<string>();
  readonly #reached = new Map(STAGES.map(([observer]) => [observer, new Set<string>()]));

  captured(url: string): void {
    this.#captured.add(url);
  }

  /** For `onCommitted` of a worker. */
  readonly committed = ({ observer, cell }: CommittedRun): void => {
    this.#reached.get(observer)?.add(cell.row);
  };

  /** @param results number of pages that are served */
  counts(results: number): readonly LoadStage[] {
    const between = STAGES.map(([observer, name]) => ({
      name: `${name} in this load`,
      documents: this.#reached.get(observer)?.size ?? 0,
    }));
    const first = { name: 'addresses captured in this load', documents: this.#captured.size };
    const last = { name: 'results of all loads that can be found', documents: results };
    return [first, ...between, last];
  }
}
