/** A worker as a process: clusters the documents that it finds by scanning, and tells its parent. */
import type { Counters } from '#engine';
import { clusteringObserver } from '../crawl-rate/percolator/clustering-observer.ts';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import {
  openDatabase,
  type SharedDatabase,
  serve,
  tellParent,
} from '../harness/processes/index.ts';

export interface WorkerProcessOptions {
  readonly database: SharedDatabase;
  readonly concurrency: number;
}

/** Rows whose observer has committed since the last message, and when. */
export interface Clustered {
  readonly rows: readonly (readonly [row: string, atMs: number])[];
  readonly counters: Counters;
}

/** Between two messages. What a killed worker has not told is found in the storage. */
const TELL_MS = 20;

await serve(async ({ database, concurrency }: WorkerProcessOptions) => {
  const { percolator, rangeLocks, close } = await openDatabase(database);
  let rows: (readonly [string, number])[] = [];
  const worker = percolator.startWorker([clusteringObserver], {
    concurrency,
    rangeLocks,
    onCommitted: ({ cell }) => void rows.push([cell.row, monotonicMs()]),
  });
  const tell = (): void => {
    tellParent({ rows, counters: percolator.counters } satisfies Clustered);
    rows = [];
  };
  const teller = setInterval(tell, TELL_MS);
  return {
    stop: async () => {
      clearInterval(teller);
      await worker.stop();
      await percolator.settled();
      tell();
      await close();
    },
  };
});
