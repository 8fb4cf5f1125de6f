/**
 * Clusters new documents as in the crawl-rate experiment, in one process and a closed loop: the
 * next document arrives when an earlier one is clustered. So the loop shows the engine's capacity
 * with given settings, not its behaviour at a given rate.
 */
import {
  type CommittedRun,
  openPercolator,
  type Bigtable,
  type Percolator,
  type TimestampOracle,
  type Worker,
} from '#engine';
import { checkPartition, type Check } from './check.ts';
import {
  clusterOneByOne,
  createSyntheticDocuments,
  documentId,
  encodeDocument,
  type KeyedDocument,
  type SyntheticDocuments,
} from './documents/index.ts';
import { clusteringObserver, documentCell, readPartition } from './percolator/tables.ts';
import { loadRepository } from './percolator/load-repository.ts';
import { timedLoop, type LoopOptions, type LoopResult } from '../harness/load/loops.ts';
import type { EngineSettings } from '../harness/engine-settings.ts';

const DOCUMENT_BYTES = 1_024;

export interface Crawl extends AsyncDisposable {
  readonly percolator: Percolator;
  /**
   * Clusters new documents; the latency of each runs from its loading to the commit of its
   * clustering.
   */
  run(options: LoopOptions): Promise<LoopResult>;
  /** Checks that everything is clustered as by the reference clustering. Call nothing after it. */
  check(): Promise<Check>;
  /** Ends the clustering. Resolves with the numbers of the new documents, in commit order. */
  finish(): Promise<readonly number[]>;
}

export interface CrawlOptions {
  readonly settings: EngineSettings;
  /** Default: kept in the storage. */
  readonly oracle?: TimestampOracle | undefined;
  readonly documents: SyntheticDocuments;
  /** Workers that scan and run observers. Together they have `concurrency` runs in flight. */
  readonly scanners: number;
  readonly concurrency: number;
}

export function crawlDocuments(repository: number, seed: number): SyntheticDocuments {
  return createSyntheticDocuments({ repository, documentBytes: DOCUMENT_BYTES, seed });
}

/** Loads the repository into an empty storage. */
export async function loadCrawl(store: Bigtable, documents: SyntheticDocuments): Promise<void> {
  const partition = clusterOneByOne(keyed(documents, 0, documents.repository));
  await using percolator = await openPercolator({ store });
  await loadRepository(percolator, {
    documents: documents.range(0, documents.repository),
    partition,
  });
}

/** Opens a database on a storage with the repository in it. */
export async function openCrawl(store: Bigtable, options: CrawlOptions): Promise<Crawl> {
  const percolator = await openPercolator({ store, oracle: options.oracle, ...options.settings });
  return new RunningCrawl(percolator, options);
}

class RunningCrawl implements Crawl {
  readonly percolator: Percolator;
  readonly #documents: SyntheticDocuments;
  readonly #workers: readonly Worker[];
  /** Callbacks by row, called when the document is clustered. */
  readonly #waiting = new Map<string, () => void>();
  readonly #commits: { readonly n: number; readonly commitTimestamp: number }[] = [];
  /** New documents so far. */
  #crawled = 0;

  constructor(percolator: Percolator, { documents, scanners, concurrency }: CrawlOptions) {
    this.percolator = percolator;
    this.#documents = documents;
    this.#workers = Array.from({ length: scanners }, () =>
      percolator.startWorker([clusteringObserver], {
        concurrency: Math.ceil(concurrency / scanners),
        onCommitted: this.#onCommitted,
      }),
    );
  }

  run(options: LoopOptions): Promise<LoopResult> {
    return timedLoop(async () => {
      const n = this.#documents.repository + this.#crawled++;
      const clustered = Promise.withResolvers<void>();
      this.#waiting.set(documentId(n), clustered.resolve);
      const value = encodeDocument(this.#documents.documentOf(n));
      await this.percolator.transact(
        async (transaction) => transaction.set(documentCell(documentId(n)), value),
        { kind: 'load' },
      );
      await clustered.promise;
    }, options);
  }

  async check(): Promise<Check> {
    return checkCrawl(this.percolator, this.#documents, await this.finish());
  }

  async finish(): Promise<readonly number[]> {
    for (const worker of this.#workers) await worker.stop();
    await this.percolator.settled();
    const commits = this.#commits.toSorted((a, b) => a.commitTimestamp - b.commitTimestamp);
    return commits.map(({ n }) => n);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#workers) await worker.stop();
    await this.percolator.close();
  }

  readonly #onCommitted = ({ cell, commitTimestamp }: CommittedRun): void => {
    this.#commits.push({ n: Number(cell.row), commitTimestamp });
    this.#waiting.get(cell.row)?.();
    this.#waiting.delete(cell.row);
  };
}

/**
 * Checks that the repository and the new documents are clustered as by the reference clustering.
 * @param order the numbers of the new documents, in commit order
 */
export async function checkCrawl(
  percolator: Percolator,
  documents: SyntheticDocuments,
  order: readonly number[],
): Promise<Check> {
  const inOrder = [
    ...keyed(documents, 0, documents.repository),
    ...order.flatMap((n) => keyed(documents, n, n + 1)),
  ];
  return checkPartition(await readPartition(percolator), inOrder, 'commit order');
}

export function keyed(documents: SyntheticDocuments, first: number, end: number): KeyedDocument[] {
  return Array.from({ length: end - first }, (_, i) => ({
    id: documentId(first + i),
    keys: documents.keysOf(first + i),
  }));
}
