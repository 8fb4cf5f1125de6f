/**
 * One round of chaos, on a store of its own:
 *
 *   1. Create the tables, and set up the workloads.
 *   2. Start the processes, and hit them one after another until the goal is reached (goal.ts).
 *      Without --services every process hands out timestamps of a range that it took from a row of
 *      the store, so each kill also kills a timestamp oracle in the middle of its range. With
 *      --services two oracles, one of which holds the lease, and a lock service are processes,
 *      which are killed and stopped like the others; and so is the oracle of a second database,
 *      which some clients take for their own.
 *   3. Kill all remaining processes at once.
 *      With --power-cuts the power fails at that moment: the store loses what it had not synced
 *      (power-cut.ts).
 *   4. Open the store, let it come to rest, and record the truth (truth.ts).
 *   5. Judge the histories of the processes against it (verdict.ts).
 */
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  type Counters,
  createRandom,
  openPercolator,
  openStore,
  type Percolator,
  PercolatorError,
  type StoreAddress,
  systemClock,
  type WorkerCounters,
} from '#engine';
import type { Progress } from '#harness';
import { type Ending, recordingClient, type Recorder, type Workload } from '../invariants/index.ts';
import { newServices } from '../../harness/processes/index.ts';
import { provideStore } from '../../harness/stores/index.ts';
import { monotonicMs } from '../../harness/load/monotonic-clock.ts';
import { recordDisk } from './disk-record.ts';
import { drawFaults } from './faults.ts';
import { type CommonProcessOptions, type FaultCounts, Fleet, folderFaultsIn } from './fleet.ts';
import { Goal } from './goal.ts';
import { openHistoryFile, readHistory, type RecordedHistory } from './history-file.ts';
import { countPairs } from './pairs.ts';
import { folderFaultsOf, LOCK_TIME_TO_LIVE_MS, type Plan } from './plan.ts';
import { cutPower, hasUnsyncedBytes, type PowerCut } from './power-cut.ts';
import { type Tallies, tallyTransactions } from './tally.ts';
import { sumEach } from './sum-each.ts';
import { settleAndRead, type Truth } from './truth.ts';
import { judge, type Verdict } from './verdict.ts';

export interface Round {
  readonly plan: Plan;
  readonly tallies: Tallies;
  readonly faults: FaultCounts;
  /** Seconds during which processes worked. */
  readonly seconds: number;
  /** All pairs of overlapping writers (pairs.ts). */
  readonly pairs: number;
  /**
   * Write records and acknowledgments that collectors were about to erase. Some may not have been
   * erased, and some are counted twice.
   */
  readonly collected: number;
  /** Sums over all lives, up to the last counts of each. */
  readonly engine: Readonly<Counters>;
  readonly worker: Readonly<WorkerCounters>;
  readonly verdict: Verdict;
  /** Absent if the round did not end with a power cut. */
  readonly cut: PowerCut | undefined;
}

/** Milliseconds between two checks whether the goal is reached. */
const LOOK_MS = 250;
/** Milliseconds that a power cut is put off for as long as it could destroy nothing. */
const AT_RISK_MS_MAX = 20_000;

interface RoundContext {
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

export async function runRound(plan: Plan, context: RoundContext): Promise<Round> {
  const { progress, signal } = context;
  const folders = {
    store: path.join(plan.folder, 'store'),
    history: path.join(plan.folder, 'history'),
    disk: plan.powerCut ? path.join(plan.folder, 'disk') : undefined,
  };
  await mkdir(folders.history, { recursive: true });
  using history = openHistoryFile(folders.history, 'parent');
  const recorder = { sink: history, process: 'parent', nowMs: monotonicMs };

  const embedded = { folder: folders.store, fsync: plan.fsync };
  const { regionServers } = plan;
  await using provided = await provideStore(plan.store, embedded, { regionServers });
  const { address } = provided;
  const since = await recorded(folders, () =>
    withStore(address, (percolator) => setUp(percolator, plan, recorder)),
  );
  const startedMs = monotonicMs();
  const { faults, deaths } = await runProcesses(
    plan,
    { store: address, disk: folders.disk, history: folders.history, since },
    context,
  );
  const seconds = (monotonicMs() - startedMs) / 1000;
  const cut = await cutPowerOf(plan, folders);

  progress.phase('coming to rest', 0);
  const truth = await withStore(address, async (percolator) => {
    const rest = await settleAndRead(percolator, plan.workloads, { recorder, signal });
    history.counts({ engine: percolator.counters, worker: rest.worker });
    return rest;
  }).catch((error: unknown) => lostBy(cut, error));
  progress.phase('judging', 0);
  const lived = readHistory(folders.history);
  const judged = judge(plan.workloads, lived, truth.stored);
  const seen = [...deaths, ...lived.violations, ...truth.violations];
  const verdict = { ...judged, violations: [...seen, ...judged.violations] };
  await save(plan.folder, truth, verdict);
  const names = plan.workloads.map(({ name }) => name);
  const records = [...truth.stored.records, ...lived.collected.records];
  const tallies = tallyTransactions(names, lived.transactions, records);
  const pairs = countPairs(lived.transactions);
  const collected = lived.collected.records.length;
  return { plan, tallies, faults, seconds, pairs, collected, ...sumOf(lived), verdict, cut };
}

interface Folders {
  readonly store: string;
  /** For the record of what is asked of the store's disk, if the round ends with a power cut. */
  readonly disk: string | undefined;
}

async function recorded<T>({ store, disk }: Folders, body: () => Promise<T>): Promise<T> {
  if (disk === undefined) return body();
  using _ = recordDisk(store, disk);
  return await body();
}

/** The store's folder becomes what the power failure has left of it. */
async function cutPowerOf({ seed }: Plan, { store, disk }: Folders): Promise<PowerCut | undefined> {
  if (disk === undefined) return undefined;
  await rename(store, `${store}-before-the-power-cut`);
  return cutPower(disk, store, createRandom(seed).fork('power cut'));
}

/**
 * If a power cut left a store that cannot be read, it counts as one that has lost everything. Any
 * other error is rethrown.
 */
function lostBy(cut: PowerCut | undefined, error: unknown): Truth {
  if (cut === undefined || !(error instanceof PercolatorError)) throw error;
  return {
    stored: { records: [], markers: [], marks: [], locks: [] },
    violations: [{ claim: 'power cut: the store can be read', message: error.message }],
    worker: { runs: 0, clean: 0, failures: 0, parked: 0, meetings: 0 },
  };
}

async function withStore<T>(
  address: StoreAddress,
  body: (percolator: Percolator) => Promise<T>,
): Promise<T> {
  await using store = await openStore(address);
  await using percolator = await openPercolator({ store, lockTimeToLiveMs: LOCK_TIME_TO_LIVE_MS });
  return await body(percolator);
}

/**
 * Resolves with a timestamp at which all initial data exists. Rejects if some may be missing: the
 * watcher would take missing data for a violation.
 */
export async function setUp(
  percolator: Percolator,
  { workloads }: Pick<Plan, 'workloads'>,
  recorder: Recorder,
): Promise<number> {
  for (const workload of workloads) {
    for (const [table, { observedColumns }] of Object.entries(workload.tables)) {
      await percolator.createTable(table, { observedColumns });
    }
    await writeInitialData(percolator, workload, recorder);
  }
  await using snapshot = await percolator.snapshot();
  return snapshot.startTimestamp;
}

async function writeInitialData(
  percolator: Percolator,
  workload: Workload,
  recorder: Recorder,
): Promise<void> {
  const { sink } = recorder;
  const endings: Ending[] = [];
  const ended = (ending: Ending): void => {
    endings.push(ending);
    sink.ended(ending);
  };
  const watched = { ...recorder, sink: { ...sink, ended } };
  const client = recordingClient(percolator, workload.name, watched);
  await client.attempt((work) => workload.setup(work));
  // `attempt` also resolves after a failure, and if the outcome is unknown.
  const outcome = endings[0]?.outcome ?? 'failed';
  if (outcome === 'committed') return;
  throw new Error(
    `the set-up of ${workload.name} is not known to have committed: its outcome is ${outcome}`,
  );
}

async function runProcesses(
  plan: Plan,
  target: Pick<CommonProcessOptions, 'store' | 'disk' | 'history' | 'since'>,
  { progress, signal }: RoundContext,
): Promise<Pick<Round, 'faults'> & Pick<Fleet, 'deaths'>> {
  const { seed, gc, engine } = plan;
  const database = plan.services ? await newServices(target.store) : undefined;
  const second = plan.services ? await secondDatabase(path.join(plan.folder, 'other')) : undefined;
  const workloads = plan.workloads.map(({ name }) => name);
  const goal = new Goal(plan.floors, plan.seconds, target.history);
  const { pairs } = plan.floors;
  const total = Number.isFinite(pairs) ? pairs : 0;
  progress.phase(`hitting ${plan.processes} processes`, total, 'pairs of writers');
  await using fleet = new Fleet(
    { ...target, database, ...(second && { second }), seed, gc, engine, workloads },
    plan.processes,
  );
  fleet.start();
  const isOver = (): boolean => {
    const isReached = goal.isReached() && folderFaultsIn(fleet.counts) >= plan.floors.folderFaults;
    progress.update(goal.pairs);
    return signal.aborted || fleet.isHopeless || goal.isLate || isReached;
  };
  for (const fault of drawFaults(createRandom(seed).fork('faults'), folderFaultsOf(plan))) {
    if (fault.settled) await waitFor(() => fleet.isComplete || isOver(), { signal });
    await waitFor(isOver, { signal, forMs: fault.afterMs });
    if (isOver()) break;
    await fleet.hit(fault, () => signal.aborted || goal.isLate);
  }
  if (target.disk !== undefined) await stopAtRisk(fleet, target.disk, signal);
  await fleet.end();
  const faults = fleet.counts;
  signal.throwIfAborted();
  return { faults, deaths: fleet.deaths };
}

async function secondDatabase(
  folder: string,
): Promise<NonNullable<CommonProcessOptions['second']>> {
  const { store, oracles } = await newServices({ kind: 'embedded', folder });
  return { store, address: oracles[0] ?? '' };
}

/**
 * Stops all processes at a moment when a power cut can destroy something: for most of the time, all
 * that was written is on the disk.
 */
async function stopAtRisk(fleet: Fleet, disk: string, signal: AbortSignal): Promise<void> {
  const untilMs = monotonicMs() + AT_RISK_MS_MAX;
  while (!signal.aborted && monotonicMs() < untilMs) {
    fleet.signal('SIGSTOP');
    await systemClock.sleep(1); // A signal takes effect a moment later.
    if (hasUnsyncedBytes(disk)) return;
    fleet.signal('SIGCONT');
    await systemClock.sleep(3);
  }
}

/** Waits until `isTrue`, but no longer than the given time. */
async function waitFor(
  isTrue: () => boolean,
  { signal, forMs = Infinity }: { readonly signal: AbortSignal; readonly forMs?: number },
): Promise<void> {
  const untilMs = monotonicMs() + forMs;
  for (let leftMs = forMs; leftMs > 0 && !isTrue(); leftMs = untilMs - monotonicMs()) {
    await systemClock.sleep(Math.min(leftMs, LOOK_MS), signal);
  }
}

function sumOf({ counts }: RecordedHistory): Pick<Round, 'engine' | 'worker'> {
  return {
    engine: sumEach(counts.map(({ engine }) => engine)),
    worker: sumEach(counts.map(({ worker }) => worker)),
  };
}

/** Saves the records of the storage and the verdict next to the files of the processes. */
async function save(
  folder: string,
  { stored }: Truth,
  { violations, edn }: Verdict,
): Promise<void> {
  const lines = Object.entries(stored).flatMap(([kind, all]) =>
    all.map((one: unknown) => JSON.stringify({ kind, one })),
  );
  await writeFile(path.join(folder, 'stored.jsonl'), lines.map((line) => `${line}\n`).join(''));
  await writeFile(path.join(folder, 'violations.json'), JSON.stringify(violations, null, 2));
  if (edn !== undefined) await writeFile(path.join(folder, 'list-append.edn'), edn);
}
