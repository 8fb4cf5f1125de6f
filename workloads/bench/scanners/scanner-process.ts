/** A scanner of bench:scanners: a worker in a process of its own, with a slow observer. */
import {
  connectLockService,
  connectOracle,
  entropySeed,
  localProcesses,
  type Observer,
  openPercolator,
  openStore,
  systemClock,
  type Worker,
} from '#engine';
import { serve, tellParent } from '../../harness/processes/index.ts';
import {
  type BeginMessage,
  COLUMN,
  type ScannerCounts,
  READ_COLUMN,
  type ScannerOptions,
  TABLE,
} from './measure.ts';

const COUNTS_MS = 20;
/** The same for all modes; by default, scanners without locks read more rows at a time. */
const SCAN_ROWS = 32;

await serve<BeginMessage>(async (options: ScannerOptions) => {
  const { place, mode, engine, concurrency, thinkMs } = options;
  const store = await openStore(place.store);
  const oracle = connectOracle({ addresses: place.oracles });
  const local = localProcesses(String(entropySeed()));
  const service = connectLockService({ addresses: [place.lockService], local });
  const percolator = await openPercolator({ store, oracle, liveness: service, ...engine });
  const counts = { begun: 0 };
  let worker: Worker | undefined;
  const over = new AbortController();
  const begin = (): void => {
    worker = percolator.startWorker([observerThat(counts, thinkMs)], {
      concurrency,
      scanRows: SCAN_ROWS,
      ...(mode === 'none' ? {} : { rangeLocks: service, onMeeting: mode }),
    });
    void tellForever(worker, counts, over.signal);
  };
  const stop = async (): Promise<void> => {
    over.abort();
    await worker?.stop();
    await percolator.close();
    await Promise.all([oracle.close(), service.close()]);
    await store.close();
  };
  return { onMessage: begin, stop };
});

/**
 * An observer that takes the time of a document without its CPU cost: it reads, thinks and writes.
 */
function observerThat(counts: { begun: number }, thinkMs: number): Observer {
  return {
    name: 'reader',
    table: TABLE,
    column: COLUMN,
    run: async (transaction, { row }) => {
      counts.begun++;
      const contents = await transaction.get({ table: TABLE, row, column: COLUMN });
      await systemClock.sleep(thinkMs);
      transaction.set({ table: TABLE, row, column: READ_COLUMN }, contents ?? Buffer.alloc(0));
    },
  };
}

async function tellForever(
  worker: Worker,
  counts: { readonly begun: number },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const { runs: committed, meetings } = worker.counters;
    tellParent({
      kind: 'counts',
      begun: counts.begun,
      committed,
      meetings,
    } satisfies ScannerCounts);
    await systemClock.sleep(COUNTS_MS, signal);
  }
}
