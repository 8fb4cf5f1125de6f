/**
 * Compares engines on the same documents, one repeat after the other.
 *
 * Each is timed from the call to durable clusters, and all sync only the clusters: the data between
 * the phases is useless after a crash. The workers of the MapReduce live through all repeats, as in
 * the crawl-rate experiment, so its first repeat is also its slowest. The programs of the others
 * are started for each repeat, as is usual; what their start costs is measured on one document.
 */
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type BatchEngine, batchCpuSeconds } from '../../harness/batch-engines.ts';
import { digestClusters } from './cluster-digest.ts';
import { CLUSTERING } from './cluster-job.ts';
import { readClusters } from './read-clusters.ts';

export interface ContestOptions {
  /** Files of documents, one per worker. */
  readonly inputs: readonly string[];
  /** A file with one document. */
  readonly single: string;
  /** Each run makes a folder here, for its clusters and temporary files, and removes it. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** One run of one engine. */
export interface Run {
  readonly engine: string;
  readonly seconds: number;
  /** Of all its processes; null if it is not known. */
  readonly cpuSeconds: number | null;
  /**
   * The most that its files took at any moment, as far as it was seen. If the folder's path has a
   * comma, Spark's temporary files are elsewhere, and do not count.
   */
  readonly diskBytes: number;
  /** Digest of the clusters; the same documents always give the same digest. */
  readonly digest: string;
}

const DISK_LOOK_MS = 100;

export class Contest {
  readonly #options: ContestOptions;
  #digest: string | undefined;

  constructor(options: ContestOptions) {
    this.#options = options;
  }

  /** Runs the engine on all documents. */
  run(engine: BatchEngine): Promise<Run> {
    return this.#timed(engine, this.#options.inputs);
  }

  /** @throws if the clusters of the run are not those of the runs checked before */
  async check({ engine, digest }: Run): Promise<void> {
    this.#digest ??= digest;
    if (digest === this.#digest) return;
    throw new Error(
      `${engine} found other clusters than the engines before it (${digest}, ${this.#digest}): ` +
        'one of them is broken, and this run has no numbers',
    );
  }

  /** Seconds of a run on one document: what is not work on documents. */
  async startUpSeconds(engine: BatchEngine): Promise<number> {
    return (await this.#timed(engine, [this.#options.single])).seconds;
  }

  async #timed(engine: BatchEngine, inputs: readonly string[]): Promise<Run> {
    const { signal } = this.#options;
    const folder = join(this.#options.folder, 'contest');
    await mkdir(folder);
    const outputFolder = join(folder, 'clusters');
    const disk = watchDisk(folder);
    try {
      const cpuBefore = batchCpuSeconds(engine);
      const startedMs = performance.now();
      const files = inputs.map((path) => ({ path }));
      await engine.run({ chain: CLUSTERING, inputs: files, outputFolder, signal });
      const seconds = (performance.now() - startedMs) / 1000;
      const cpuAfter = batchCpuSeconds(engine);
      return {
        engine: engine.name,
        seconds,
        cpuSeconds: cpuBefore === null || cpuAfter === null ? null : cpuAfter - cpuBefore,
        diskBytes: await disk.end(),
        digest: await digestClusters(readClusters(outputFolder)),
      };
    } finally {
      await disk.end();
      await rm(folder, { recursive: true, force: true });
    }
  }
}

interface DiskWatch {
  /** Ends the watch, with a last look; resolves with the most bytes that were seen. */
  end(): Promise<number>;
}

function watchDisk(folder: string): DiskWatch {
  let most = 0;
  let ended: Promise<number> | undefined;
  const look = async (): Promise<void> => {
    most = Math.max(most, await bytesIn(folder));
  };
  let looking = look();
  const timer = setInterval(() => {
    looking = looking.then(look);
  }, DISK_LOOK_MS);
  const end = async (): Promise<number> => {
    clearInterval(timer);
    await looking;
    await look();
    return most;
  };
  return { end: async () => (ended ??= end()) };
}

/** Files may go while they are counted. */
async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async ({ parentPath, name }) => {
        const found = await stat(join(parentPath, name)).catch(() => undefined);
        return found === undefined ? 0 : found.blocks * 512;
      }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
