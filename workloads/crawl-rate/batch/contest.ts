/**
 * Compares the MapReduce with the sort pipeline on the same documents, one repeat after the other.
 *
 * Both are timed from the call to durable clusters. Both sync only the clusters: the data between
 * the phases is useless after a crash. The workers of the MapReduce live through all repeats, as in
 * the crawl-rate experiment, so its first repeat is also its slowest. The programs of the pipeline
 * are started for each repeat, as is usual in a pipeline.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { WorkerPool } from '#mapreduce';
import { digestClusters } from './cluster-digest.ts';
import { clusterInBatch, readClusters, type BatchReport } from './index.ts';
import { readClusterFile } from './read-clusters.ts';
import { clusterBySortPipeline } from './sort-pipeline.ts';

export interface ContestOptions {
  /** Files of documents, one per worker. */
  readonly inputs: readonly string[];
  /**
   * For the clusters of both, which are removed before each repeat, and for the spill files of
   * sort.
   */
  readonly folder: string;
  readonly memoryBytesPerWorker: number;
  readonly signal: AbortSignal;
}

/** One repeat in which both found the same clusters; otherwise the repeat throws. */
export interface Repeat {
  readonly batch: BatchReport;
  readonly batchSeconds: number;
  readonly pipelineSeconds: number;
  /** Digest of the clusters; the same documents always give the same digest. */
  readonly digest: string;
}

export class Contest {
  readonly #pool: WorkerPool;
  readonly #options: ContestOptions;
  readonly #batchOutput: string;
  readonly #pipelineOutput: string;

  constructor(pool: WorkerPool, options: ContestOptions) {
    this.#pool = pool;
    this.#options = options;
    this.#batchOutput = join(options.folder, 'clusters-by-mapreduce');
    this.#pipelineOutput = join(options.folder, 'clusters-by-sort');
  }

  async repeat(batchFirst: boolean): Promise<Repeat> {
    await rm(this.#batchOutput, { recursive: true, force: true });
    await rm(this.#pipelineOutput, { force: true });
    const early = batchFirst ? await this.#timeBatch() : undefined;
    const pipelineSeconds = await this.#timePipeline();
    const batch = early ?? (await this.#timeBatch());
    return { ...batch, pipelineSeconds, digest: await this.#digestOfBoth() };
  }

  async #timeBatch(): Promise<Pick<Repeat, 'batch' | 'batchSeconds'>> {
    const { inputs, memoryBytesPerWorker, signal } = this.#options;
    signal.throwIfAborted();
    const startedMs = performance.now();
    const batch = await clusterInBatch(this.#pool, {
      inputs: inputs.map((path) => ({ path })),
      outputFolder: this.#batchOutput,
      memoryBytesPerWorker,
    });
    return { batch, batchSeconds: (performance.now() - startedMs) / 1000 };
  }

  async #timePipeline(): Promise<number> {
    const { inputs, folder, memoryBytesPerWorker, signal } = this.#options;
    signal.throwIfAborted();
    const startedMs = performance.now();
    await clusterBySortPipeline({
      inputs,
      output: this.#pipelineOutput,
      memoryBytes: memoryBytesPerWorker * this.#pool.size,
      temporaryFolder: folder,
      signal,
    });
    return (performance.now() - startedMs) / 1000;
  }

  async #digestOfBoth(): Promise<string> {
    const byBatch = await digestClusters(readClusters(this.#batchOutput));
    const byPipeline = await digestClusters(readClusterFile(this.#pipelineOutput));
    if (byBatch === byPipeline) return byBatch;
    throw new Error(
      `the MapReduce and the pipeline found different clusters (${byBatch}, ${byPipeline}): ` +
        'one of them is broken, and this run has no numbers',
    );
  }
}
