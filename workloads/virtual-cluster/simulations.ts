/**
 * Simulations in threads of their own, as many at a time as there are jobs: those of one figure are
 * independent, and each is single-threaded.
 */
import { totalmem } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { SyntheticOptions } from '../crawl-rate/documents/index.ts';
import type { BrokeragePlan, BrokerageResult } from './figure-9/brokerage.ts';
import { UsageError } from '#results';
import { bytesText } from '../harness/experiment/disk-space.ts';
import type { CrawlPlan, CrawlResult } from './figure-7/crawl.ts';
import type { ClusteredKeys } from './figure-7/repository.ts';

export interface CrawlSimulation {
  readonly kind: 'crawl';
  readonly documents: SyntheticOptions;
  readonly plan: CrawlPlan;
}

export interface BrokerageSimulation {
  readonly kind: 'brokerage';
  /** A function would not survive the way to another thread. */
  readonly plan: Omit<BrokeragePlan, 'disturb'>;
}

export type Simulation = CrawlSimulation | BrokerageSimulation;

export type ResultOf<S extends Simulation> = S extends CrawlSimulation
  ? CrawlResult
  : BrokerageResult;

/** What a thread is given. */
export interface ThreadData {
  readonly simulation: Simulation;
  /**
   * The repository of a crawl, if the latest one that a thread has posted is of the same documents.
   */
  readonly clustered: ClusteredKeys | undefined;
}

/** What a thread posts. */
export interface Performed {
  readonly result: CrawlResult | BrokerageResult;
  readonly clustered?: ClusteredKeys;
}

/**
 * The latest repository. Most crawls of a figure have the same one, and clustering its million
 * documents takes a thread longer than a small crawl.
 */
let latest: { readonly documents: string; readonly clustered: ClusteredKeys } | undefined;

/**
 * With Node's default young generation, messages in flight survive its collections and are copied,
 * which costs time. With its default old generation, a large brokerage runs out of memory although
 * the machine has more.
 */
const RESOURCE_LIMITS = {
  maxYoungGenerationSizeMb: 96,
  maxOldGenerationSizeMb: Math.round((0.85 * totalmem()) / 2 ** 20),
};

/**
 * Begins the simulations in order. Rejects with the first failure, or when the signal aborts;
 * simulations that have begun are stopped.
 * @param onResult called with the index and the result of each, until one fails
 */
export async function performAll<S extends Simulation>(
  simulations: readonly S[],
  { jobs, signal }: { readonly jobs: number; readonly signal: AbortSignal },
  onResult: (index: number, result: ResultOf<S>) => void,
): Promise<void> {
  const failed = new AbortController();
  const ending = AbortSignal.any([signal, failed.signal]);
  let next = 0;
  const take = async (): Promise<void> => {
    while (next < simulations.length) {
      ending.throwIfAborted();
      const index = next++;
      const simulation = simulations[index];
      if (simulation === undefined) return;
      const result = await performInThread(simulation, ending);
      failed.signal.throwIfAborted(); // The thread may have ended before it could be stopped.
      onResult(index, result);
    }
  };
  const takers = Array.from({ length: Math.min(jobs, simulations.length) }, async () => {
    await take().catch((error: unknown) => {
      failed.abort(error);
      throw error;
    });
  });
  await Promise.all(takers);
}

export async function performInThread<S extends Simulation>(
  simulation: S,
  signal: AbortSignal,
): Promise<ResultOf<S>> {
  signal.throwIfAborted();
  const documents = simulation.kind === 'crawl' ? JSON.stringify(simulation.documents) : '';
  const clustered = latest?.documents === documents ? latest.clustered : undefined;
  const worker = new Worker(new URL('simulation-thread.ts', import.meta.url), {
    workerData: { simulation, clustered } satisfies ThreadData,
    resourceLimits: RESOURCE_LIMITS,
  });
  const stop = (): void => {
    void worker.terminate();
  };
  signal.addEventListener('abort', stop);
  return new Promise((resolve, reject) => {
    worker.on('message', ({ result, clustered: keys }: Performed) => {
      if (keys !== undefined) latest = { documents, clustered: keys };
      resolve(result as ResultOf<S>);
    });
    worker.on('error', (error: Error & { readonly code?: string }) => {
      reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooLittleMemory() : error);
    });
    worker.on('exit', () => {
      signal.removeEventListener('abort', stop);
      reject(signal.aborted ? signal.reason : new Error('a simulation ended without a result'));
    });
  });
}

function tooLittleMemory(): UsageError {
  return new UsageError(
    'A simulation needs more memory than a thread may use here ' +
      `(85 % of ${bytesText(totalmem())}). With a smaller load or repository it needs less.`,
  );
}
