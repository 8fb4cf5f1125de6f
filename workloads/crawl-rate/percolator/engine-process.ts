/**
 * The engine in one process: loads the announced documents, and clusters them.
 *
 *     generator (the parent) ──"due"──▶ loading transactions ─▶ notifications ─▶ observers
 *
 * Notifications of its own transactions reach its worker without a scan. Started by point.ts.
 */
import { serve } from '../../harness/processes/index.ts';
import { clusteringObserver } from './tables.ts';
import type { ProcessOptions, ToLoader, ToWorker } from './messages.ts';
import { openProcessDatabase, startClustering, startLoading } from './serve-engine.ts';

await serve<ToLoader | ToWorker>(async (options: ProcessOptions) => {
  const database = await openProcessDatabase(options);
  const { loading, hear: hearAsLoader } = startLoading(database.percolator, options);
  const onClustered = (documents: number): void => loading.setClustered(documents);
  const clustering = startClustering(database, [clusteringObserver], { ...options, onClustered });
  return {
    onMessage: (message) => {
      if (message.kind === 'begin' || message.kind === 'report') clustering.hear(message);
      else if (message.kind !== 'clustered') hearAsLoader(message); // The loader is told directly.
    },
    stop: async () => {
      await clustering.stop();
      await database.close();
    },
  };
});
