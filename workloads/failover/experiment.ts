/**
 * Figure 10 of the paper: a third of the region servers, or another part of the system
 * (victims.ts), is killed or stopped under load.
 *
 *     start HBase, oracles, lock service ─▶ load the data ─▶ start the workers
 *     ─▶ capacity, closed loop ─▶ open loop at a share of it:
 *
 *     warm-up │ before │ kill -9 ── until they are started again ── │ after │ drain ─▶ every check
 *
 * The load does not know of the failure. The times of what the cluster does come from the log of
 * its master (cluster-log.ts).
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { sum } from 'simple-statistics';
import {
  type Counters,
  type LocalHBase,
  type Percolator,
  PercolatorError,
  startHBase,
  systemClock,
} from '#engine';
import { UsageError } from '#results';
import { databaseProbes, live, type Measuring } from '#harness';
import type { Scale } from '../brokerage/model/scale.ts';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import { Crew, type Engine, openDatabase, startEngine } from '../harness/processes/index.ts';
import type { Arrival, Settled } from './attempts.ts';
import { type Failover, failoverOf, readEvents } from './cluster-log.ts';
import { CrawlWorkload } from './crawl.ts';
import { TradingWorkload } from './trading.ts';
import { fail, type Failure, Stage } from './failure.ts';
import type { Victim } from './victims.ts';
import type { Observed, WorkerProcessOptions } from './worker-process.ts';
import type { CheckResult, FailoverWorkload, WorkloadName } from './workload.ts';

export interface FailoverPlan {
  readonly workload: WorkloadName;
  readonly kill: Victim;
  /** Stops the victims instead of killing them, and lets them go on later. */
  readonly pause: boolean;
  /** Cuts the hosts of the victims off instead, which are namespaces (failure.ts). */
  readonly cut: boolean;
  readonly regionServers: number;
  readonly workers: number;
  /** Documents that are there before the run, for the workload `crawl-rate`. */
  readonly repository: number;
  readonly documentBytes: number;
  /** The size of the brokerage, for the workload `brokerage`. */
  readonly scale: Scale;
  /** Transactions per second; undefined: a share of the capacity. */
  readonly rate: number | undefined;
  readonly capacitySeconds: number;
  readonly warmUp: number;
  /** Seconds from the beginning of the measurement to the kill. */
  readonly before: number;
  /** Seconds from the kill until the victims are started again. */
  readonly down: number;
  readonly after: number;
  readonly concurrency: number;
  readonly seed: number;
}

export interface FailoverResult {
  readonly plan: FailoverPlan;
  /** Transactions per second of the closed loop; undefined if the rate was given. */
  readonly capacity: number | undefined;
  readonly perSecond: number;
  readonly killed: readonly string[];
  /** When the measurement began, by the clock of the arrivals. */
  readonly fromMs: number;
  readonly arrivals: readonly Arrival[];
  readonly followers: readonly Arrival[];
  readonly marks: Marks;
  /** Packets that the hosts could not send while they were cut off; undefined without a cut. */
  readonly dropped: number | undefined;
  /** Regions of the killed servers; 0 if another part was killed. */
  readonly regions: number;
  readonly settled: Settled;
  readonly lagP99Ms: number;
  /** What this process and all workers have counted from the kill to the end. */
  readonly sinceKill: Readonly<Record<Counter, number>>;
  /** Undefined if the load did not come to rest: the checks are of a database at rest. */
  readonly check: CheckResult | undefined;
}

/** Seconds since the measurement began; undefined for what has not happened, or is not known. */
export interface Marks {
  readonly killed: number;
  readonly detected: number | undefined;
  readonly reassigned: number | undefined;
  readonly started: number;
  readonly returned: number | undefined;
}

export const COUNTERS = ['conflicts', 'unknown', 'rolledForward', 'rolledBack'] as const;
type Counter = (typeof COUNTERS)[number];

const WORKER = new URL('worker-process.ts', import.meta.url);
/** The share of the capacity that is offered. */
export const LOAD_SHARE = 0.7;
/** How long the last transactions may take after the load has ended. */
const DRAIN_MS_MAX = 120_000;
/** How long a server that was started may take to come back. */
const RETURN_MS_MAX = 60_000;

export async function measureFailover(
  plan: FailoverPlan,
  measuring: Measuring,
): Promise<FailoverResult> {
  const { progress } = measuring;
  const over = new AbortController();
  const signal = AbortSignal.any([measuring.signal, over.signal]);
  progress.phase(`starting HBase with ${plan.regionServers} region servers`, 0);
  const stage = plan.cut ? await Stage.make(plan.regionServers) : undefined;
  await using hbase = await startCluster(plan, stage, (line) => progress.note(line));
  measuring.signal.throwIfAborted();
  await using crew = new Crew(measuring.signal, { placeOf: stage?.placeOf });
  const { servers, sessionTimeoutMs } = hbase;
  const store = { kind: 'hbase', servers, sessionTimeoutMs } as const;
  const engine = await startEngine(crew, { store, oracles: 2 });
  await using database = await opened(engine, plan);
  const { percolator } = database;
  const workload = workloadOf(plan, percolator, signal);
  progress.phase('loading', 0);
  await workload.load();
  const counters = await startWorkers(engine, plan, workload);
  const running = { plan, hbase, stage, engine, counters, percolator, workload, progress, signal };
  try {
    const loaded = await crew.during(Promise.race([runLoad(running), workload.failed]));
    progress.phase('waiting for the last transactions', 0);
    const isDrained = await crew.during(Promise.race([drain(running), workload.failed]));
    await engine.endWorkers({ inGoodOrder: isDrained });
    const times = await clusterTimes(running, loaded);
    over.abort();
    const check = isDrained ? await crew.during(checkWorkload(running)) : undefined;
    const { arrivals, followers, settled } = workload;
    return { plan, ...loaded, ...times, arrivals, followers, settled, check };
  } finally {
    over.abort(); // Nothing is started or written any more.
  }
}

function workloadOf(
  plan: FailoverPlan,
  percolator: Percolator,
  signal: AbortSignal,
): FailoverWorkload {
  const parts = { ...plan, percolator, signal };
  return plan.workload === 'brokerage' ? new TradingWorkload(parts) : new CrawlWorkload(parts);
}

/** Each attempt of a transaction is seen and repeated by the workload, not by the engine. */
async function opened(
  { database }: Engine,
  { workload }: FailoverPlan,
): Promise<AsyncDisposable & { readonly percolator: Percolator }> {
  const { percolator, close } = await openDatabase(
    database,
    workload === 'brokerage' ? { attemptsMax: 1 } : {},
  );
  return { percolator, [Symbol.asyncDispose]: close };
}

/**
 * Resolves with the last counters of each life of a worker, which the messages of workers replace.
 * `concurrency` is of all workers together.
 */
async function startWorkers(
  engine: Engine,
  { workload: name, workers, concurrency }: FailoverPlan,
  workload: FailoverWorkload,
): Promise<ReadonlyMap<number, Counters>> {
  const counters = new Map<number, Counters>();
  const { database } = engine;
  const each = Math.ceil(concurrency / workers);
  await engine.startWorkers(workers, {
    program: WORKER,
    options: { database, workload: name, concurrency: each } satisfies WorkerProcessOptions,
    onMessage: (message, life) => {
      const observed = message as Observed;
      counters.set(life, observed.counters);
      for (const [row, atMs] of observed.rows) workload.onObserved(row, atMs);
    },
  });
  return counters;
}

async function startCluster(
  { regionServers }: FailoverPlan,
  stage: Stage | undefined,
  progress: (line: string) => void,
): Promise<LocalHBase> {
  const { env: environment } = process;
  try {
    return await startHBase({ environment, regionServers, placeOf: stage?.placeOf, progress });
  } catch (error) {
    if (!(error instanceof PercolatorError)) throw error;
    throw new UsageError(`bench:failover needs a local HBase: ${error.message}.`, { cause: error });
  }
}

interface RunningFailover {
  readonly plan: FailoverPlan;
  readonly hbase: LocalHBase;
  /** With `cut` alone. */
  readonly stage: Stage | undefined;
  readonly engine: Engine;
  /** The last counters of each life of a worker; one that is started again counts from 0. */
  readonly counters: ReadonlyMap<number, Counters>;
  readonly percolator: Percolator;
  readonly workload: FailoverWorkload;
  readonly progress: Measuring['progress'];
  readonly signal: AbortSignal;
}

interface LoadOutcome extends Failure {
  readonly capacity: number | undefined;
  readonly perSecond: number;
  readonly fromMs: number;
  readonly lagP99Ms: number;
  readonly countersAtKill: Readonly<Record<Counter, number>>;
}

async function runLoad(running: RunningFailover): Promise<LoadOutcome> {
  const { plan, workload, progress } = running;
  const capacity = plan.rate === undefined ? await measureCapacity(running) : undefined;
  const perSecond = plan.rate ?? Math.max(1, LOAD_SHARE * (capacity ?? 0));
  const total = Math.round(perSecond * (plan.warmUp + plan.before + plan.down + plan.after));
  progress.note(`the load is ${perSecond.toFixed(1)} a second`);
  progress.phase('running under load', total);
  const beginMs = monotonicMs();
  const fromMs = beginMs + 1000 * plan.warmUp;
  const toMs = fromMs + 1000 * (plan.before + plan.down + plan.after);
  let begun = 0;
  const onProgress = (now: number): void => progress.update((begun = now));
  using _ = live.show([
    { panel: 'throughput', series: 'completed', rate: () => begun - workload.open },
    { panel: 'throughput', series: 'offered', level: () => perSecond, isTarget: true },
    { panel: 'waiting', series: 'in flight', level: () => workload.open },
    ...databaseProbes(running.percolator),
  ]);
  let countersAtKill = countersOf(running);
  const onFailure = (): void => {
    countersAtKill = countersOf(running);
  };
  const [{ lagP99Ms }, failure] = await Promise.all([
    workload.offer({ perSecond, beginMs, fromMs, toMs, onProgress }),
    fail(running, fromMs, onFailure),
  ]);
  return { capacity, perSecond, fromMs, lagP99Ms, countersAtKill, ...failure };
}

async function measureCapacity({ plan, workload, progress }: RunningFailover): Promise<number> {
  progress.phase('finding the capacity', 0);
  const capacity = await workload.measureCapacity(plan.capacitySeconds);
  progress.note(`the capacity is ${capacity.toFixed(1)} a second`);
  return capacity;
}

/**
 * Resolves to whether the load came to rest in time. A transaction that has not ended by then is
 * reported as open.
 */
export async function drain(
  { workload, signal }: Pick<RunningFailover, 'workload' | 'signal'>,
  msMax: number = DRAIN_MS_MAX,
): Promise<boolean> {
  const isDrained = await Promise.race([
    workload.drain().then(() => true),
    systemClock.sleep(msMax, signal).then(() => false),
  ]);
  signal.throwIfAborted();
  return isDrained;
}

async function checkWorkload({
  percolator,
  workload,
  progress,
}: RunningFailover): Promise<CheckResult> {
  await percolator.settled();
  progress.phase('checking', 0);
  return workload.check();
}

/** Waits, for at most a minute, until the servers are back: one started late registers late. */
async function readLog(
  { hbase, signal }: RunningFailover,
  given: Parameters<typeof failoverOf>[1],
): Promise<Failover> {
  const endMs = monotonicMs() + RETURN_MS_MAX;
  for (;;) {
    const log = await readFile(path.join(hbase.logs, 'master.log'), 'utf8');
    const failover = failoverOf(readEvents(log), given);
    if (failover.returnedMs !== undefined || monotonicMs() > endMs) return failover;
    await systemClock.sleep(500, signal);
    signal.throwIfAborted();
  }
}

/** What the cluster did, on the clock of the arrivals, in seconds since the measurement began. */
async function clusterTimes(
  running: RunningFailover,
  { killed, killedMs, startedMs, readyMs, fromMs, countersAtKill }: LoadOutcome,
): Promise<Pick<FailoverResult, 'marks' | 'regions' | 'sinceKill'>> {
  const offsetMs = systemClock.wallMs() - monotonicMs();
  const at = (ms: number | undefined): number | undefined =>
    ms === undefined ? undefined : (ms - fromMs) / 1000;
  const ofLog = (ms: number | undefined): number | undefined =>
    ms === undefined ? undefined : at(ms - offsetMs);
  const log =
    running.plan.kill === 'region-servers'
      ? await readLog(running, { killedMs: killedMs + offsetMs, servers: killed.length })
      : undefined;
  const now = countersOf(running);
  const since = COUNTERS.map((name) => [name, now[name] - countersAtKill[name]] as const);
  return {
    marks: {
      killed: (killedMs - fromMs) / 1000,
      detected: ofLog(log?.detectedMs),
      reassigned: ofLog(log?.reassignedMs),
      started: (startedMs - fromMs) / 1000,
      returned: log === undefined ? at(readyMs) : ofLog(log.returnedMs),
    },
    regions: log?.regions ?? 0,
    sinceKill: Object.fromEntries(since) as Record<Counter, number>,
  };
}

/**
 * The counters of this process and of all workers together, each killed one up to its last message.
 */
function countersOf({ percolator, counters }: RunningFailover): Record<Counter, number> {
  const all = [percolator.counters, ...counters.values()];
  const sumOf = (name: Counter): number => sum(all.map((counted) => counted[name]));
  return Object.fromEntries(COUNTERS.map((name) => [name, sumOf(name)])) as Record<Counter, number>;
}
