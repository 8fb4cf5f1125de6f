/**
 * The program of every process of a round. A client runs some loops of each workload, and workers
 * with their observers, until it is killed; the watcher reads present and past snapshots.
 *
 * No process ends in order, and none needs to: its history is in its file (history-file.ts). If its
 * parent is gone, the process exits, too. Only fleet.ts starts it.
 */
import {
  type Bigtable,
  createRandom,
  hasCode,
  openPercolator,
  openStore,
  type Percolator,
  PercolatorError,
  type Random,
  systemClock,
  type Worker,
  type WorkerOptions,
} from '#engine';
import { observeCollection } from '../judges/index.ts';
import {
  lookBack,
  recordingClient,
  recordingCommits,
  recordingObservers,
  type Recorder,
  type Workload,
  WORKLOADS,
} from '../invariants/index.ts';
import {
  type OpenDatabase,
  openDatabase,
  patiently,
  serve,
  tellParent,
} from '../../harness/processes/index.ts';
import { databaseProbes, live, workerProbes } from '#harness';
import { settingsOf } from '../../harness/engine-settings.ts';
import { monotonicMs } from '../../harness/load/monotonic-clock.ts';
import { recordDisk } from './disk-record.ts';
import { type HistoryFile, NO_RUNS, openHistoryFile, sumEach } from './history-file.ts';
import { followersOf } from './following.ts';
import { touchFiles } from './folder-faults.ts';
import { type ChaosProcessOptions, TOUCHED, type TouchMessage } from './messages.ts';
import { LEASE_TIME_TO_LIVE_MS, LOCK_TIME_TO_LIVE_MS, MESSAGE_LIFETIME_MS } from './plan.ts';

/** The longest rest of a loop between two transactions, in milliseconds. */
const REST_MS_MAX = 4;
/**
 * Observer runs in flight in one process. Most of them write the same few counts; more runs would
 * only lose more conflicts.
 */
const CONCURRENCY = 8;
/**
 * Rest of a collector between two cycles, in milliseconds: short next to a cycle, which waits for
 * the lifetime of messages.
 */
const COLLECTOR_REST_MS = 100;
/** Milliseconds between two counts. What a life did after the last of them is not counted. */
const COUNTS_MS = 50;
/** Milliseconds between two reads of one workload by the watcher. */
const WATCH_MS = 10;

/**
 * With collectors, the share of the reads of the past that may go back to the beginning. Each makes
 * the process hold an old snapshot; if it always held one, nothing would be collected.
 */
const FAR_LOOKS = 0.02;

await serve(async (options: ChaosProcessOptions) => {
  const history = openHistoryFile(options.history, options.name);
  const { store, disk } = options;
  if (disk !== undefined && store.kind === 'embedded') recordDisk(store.folder, disk);
  const { percolator, rangeLocks } = await patiently(options.patienceMs, () =>
    noting(history, options.name, () => openDatabaseOf(options, history)).catch(throwAgainLater),
  );
  const recorder = { sink: history, process: options.name, nowMs: monotonicMs };
  const workloads = WORKLOADS.filter(({ name }) => options.workloads.includes(name));
  const random = createRandom(options.seed).fork(options.name);
  const workers = Array.from(
    { length: isWorking(options, workloads) ? options.engine.scanners : 0 },
    () =>
      startWorker(percolator, workloads, {
        recorder,
        rangeLocks,
        scanners: options.engine.scanners,
      }),
  );
  const background = workers.map(({ ended }) => ended);
  if (options.gc) {
    const { messageLifetimeMs: leastMs = 0 } = percolator.store.manifest;
    const messageLifetimeMs = Math.max(MESSAGE_LIFETIME_MS, leastMs);
    const collector = percolator.startCollector({ messageLifetimeMs, restMs: COLLECTOR_REST_MS });
    background.push(collector.ended);
  }
  live.show([...databaseProbes(percolator), ...workerProbes(workers)]);
  setInterval(() => {
    const counters = workers.map((worker) => worker.counters);
    history.counts({ engine: percolator.counters, worker: sumEach([NO_RUNS, ...counters]) });
  }, COUNTS_MS);
  const loops = workloads.flatMap((workload) =>
    options.role === 'client'
      ? clientsOf(percolator, workload, random.fork(workload.name), { recorder, history, options })
      : [watch(percolator, workload, { random, recorder, history, options })],
  );
  const [slot = ''] = options.name.split('.', 1);
  const followers = followersOf(percolator, { ...options, slot, workloads, log: history });
  loops.push(...followers.map((one) => one.follow(random.fork('follower'), options.patienceMs)));
  // An error ends this process, and a process that ends on its own is a violation (fleet.ts).
  void Promise.all([...loops, ...background]);
  const onMessage = ({ touch }: TouchMessage): void => {
    if (store.kind !== 'embedded') return;
    void touchFiles(store.folder, touch).then(() => tellParent(TOUCHED));
  };
  return { onMessage, stop: neverAsked };
});

/** Processes of a round are killed, and never asked to stop. */
async function neverAsked(): Promise<never> {
  throw new Error('no process is asked to stop here');
}

/**
 * Opens the database on an observed store: the cells that its collector erases are recorded in the
 * history first.
 */
async function openDatabaseOf(
  { store: address, database, engine }: ChaosProcessOptions,
  history: HistoryFile,
): Promise<Pick<OpenDatabase, 'percolator'> & Partial<OpenDatabase>> {
  const options = {
    ...settingsOf(engine),
    lockTimeToLiveMs: LOCK_TIME_TO_LIVE_MS,
    leaseTimeToLiveMs: LEASE_TIME_TO_LIVE_MS,
  };
  const observed = (store: Bigtable): Bigtable => observeCollection(store, history.collected);
  if (database !== undefined) return openDatabase(database, options, observed);
  const store = observed(await openStore(address));
  try {
    return { percolator: await openPercolator({ ...options, store }) };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** An opening that is in doubt has begun no transaction, so that it may be made again. */
function throwAgainLater(cause: unknown): never {
  if (!hasCode(cause, 'STORE_IN_DOUBT')) throw cause;
  throw new PercolatorError('STORE_UNAVAILABLE', 'the opening is in doubt', { cause });
}

/** Not all workloads have observers. */
function isWorking({ role }: ChaosProcessOptions, workloads: readonly Workload[]): boolean {
  return role === 'client' && workloads.some(({ observers }) => observers.length > 0);
}

function startWorker(
  percolator: Percolator,
  workloads: readonly Workload[],
  {
    recorder,
    rangeLocks,
    scanners,
  }: Pick<WorkerOptions, 'rangeLocks'> & { readonly recorder: Recorder; readonly scanners: number },
): Worker {
  const observers = workloads.flatMap((workload) => recordingObservers(workload, recorder));
  return percolator.startWorker(observers, {
    concurrency: Math.ceil(CONCURRENCY / scanners),
    rangeLocks,
    onCommitted: recordingCommits(recorder),
    // No observer here fails on its own. An error thrown in this callback would not be noticed.
    onFailure: ({ cell, error }) => {
      const message = `${cell.table}/${cell.row}:${cell.column}: ${String(error)}`;
      recorder.sink.violation({ claim: 'observers: none fails', message });
    },
  });
}

function clientsOf(
  percolator: Percolator,
  workload: Workload,
  random: Random,
  { recorder, history, options }: Pick<WatchContext, 'recorder' | 'history' | 'options'>,
): readonly Promise<never>[] {
  const client = recordingClient(percolator, workload.name, recorder);
  return Array.from({ length: options.loops }, async (_, i): Promise<never> => {
    const own = random.fork(`client ${i}`);
    for (;;) {
      await patiently(options.patienceMs, () =>
        noting(history, options.name, () => workload.step(client, own)),
      );
      await systemClock.sleep(own.fraction() * REST_MS_MAX);
    }
  });
}

/** Records a failure that the caller survives. */
async function noting<T>(
  history: HistoryFile,
  process: string,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof PercolatorError) {
      history.refused({ process, at: monotonicMs(), code: error.code });
    }
    throw error;
  }
}

interface WatchContext {
  readonly random: Random;
  readonly recorder: Recorder;
  readonly history: HistoryFile;
  readonly options: Pick<ChaosProcessOptions, 'gc' | 'since' | 'patienceMs' | 'name' | 'loops'>;
}

/** Reads the present, recorded as a read-only transaction, and a moment of the past. */
async function watch(
  percolator: Percolator,
  workload: Workload,
  { random, recorder, history, options }: WatchContext,
): Promise<never> {
  const { gc, since, patienceMs } = options;
  const client = recordingClient(percolator, workload.name, recorder);
  for (let before = since, now = since; ; before = now) {
    const wrong = new Map<string, readonly string[]>();
    const look = (): Promise<void> =>
      client.attempt(async (reader) => {
        now = reader.startTimestamp;
        wrong.set(`the snapshot of ${now}`, await workload.watch(reader));
      });
    await patiently(patienceMs, look);
    const past = random.integer(!gc || random.fraction() < FAR_LOOKS ? since : before, now);
    const lookAt = { workload: workload.name, recorder };
    const then = await lookBack(percolator, past, lookAt, (reader) => workload.watch(reader));
    wrong.set(`the past snapshot of ${past}`, then ?? []);
    for (const [where, sentences] of wrong) {
      for (const sentence of sentences) {
        history.violation({
          claim: `${workload.name}: while running`,
          message: `${where}: ${sentence}`,
        });
      }
    }
    await systemClock.sleep(WATCH_MS);
  }
}
