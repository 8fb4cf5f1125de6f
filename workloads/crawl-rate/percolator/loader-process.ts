/**
 * The loader as a process: loads the announced documents. Their observers run in other processes.
 */
import { serve } from '../../harness/processes/index.ts';
import type { ProcessOptions, ToLoader } from './messages.ts';
import { openProcessDatabase, startLoading } from './serve-engine.ts';

await serve<ToLoader>(async (options: ProcessOptions) => {
  const { percolator, close } = await openProcessDatabase(options);
  const { hear } = startLoading(percolator, options);
  return { onMessage: hear, stop: close };
});
