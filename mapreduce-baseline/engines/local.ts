/**
 * Chains by this baseline itself, on a pool of worker processes that lives as long as the engine. A
 * signal that ends a run ends the pool, too: the engine takes no run after that.
 */
import { runChain } from '../job-chain.ts';
import { MEMORY_BYTES_MIN } from '../job-options.ts';
import { openWorkerPool } from '../worker-pool.ts';
import type { ChainEngine, EngineSize } from './engine.ts';

export async function localEngine({ workers, memoryBytes }: EngineSize): Promise<ChainEngine> {
  const pool = await openWorkerPool({ workers });
  return {
    name: 'MapReduce',
    run: async ({ chain, inputs, outputFolder, signal }) => {
      signal?.throwIfAborted();
      // Without workers a running job fails at once, instead of running to its end.
      const stop = (): void => void pool[Symbol.asyncDispose]();
      signal?.addEventListener('abort', stop);
      const share = Math.floor(memoryBytes / workers);
      const memoryBytesPerWorker = Math.max(MEMORY_BYTES_MIN, share);
      try {
        await runChain(pool, { chain, inputs, outputFolder, memoryBytesPerWorker });
      } finally {
        signal?.removeEventListener('abort', stop);
      }
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}
