/**
 * A worker as a process: runs the observer of the workload on what it finds by scanning, and tells
 * its parent which runs have committed.
 */
import type { Counters, Observer } from '#engine';
import { brokerObserver } from '../brokerage/percolator/broker-update.ts';
import { clusteringObserver } from '../crawl-rate/percolator/tables.ts';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import {
  openDatabase,
  type SharedDatabase,
  serve,
  tellParent,
} from '../harness/processes/index.ts';
import type { WorkloadName } from './workload.ts';

export interface WorkerProcessOptions {
  readonly database: SharedDatabase;
  readonly workload: WorkloadName;
  readonly concurrency: number;
}

/** Rows whose observer has committed since the last message, and when. */
export interface Observed {
  readonly rows: readonly (readonly [row: string, atMs: number])[];
  readonly counters: Counters;
}

/** Time between two messages. What a killed worker has not told is found in the storage. */
const TELL_MS = 20;

const OBSERVERS: Readonly<Record<WorkloadName, Observer>> = {
  brokerage: brokerObserver,
  'crawl-rate': clusteringObserver,
};

await serve(async ({ database, workload, concurrency }: WorkerProcessOptions) => {
  const { percolator, rangeLocks, close } = await openDatabase(database);
  let rows: (readonly [string, number])[] = [];
  const worker = percolator.startWorker([OBSERVERS[workload]], {
    concurrency,
    rangeLocks,
    onCommitted: ({ cell }) => void rows.push([cell.row, monotonicMs()]),
  });
  const tell = (): void => {
    tellParent({ rows, counters: percolator.counters } satisfies Observed);
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
