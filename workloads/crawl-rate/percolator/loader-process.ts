/** The loader as a process: loads the documents it is told of. Their observers run elsewhere. */
import { serve } from '../../harness/processes/index.ts';
import type { ProcessOptions, ToLoader } from './messages.ts';
import { openAsTold, startLoading } from './serve-engine.ts';

await serve<ToLoader>(async (options: ProcessOptions) => {
  const { percolator, close } = await openAsTold(options);
  const { hear } = startLoading(percolator, options);
  return { onMessage: hear, stop: close };
});
