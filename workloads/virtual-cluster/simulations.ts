/**
 * Simulations in threads of their own, as many at a time as there are jobs: those of one figure are
 * independent, and each is single-threaded.
 */
import type { SyntheticOptions } from '../crawl-rate/documents/index.ts';
import type { BrokeragePlan, BrokerageResult } from './figure-9/brokerage.ts';
import type { CrawlPlan, CrawlResult } from './figure-7/crawl.ts';
import type { ClusteredKeys } from './figure-7/repository.ts';
import { runThread } from '../harness/processes/thread.ts';

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
  const documents = simulation.kind === 'crawl' ? JSON.stringify(simulation.documents) : '';
  const clustered = latest?.documents === documents ? latest.clustered : undefined;
  const performed = await runThread<Performed>(new URL('simulation-thread.ts', import.meta.url), {
    data: { simulation, clustered } satisfies ThreadData,
    signal,
  });
  if (performed.clustered !== undefined) latest = { documents, clustered: performed.clustered };
  return performed.result as ResultOf<S>;
}
