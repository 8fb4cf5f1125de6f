/** Code common to the processes of the engine: opening the database, loading, and clustering. */
import {
  type Observer,
  openPercolator,
  openStore,
  type Percolator,
  type PercolatorOptions,
  unreachable,
} from '#engine';
import { openDatabase, type OpenDatabase, tellParent } from '../../harness/processes/index.ts';
import { settingsOf } from '../../harness/engine-settings.ts';
import { Clustered } from './clustered.ts';
import { Loading } from './loading.ts';
import {
  type FromLoader,
  type FromWorker,
  type ProcessOptions,
  REPORT_MS,
  type ToLoader,
  type ToWorker,
} from './messages.ts';

/** With range locks only where several processes share the database. */
type ProcessDatabase = Omit<OpenDatabase, 'rangeLocks'> & Partial<OpenDatabase>;

export async function openProcessDatabase({
  database,
  engine,
}: ProcessOptions): Promise<ProcessDatabase> {
  const settings: Partial<PercolatorOptions> = settingsOf(engine);
  if ('shared' in database) return openDatabase(database.shared, settings);
  const store = await openStore(database.store);
  const percolator = await openPercolator({ store, ...settings });
  const close = async (): Promise<void> => {
    await percolator.close();
    await store.close();
  };
  return { percolator, close };
}

/** The loading part of a process. */
export function startLoading(
  percolator: Percolator,
  options: ProcessOptions,
): { readonly loading: Loading; readonly hear: (message: ToLoader) => void } {
  const loading = new Loading(percolator, options);
  const finish = async (): Promise<void> => {
    tellParent({ kind: 'loaded', documents: await loading.finish() } satisfies FromLoader);
  };
  const hear = (message: ToLoader): void => {
    switch (message.kind) {
      case 'due':
        return loading.load(message.end);
      case 'clustered':
        return loading.setClustered(message.documents);
      case 'finish':
        return void finish();
      default:
        return unreachable(message);
    }
  };
  return { loading, hear };
}

/** The clustering part of a process: runs the observers, and reports progress to the parent. */
export function startClustering(
  { percolator, rangeLocks }: ProcessDatabase,
  observers: readonly Observer[],
  options: ProcessOptions & { readonly onClustered?: ((documents: number) => void) | undefined },
): { readonly hear: (message: ToWorker) => void; readonly stop: () => Promise<void> } {
  const { schedule, concurrency, engine, onClustered = () => {} } = options;
  const clustered = new Clustered(schedule);
  const workers = Array.from({ length: engine.scanners }, () =>
    percolator.startWorker(observers, {
      concurrency: Math.ceil(concurrency / engine.scanners),
      rangeLocks,
      onCommitted: (run) => {
        clustered.add(run);
        onClustered(clustered.documents);
      },
    }),
  );
  const report = (): void =>
    tellParent({ kind: 'progress', completed: clustered.documents } satisfies FromWorker);
  const reporter = setInterval(report, REPORT_MS);
  const hear = (message: ToWorker): void => {
    switch (message.kind) {
      case 'begin':
        return clustered.begin(message.startUs);
      case 'report':
        return tellParent(clustered.result() satisfies FromWorker);
      default:
        return unreachable(message);
    }
  };
  const stop = async (): Promise<void> => {
    clearInterval(reporter);
    await Promise.all(workers.map((worker) => worker.stop()));
  };
  return { hear, stop };
}
