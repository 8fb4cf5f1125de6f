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
import {
  type LocalHBase,
  type Percolator,
  PercolatorError,
  startHBase,
  systemClock,
} from '#engine';
import { UsageError } from '#results';
import type { Measuring } from '#harness';
import type { Scale } from '../brokerage/model/index.ts';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import { Crew, openDatabase } from '../harness/processes/index.ts';
import type { Arrival, Settled } from './attempts.ts';
import { type Failover, failoverOf, readEvents } from './cluster-log.ts';
import { Crawl } from './crawl.ts';
import { EngineProcesses } from './engine-processes.ts';
import { Trading } from './trading.ts';
import { ownerOf, type Parts, type Victim, victimsOf } from './victims.ts';
import type { CheckResult, Workload, WorkloadName } from './workload.ts';

export interface Plan {
  readonly workload: WorkloadName;
  readonly kill: Victim;
  /** Stops the victims instead of killing them, and lets them go on later. */
  readonly pause: boolean;
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
  readonly plan: Plan;
  /** Transactions per second of the closed loop; undefined if the rate was given. */
  readonly capacity: number | undefined;
  readonly perSecond: number;
  readonly killed: readonly string[];
  /** When the measurement began, by the clock of the arrivals. */
  readonly fromMs: number;
  readonly arrivals: readonly Arrival[];
  readonly followers: readonly Arrival[];
  readonly marks: Marks;
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

/** The share of the capacity that is offered. */
export const LOAD_SHARE = 0.7;
/** How long the last transactions may take after the load has ended. */
const DRAIN_MS_MAX = 120_000;
/** How long a region server that goes on may take to find out that it was given up, and to end. */
const END_MS_MAX = 20_000;
/** How long a server that was started may take to come back. */
const RETURN_MS_MAX = 60_000;

export async function measureFailover(plan: Plan, measuring: Measuring): Promise<FailoverResult> {
  const { progress } = measuring;
  const over = new AbortController();
  const signal = AbortSignal.any([measuring.signal, over.signal]);
  progress.phase(`starting HBase with ${plan.regionServers} region servers`, 0);
  await using hbase = await startCluster(plan, (line) => progress.note(line));
  measuring.signal.throwIfAborted();
  await using crew = new Crew(measuring.signal);
  const { servers, sessionTimeoutMs } = hbase;
  const store = { kind: 'hbase', servers, sessionTimeoutMs } as const;
  const engine = await EngineProcesses.start(crew, { store, ...plan });
  await using database = await opened(engine, plan);
  const { percolator } = database;
  const workload = workloadOf(plan, percolator, signal);
  progress.phase('loading', 0);
  await workload.load();
  await engine.startWorkers((row, atMs) => workload.onObserved(row, atMs));
  const running = { plan, hbase, engine, percolator, workload, progress, signal };
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

function workloadOf(plan: Plan, percolator: Percolator, signal: AbortSignal): Workload {
  const parts = { ...plan, percolator, signal };
  return plan.workload === 'brokerage' ? new Trading(parts) : new Crawl(parts);
}

/** Each attempt of a transaction is seen and repeated by the workload, not by the engine. */
async function opened(
  engine: EngineProcesses,
  { workload }: Plan,
): Promise<AsyncDisposable & { readonly percolator: Percolator }> {
  const { percolator, close } = await openDatabase(
    engine.database,
    workload === 'brokerage' ? { attemptsMax: 1 } : {},
  );
  return { percolator, [Symbol.asyncDispose]: close };
}

async function startCluster(
  { regionServers }: Plan,
  progress: (line: string) => void,
): Promise<LocalHBase> {
  try {
    return await startHBase({ environment: process.env, regionServers, progress });
  } catch (error) {
    if (!(error instanceof PercolatorError)) throw error;
    throw new UsageError(`bench:failover needs a local HBase: ${error.message}.`, { cause: error });
  }
}

interface Running {
  readonly plan: Plan;
  readonly hbase: LocalHBase;
  readonly engine: EngineProcesses;
  readonly percolator: Percolator;
  readonly workload: Workload;
  readonly progress: Measuring['progress'];
  readonly signal: AbortSignal;
}

interface Loaded {
  readonly capacity: number | undefined;
  readonly perSecond: number;
  readonly killed: readonly string[];
  readonly fromMs: number;
  readonly killedMs: number;
  /** When the victims were started again, and when all were ready, if that is known. */
  readonly startedMs: number;
  readonly readyMs: number | undefined;
  readonly lagP99Ms: number;
  readonly countersAtKill: Readonly<Record<Counter, number>>;
}

async function runLoad(running: Running): Promise<Loaded> {
  const { plan, workload, progress } = running;
  const capacity = plan.rate === undefined ? await measureCapacity(running) : undefined;
  const perSecond = plan.rate ?? Math.max(1, LOAD_SHARE * (capacity ?? 0));
  const total = Math.round(perSecond * (plan.warmUp + plan.before + plan.down + plan.after));
  progress.note(`the load is ${perSecond.toFixed(1)} a second`);
  progress.phase('running under load', total);
  const beginMs = monotonicMs();
  const fromMs = beginMs + 1000 * plan.warmUp;
  const toMs = fromMs + 1000 * (plan.before + plan.down + plan.after);
  const onProgress = (begun: number): void => progress.update(begun);
  const [{ lagP99Ms }, failure] = await Promise.all([
    workload.offer({ perSecond, beginMs, fromMs, toMs, onProgress }),
    fail(running, fromMs),
  ]);
  return { capacity, perSecond, fromMs, lagP99Ms, ...failure };
}

async function measureCapacity({ plan, workload, progress }: Running): Promise<number> {
  progress.phase('finding the capacity', 0);
  const capacity = await workload.measureCapacity(plan.capacitySeconds);
  progress.note(`the capacity is ${capacity.toFixed(1)} a second`);
  return capacity;
}

/** Kills or stops the victims after `before`, and starts them again after `down`. */
async function fail(
  running: Running,
  fromMs: number,
): Promise<Pick<Loaded, 'killed' | 'killedMs' | 'startedMs' | 'readyMs' | 'countersAtKill'>> {
  const { plan, engine, progress, signal } = running;
  const parts = running[ownerOf(plan.kill)];
  await sleepUntil(fromMs + 1000 * plan.before, signal);
  const killed = plan.kill === 'oracle' ? [await engine.leasedOracle()] : victimsOf(plan);
  signal.throwIfAborted();
  const killedMs = monotonicMs();
  const countersAtKill = countersOf(running);
  if (plan.pause) for (const name of killed) parts.pause(name, 1000 * plan.down);
  else await Promise.all(killed.map((name) => parts.kill(name)));
  progress.note(`${plan.pause ? 'stopped' : 'killed'} ${killed.join(' and ')}`);
  const down = sleepUntil(killedMs + 1000 * plan.down, signal);
  // `findUntold` repeats its reads while the storage is away; the start does not wait for them.
  if (plan.kill === 'workers') await Promise.race([running.workload.findUntold(), down]);
  await down;
  const startedMs = monotonicMs();
  await Promise.all(killed.map((name) => goOn(running, parts, name)));
  const names = killed.join(' and ');
  progress.note(plan.pause ? `let ${names} go on` : `started ${names} again`);
  const readyMs = parts === engine ? monotonicMs() : undefined;
  return { killed, killedMs, startedMs, readyMs, countersAtKill };
}

/**
 * Starts a killed victim again, or lets a stopped one go on. A region server that has stood still
 * for too long ends itself when it goes on, and is then started again.
 */
async function goOn({ plan, hbase, signal }: Running, parts: Parts, name: string): Promise<void> {
  if (!plan.pause) return parts.start(name);
  parts.resume(name);
  if (parts !== hbase) return undefined;
  const endMs = monotonicMs() + END_MS_MAX;
  const isThere = (): boolean => hbase.processes().some((one) => one.name === name);
  while (isThere() && monotonicMs() < endMs) await sleepUntil(monotonicMs() + 100, signal);
  return isThere() ? undefined : parts.start(name);
}

async function sleepUntil(momentMs: number, signal: AbortSignal): Promise<void> {
  await systemClock.sleep(Math.max(0, momentMs - monotonicMs()), signal);
  signal.throwIfAborted();
}

/**
 * Resolves to whether the load came to rest in time. A transaction that has not ended by then is
 * reported as open.
 */
export async function drain(
  { workload, signal }: Pick<Running, 'workload' | 'signal'>,
  msMax: number = DRAIN_MS_MAX,
): Promise<boolean> {
  const isDrained = await Promise.race([
    workload.drain().then(() => true),
    systemClock.sleep(msMax, signal).then(() => false),
  ]);
  signal.throwIfAborted();
  return isDrained;
}

async function checkWorkload({ percolator, workload, progress }: Running): Promise<CheckResult> {
  await percolator.settled();
  progress.phase('checking', 0);
  return workload.check();
}

/** Waits, for at most a minute, until the servers are back: one started late registers late. */
async function readLog(
  { hbase, signal }: Running,
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
  running: Running,
  { killed, killedMs, startedMs, readyMs, fromMs, countersAtKill }: Loaded,
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

/** The counters of this process and of all workers together. */
function countersOf({ percolator: { counters }, engine }: Running): Record<Counter, number> {
  const sums = COUNTERS.map((name) => [name, counters[name] + engine.counted(name)] as const);
  return Object.fromEntries(sums) as Record<Counter, number>;
}
