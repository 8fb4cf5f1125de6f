/**
 * A process that only clusters: workers with the observer of the experiment linked in, which find
 * their work by scanning, because other processes load the documents.
 */
import { serve } from '../../harness/processes/index.ts';
import { clusteringObserver } from './tables.ts';
import type { ProcessOptions, ToWorker } from './messages.ts';
import { openProcessDatabase, startClustering } from './serve-engine.ts';

await serve<ToWorker>(async (options: ProcessOptions) => {
  const database = await openProcessDatabase(options);
  const { hear, stop } = startClustering(database, [clusteringObserver], options);
  return {
    onMessage: hear,
    stop: async () => {
      await stop();
      await database.close();
    },
  };
});
