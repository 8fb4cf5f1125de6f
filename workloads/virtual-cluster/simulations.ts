/**
 * Simulations in threads of their own, as many at a time as there are jobs: those of one figure are
 * independent, and each is single-threaded.
 */
import { Worker } from 'node:worker_threads';
import type { SyntheticOptions } from '../crawl-rate/documents/index.ts';
import type { CrawlPlan, CrawlResult } from './figure-7/crawl.ts';

export interface Simulation {
  readonly kind: 'crawl';
  readonly documents: SyntheticOptions;
  readonly plan: CrawlPlan;
}

export type SimulationResult = CrawlResult;

/** With Node's default size, messages in flight survive too often, which costs time. */
const YOUNG_GENERATION_MB = 96;

/**
 * Begins them in order. Rejects with the first failure, or when the signal aborts.
 * @param onResult called with the index and the result of each
 */
export async function performAll(
  simulations: readonly Simulation[],
  { jobs, signal }: { readonly jobs: number; readonly signal: AbortSignal },
  onResult: (index: number, result: SimulationResult) => void,
): Promise<void> {
  let next = 0;
  const take = async (): Promise<void> => {
    while (next < simulations.length) {
      signal.throwIfAborted();
      const index = next++;
      const simulation = simulations[index];
      if (simulation !== undefined) onResult(index, await performInThread(simulation, signal));
    }
  };
  await Promise.all(Array.from({ length: Math.min(jobs, simulations.length) }, take));
}

function performInThread(simulation: Simulation, signal: AbortSignal): Promise<SimulationResult> {
  const worker = new Worker(new URL('simulation-thread.ts', import.meta.url), {
    workerData: simulation,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
  const stop = (): void => {
    void worker.terminate();
  };
  signal.addEventListener('abort', stop);
  return new Promise((resolve, reject) => {
    worker.on('message', resolve);
    worker.on('error', reject);
    worker.on('exit', () => {
      signal.removeEventListener('abort', stop);
      reject(signal.aborted ? signal.reason : new Error('a simulation ended without a result'));
    });
  });
}
