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
 *   5. Judge the histories of the processes against it (truth.ts).
 */
import { mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  type Counters,
  createRandom,
  type LocalHBase,
  openPercolator,
  openStore,
  type Percolator,
  PercolatorError,
  type StoreAddress,
  systemClock,
  type WorkerCounters,
} from '#engine';
import { live, type Progress } from '#harness';
import { type Ending, recordingClient, type Recorder, type Workload } from '../invariants/index.ts';
import { type Host, HostNetwork } from '../../harness/hosts/network.ts';
import { newServices, type SharedDatabase } from '../../harness/processes/index.ts';
import { provideStore } from '../../harness/stores.ts';
import { monotonicMs } from '../../harness/load/monotonic-clock.ts';
import { judgeCuts, unansweredCalls } from './cut-judges.ts';
import { type CutCounts, Cutter } from './cutter.ts';
import { drawCuts } from './cuts.ts';
import { recordDisk } from './disk-record.ts';
import { drawFaults } from './faults.ts';
import { followersOf } from './following.ts';
import { type CommonProcessOptions, type FaultCounts, Fleet, folderFaultsIn } from './fleet.ts';
import { countPairs, Goal } from './goal.ts';
import { openHistoryFile, readHistory, type RecordedHistory, sumEach } from './history-file.ts';
import {
  type ChaosPlan,
  folderFaultsOf,
  LOCK_TIME_TO_LIVE_MS,
  ORACLE_WITH_CUTS_MS,
  PATIENCE_MS,
  PATIENCE_WITH_CUTS_MS,
} from './plan.ts';
import { type Places, placesOn } from './places.ts';
import { cutPower, hasUnsyncedBytes, type PowerCut } from './power-cut.ts';
import {
  judge,
  settleAndRead,
  type Tallies,
  tallyTransactions,
  type RoundTruth,
  type RoundVerdict,
} from './truth.ts';

export interface Round {
  readonly plan: ChaosPlan;
  readonly tallies: Tallies;
  readonly faults: FaultCounts;
  /** Seconds during which processes worked. */
  readonly seconds: number;
  /** All pairs of overlapping writers (goal.ts). */
  readonly pairs: number;
  /**
   * Write records and acknowledgments that collectors were about to erase. Some may not have been
   * erased, and some are counted twice.
   */
  readonly collected: number;
  /** Sums over all lives, up to the last counts of each. */
  readonly engine: Readonly<Counters>;
  readonly worker: Readonly<WorkerCounters>;
  /** Of readers of changes. */
  readonly told: ToldNumbers;
  readonly verdict: RoundVerdict;
  /** Absent if the round did not end with a power cut. */
  readonly cut: PowerCut | undefined;
  /** Absent if the round had no cuts of the network. */
  readonly network: (CutCounts & CutNumbers) | undefined;
}

/** Milliseconds between two checks whether the goal is reached. */
const LOOK_MS = 250;
/** Milliseconds that a power cut is put off for as long as it could destroy nothing. */
const AT_RISK_MS_MAX = 20_000;

interface RoundContext {
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

export async function runRound(plan: ChaosPlan, context: RoundContext): Promise<Round> {
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
  const stage = plan.hosts === 0 ? undefined : await stageOf(plan);
  const placeOf = stage && ((name: string): Host => placed(stage, name));
  await using provided = await provideStore(plan.store, embedded, { regionServers, placeOf });
  const { address, hbase } = provided;
  const since = await recorded(folders, () =>
    withStore(address, (percolator) => setUp(percolator, plan, recorder)),
  );
  const startedMs = monotonicMs();
  const { faults, deaths, cutting } = await runProcesses(
    plan,
    { store: address, disk: folders.disk, history: folders.history, since, stage, hbase },
    context,
  );
  const seconds = (monotonicMs() - startedMs) / 1000;
  const cut = await cutPowerOf(plan, folders);

  progress.phase('coming to rest', 0);
  const truth = await withStore(address, async (percolator) => {
    const followers = clientsOf(plan).flatMap((slot) =>
      followersOf(percolator, { ...plan, slot, clients: plan.processes, ...folders, log: history }),
    );
    const rest = await settleAndRead(percolator, plan.workloads, { recorder, signal, followers });
    history.counts({ engine: percolator.counters, worker: rest.worker });
    return rest;
  }).catch((error: unknown) => lostBy(cut, error));
  progress.phase('judging', 0);
  const lived = readHistory(folders.history);
  const judged = judge(plan.workloads, lived, truth.stored);
  const ofCuts = judgeCuts({ ...lived, cuts: cutting?.past ?? [] });
  const seen = [...deaths, ...lived.violations, ...truth.violations, ...ofCuts];
  const verdict = { ...judged, violations: [...seen, ...judged.violations] };
  await save(plan.folder, truth, verdict);
  const names = plan.workloads.map(({ name }) => name);
  const records = [...truth.stored.records, ...lived.collected.records];
  const tallies = tallyTransactions(names, lived.transactions, records);
  const pairs = countPairs(lived.transactions);
  const collected = lived.collected.records.length;
  const numbers = {
    tallies,
    faults,
    seconds,
    pairs,
    collected,
    told: toldIn(lived),
    ...sumOf(lived),
  };
  const network = cutting && { ...cutting.counts, ...numbersOfCuts(lived) };
  return { plan, ...numbers, verdict, cut, network };
}

/** The hosts of a round, and who is where. */
interface Stage {
  readonly network: HostNetwork;
  readonly places: Places;
}

async function stageOf({ hosts, store, regionServers }: ChaosPlan): Promise<Stage> {
  const network = await HostNetwork.make(hosts);
  const places = placesOn(network.hosts, store === 'hbase' ? regionServers : 0);
  return { network, places };
}

function placed({ places }: Stage, name: string): Host {
  const host = places.hostOf(name);
  if (host === undefined) throw new Error(`no host is meant for ${name}`);
  return host;
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
async function cutPowerOf(
  { seed }: ChaosPlan,
  { store, disk }: Folders,
): Promise<PowerCut | undefined> {
  if (disk === undefined) return undefined;
  await rename(store, `${store}-before-the-power-cut`);
  return cutPower(disk, store, createRandom(seed).fork('power cut'));
}

/**
 * If a power cut left a store that cannot be read, it counts as one that has lost everything. Any
 * other error is rethrown.
 */
function lostBy(cut: PowerCut | undefined, error: unknown): RoundTruth {
  if (cut === undefined || !(error instanceof PercolatorError)) throw error;
  return {
    stored: { records: [], rollbacks: [], notifications: [], locks: [] },
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
  { workloads }: Pick<ChaosPlan, 'workloads'>,
  recorder: Recorder,
): Promise<number> {
  for (const workload of workloads) {
    for (const [table, { observedColumns, sharedColumns }] of Object.entries(workload.tables)) {
      await percolator.createTable(table, { observedColumns, sharedColumns });
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
  plan: ChaosPlan,
  { stage, hbase, ...target }: Target,
  { progress, signal }: RoundContext,
): Promise<Pick<Round, 'faults'> & Pick<Fleet, 'deaths'> & { readonly cutting?: Cutting }> {
  const { seed, gc, engine } = plan;
  const hostOf = stage?.places.hostOf;
  const database = plan.services ? await servicesOf(plan, target.store, hostOf) : undefined;
  const hasSecond = plan.services && stage === undefined;
  const second = hasSecond ? await secondDatabase(path.join(plan.folder, 'other')) : undefined;
  const patienceMs = plan.cuts ? PATIENCE_WITH_CUTS_MS : PATIENCE_MS;
  const workloads = plan.workloads.map(({ name }) => name);
  const goal = new Goal(plan.floors, plan.seconds, target.history);
  const { pairs } = plan.floors;
  const total = Number.isFinite(pairs) ? pairs : 0;
  progress.phase(`hitting ${plan.processes} processes`, total, 'pairs of writers');
  using _ = live.show([
    { panel: 'throughput', series: 'pairs of writers', rate: () => goal.pairs },
    { panel: 'waiting', series: 'pairs asked for', level: () => total, isTarget: true },
    { panel: 'waiting', series: 'pairs seen', level: () => goal.pairs },
  ]);
  // A store that is owned by a process on a host would be stopped with the host.
  await using owner = new AsyncDisposableStack();
  if (stage !== undefined && target.store.kind === 'embedded') {
    owner.use(await openStore(target.store));
  }
  await using fleet = new Fleet(
    {
      ...target,
      database,
      hostOf,
      patienceMs,
      ...(second && { second }),
      seed,
      gc,
      engine,
      workloads,
      loops: plan.loops,
    },
    plan.processes,
  );
  fleet.start();
  const isOver = (): boolean => {
    const isReached =
      goal.isReached() &&
      folderFaultsIn(fleet.counts) >= plan.floors.folderFaults &&
      (cutter?.hits ?? 0) >= plan.floors.cuts &&
      // A fast machine reaches the rest before the first of these kills.
      (!plan.services || cutter !== undefined || fleet.counts.serviceKills > 0);
    progress.update(goal.pairs);
    return signal.aborted || fleet.isHopeless || goal.isLate || isReached;
  };
  const cutter =
    plan.cuts && stage !== undefined && database !== undefined
      ? new Cutter({ ...stage, fleet, goal, hbase, ...database, clients: clientsOf(plan), isOver })
      : undefined;
  const faulting = { plan, fleet, signal, isOver, isLate: () => signal.aborted || goal.isLate };
  if (cutter === undefined) await makeFaults(faulting);
  else await makeCuts(cutter, faulting);
  if (target.disk !== undefined) await stopAtRisk(fleet, target.disk, signal);
  await fleet.end();
  signal.throwIfAborted();
  const deaths = [...fleet.deaths, ...(cutter?.violations ?? [])];
  return { faults: fleet.counts, deaths, ...(cutter && { cutting: cutter }) };
}

type Cutting = Pick<Cutter, 'past' | 'counts'>;

interface Target extends Pick<CommonProcessOptions, 'store' | 'disk' | 'history' | 'since'> {
  /** Absent: all processes are where this one is. */
  readonly stage: Stage | undefined;
  readonly hbase: LocalHBase | undefined;
}

interface Faulting {
  readonly plan: ChaosPlan;
  readonly fleet: Fleet;
  readonly signal: AbortSignal;
  readonly isOver: () => boolean;
  readonly isLate: () => boolean;
}

/** One fault after the other until the round is over. */
async function makeFaults({ plan, fleet, signal, isOver, isLate }: Faulting): Promise<void> {
  for (const fault of faultsOf(plan)) {
    if (fault.settled) await waitFor(() => fleet.isComplete || isOver(), { signal });
    await waitFor(isOver, { signal, forMs: fault.afterMs });
    if (isOver()) break;
    await fleet.hit(fault, isLate);
  }
}

/** One cut after the other until the round is over, or one has shown a mistake. */
async function makeCuts(
  cutter: Cutter,
  { plan, fleet, signal, isOver, isLate }: Faulting,
): Promise<void> {
  const faults = faultsOf(plan);
  const ended = new AbortController();
  const kept = cutter.keepHBase(ended.signal);
  await waitFor(() => fleet.isComplete || isOver(), { signal });
  try {
    for (const cut of drawCuts(createRandom(plan.seed).fork('cuts'), plan.store === 'hbase')) {
      await waitFor(isOver, { signal, forMs: cut.afterMs });
      if (isOver() || cutter.violations.length > 0) break;
      const hit = (isPast: () => boolean): Promise<string | undefined> =>
        fleet.hit(faults.next().value, () => isPast() || isLate());
      await cutter.make(cut, hit);
    }
  } finally {
    ended.abort();
    await kept;
  }
}

function faultsOf(plan: ChaosPlan): ReturnType<typeof drawFaults> {
  return drawFaults(createRandom(plan.seed).fork('faults'), folderFaultsOf(plan));
}

function clientsOf({ processes }: ChaosPlan): readonly string[] {
  return Array.from({ length: processes }, (_, i) => String(i + 1));
}

/** On hosts, each service has an address of its host, where no port is taken. */
async function servicesOf(
  { cuts }: ChaosPlan,
  store: StoreAddress,
  hostOf: Places['hostOf'] | undefined,
): Promise<SharedDatabase> {
  const found = await newServices(store);
  const at = (slot: string, address: string): string =>
    address.replace(/^[^:]+/, hostOf?.(slot)?.address ?? '$&');
  return {
    store,
    oracles: found.oracles.map((address, i) => at(`oracle-${i + 1}`, address)),
    lockService: at('lock-service', found.lockService),
    insecure: hostOf !== undefined,
    ...(cuts && { oracleMsMax: ORACLE_WITH_CUTS_MS }),
  };
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

/** What clients and witnesses said of the cuts. */
interface CutNumbers {
  readonly refusals: number;
  readonly witnessed: number;
}

function numbersOfCuts(history: RecordedHistory): CutNumbers {
  return { refusals: unansweredCalls(history).length, witnessed: history.witnessed.length };
}

/** Changes that readers heard of, and how often one had to begin again: they were collected. */
interface ToldNumbers {
  readonly changes: number;
  readonly lost: number;
}

function toldIn({ followed }: RecordedHistory): ToldNumbers {
  const changes = followed.filter((one) => 'change' in one).length;
  return { changes, lost: followed.filter((one) => 'begins' in one && one.begins).length };
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
  { stored }: RoundTruth,
  { violations, edn }: RoundVerdict,
): Promise<void> {
  const lines = Object.entries(stored).flatMap(([kind, all]) =>
    all.map((one: unknown) => JSON.stringify({ kind, one })),
  );
  await writeFile(path.join(folder, 'stored.jsonl'), lines.map((line) => `${line}\n`).join(''));
  await writeFile(path.join(folder, 'violations.json'), JSON.stringify(violations, null, 2));
  if (edn !== undefined) await writeFile(path.join(folder, 'list-append.edn'), edn);
}
