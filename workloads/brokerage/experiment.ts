/**
 * Figure 9: what the brokerage costs, from low load to saturation, on Percolator and on PostgreSQL.
 *
 * 1. Load all systems: Percolator's stores and PostgreSQL. Then start the clients of each, which
 *    serve all runs.
 * 2. Run each at full speed (unpaced), in an order drawn from the seed.
 * 3. Collect the garbage that step 2 has left. Then climb the ladder (paced): loads relative to
 *    that maximum, system by system in rounds, in orders drawn from the seed.
 * 4. Stop the clients and check every database. If one is wrong, no system has numbers.
 * 5. On copies of the loaded embedded store, measure the reads that batching and prefetching save,
 *    and the update of the broker in three modes.
 */
import path from 'node:path';
import { createRandom, type Random } from '#engine';
import { live, type Measuring, type Progress } from '#harness';
import { type FindingsParts, formatDigits, firstErrorOf, UsageError } from '#results';
import { shuffled } from '../harness/chance.ts';
import type { DatabaseValues } from '../harness/engine-settings.ts';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import { type RunResult, SystemClients, type TradeLoad } from './clients.ts';
import { findingsOf } from './findings.ts';
import type { Population } from './model/population.ts';
import type { BrokerUpdate } from './model/trading-rules.ts';
import {
  type BrokeragePlan,
  needsMaximum,
  SECONDS_PER_TRADE,
  secondsOfLoad,
  type SystemName,
} from './plan.ts';
import { createPopulation } from './population/population.ts';
import { connectionsOfClient } from './postgres/tuning.ts';
import {
  type BrokerMode,
  type Figure9Results,
  noResults,
  type ReadsVariant,
  saturation,
  tradesPerSecond,
  VARIANT,
} from './results.ts';
import type { LoadedDatabase } from './systems/database.ts';
import {
  loadStore,
  openPercolatorDatabase,
  type PercolatorDatabaseOptions,
} from './systems/percolator.ts';
import { openPostgresDatabase } from './systems/postgres.ts';
import { targetsOf } from './targets.ts';

/**
 * Resolves to the findings, which have no numbers if a check found any system wrong. Rejects if the
 * run fails or is interrupted.
 */
export async function measureFigure9(
  plan: BrokeragePlan,
  measuring: Measuring,
): Promise<FindingsParts> {
  const { run, progress, signal, work } = measuring;
  const population = createPopulation(plan.scale, plan.seed);
  const results = noResults();
  const random = createRandom(plan.seed).fork('order');
  await measureAll({ plan, population, work, random, progress, signal, results });
  run.describe({ limitations: [...results.missing, ...run.record.limitations] });
  return { ...findingsOf(results), targets: targetsOf(plan, results) };
}

async function measureAll(context: Figure9Context): Promise<void> {
  const { plan, population, work, progress, signal, results } = context;
  const { paced, unpaced, reads, brokers } = plan.parts;
  const loaded = path.join(work, 'loaded');
  const needsOurs = plan.systems.includes('embedded') || reads || brokers;
  if (needsOurs) {
    progress.phase('loading the embedded store', 0);
    await loadStore({ kind: 'embedded', folder: loaded }, population, signal);
  }
  if (paced || unpaced) await measureSystems(context, loaded);
  if (reads) results.reads.push(...(await measureReads(context, loaded)));
  if (brokers) results.brokers.push(...(await measureBrokerModes(context, loaded)));
  signal.throwIfAborted();
  results.isComplete = true;
}

/** What all parts of the experiment share. */
interface Figure9Context {
  readonly plan: BrokeragePlan;
  readonly population: Population;
  /** Folder for everything that is deleted at the end. */
  readonly work: string;
  readonly random: Random;
  readonly progress: Progress;
  readonly signal: AbortSignal;
  readonly results: Figure9Results;
}

function unpacedLoad({ users, warmUp, seconds }: BrokeragePlan): TradeLoad {
  return { tradesPerSecond: null, users, warmupSeconds: warmUp, seconds };
}

/** Adds to the results what is wrong, in sentences that each begin with `name`. */
async function checkSystem(
  { progress, results }: Figure9Context,
  name: string,
  { database, tradeResults, firstFailure }: SystemClients,
): Promise<void> {
  progress.phase(`${name}: checking`, 0);
  const failures = firstFailure === null ? [] : [`a transaction has failed: ${firstFailure}`];
  const wrong = [...failures, ...(await database.check(tradeResults))];
  results.wrong.push(...wrong.map((one) => `${name}: ${one}`));
  results.checked.push(name);
}

/**
 * Percolator and PostgreSQL next to each other: loaded, driven at full speed, driven up the ladder
 * of loads in turns, and checked. `loaded`: an embedded store to copy.
 */
async function measureSystems(context: Figure9Context, loaded: string): Promise<void> {
  const { plan, population, progress, signal, results } = context;
  await using databases = new AsyncDisposableStack();
  const opened = (await openDatabases(context, loaded)).map((one) => databases.use(one));
  await using running = new AsyncDisposableStack();
  const all: SystemClients[] = [];
  for (const database of opened) {
    progress.phase(`starting the clients of ${database.name}`, 0);
    const common = { population, originMs: monotonicMs(), signal };
    const options = { ...common, clients: plan.processes ?? 1 };
    all.push(running.use(await SystemClients.open(database, options)));
    results.durability.set(database.name, database.durability);
  }
  const fastest = await measureUnpaced(context, all);
  if (plan.parts.paced) {
    if (fastest.size > 0) await collect(context, all);
    await climb(context, all, fastest);
  }
  for (const clients of all) await clients.stop();
  for (const clients of all) {
    signal.throwIfAborted();
    await checkSystem(context, clients.database.name, clients);
  }
}

/** @throws UsageError if none of the systems is available */
async function openDatabases(
  context: Figure9Context,
  loaded: string,
): Promise<readonly LoadedDatabase[]> {
  const { plan, population, work, progress, signal, results } = context;
  const { stores, regionServers, brokerUpdate, engine, processes } = plan;
  const databases: LoadedDatabase[] = [];
  const open = async (name: string, opening: () => Promise<LoadedDatabase>): Promise<void> => {
    signal.throwIfAborted();
    progress.phase(`${name}: loading`, 0);
    try {
      databases.push(await opening());
    } catch (error) {
      const first = firstErrorOf(error);
      if (!(first instanceof UsageError)) throw error;
      results.missing.push(`Not measured: ${name}. ${first.message}`);
    }
  };
  const common = {
    brokerUpdate,
    engine,
    processes,
    signal,
    countsCalls: false,
  };
  try {
    for (const [kind, store] of stores) {
      const folder = path.join(work, kind);
      const copyOf = kind === 'embedded' ? loaded : undefined;
      const options = { ...common, kind, store, folder, copyOf, regionServers };
      await open(store, () => openPercolatorDatabase(population, options));
    }
    if (plan.systems.includes('postgres')) {
      const connectionsMax = connectionsOfClient(processes ?? 1);
      const options = { folder: work, brokerUpdate, connectionsMax, signal };
      await open('PostgreSQL', () => openPostgresDatabase(population, options));
    }
  } catch (error) {
    for (const database of databases) await database[Symbol.asyncDispose]();
    throw error;
  }
  if (databases.length === 0) throw new UsageError(results.missing.join(' '));
  return databases;
}

/**
 * Runs each system at full speed, and returns its Trade-Results per second. The clients have just
 * started, with nothing compiled and empty caches, so each system first runs once unmeasured.
 */
async function measureUnpaced(
  { plan, random, progress, signal, results }: Figure9Context,
  systems: readonly SystemClients[],
): Promise<ReadonlyMap<SystemClients, number>> {
  const fastest = new Map<SystemClients, number>();
  for (const clients of needsMaximum(plan) ? shuffled(random, systems) : []) {
    signal.throwIfAborted();
    progress.phase(`${clients.database.name}: ${plan.users} users at full speed`, 0);
    await clients.run(unpacedLoad(plan));
    const result = await clients.run(unpacedLoad(plan));
    await clients.database.quiesce?.();
    results.unpaced.push({ system: clients.database.name, result });
    fastest.set(clients, tradesPerSecond(result));
    progress.note(`${clients.database.name}, unpaced: ${tradesPerSecond(result).toFixed(1)} TR/s`);
  }
  return fastest;
}

/**
 * At full speed a system leaves more garbage in a minute than in all of the ladder. This garbage is
 * collected here, or the points measured first would pay for it.
 */
async function collect(
  { progress, signal }: Figure9Context,
  systems: readonly SystemClients[],
): Promise<void> {
  for (const clients of systems) {
    signal.throwIfAborted();
    progress.phase(`${clients.database.name}: collecting garbage`, 0);
    await clients.collect();
  }
}

/**
 * The ladder. In a round, one system after the other runs all of its loads, in orders drawn from
 * the seed. So a system's points of one round are measured with no other system's in between, and
 * systems are compared within every round. Before its turn a system has rested for minutes, and its
 * first transactions cost up to half as much again; so it first runs a warm-up, unmeasured.
 */
async function climb(
  { plan, random, progress, signal, results }: Figure9Context,
  systems: readonly SystemClients[],
  fastest: ReadonlyMap<SystemClients, number>,
): Promise<void> {
  const turns = Array.from({ length: plan.repeats }, () =>
    shuffled(random, systems).map((clients) => {
      const rates = ratesFor(plan, fastest.get(clients));
      return { clients, rates: shuffled(random, rates), highest: Math.max(...rates) };
    }),
  ).flat();
  let done = 0;
  progress.phase('the ladder', turns.flatMap(({ rates }) => rates).length, 'points');
  for (const { clients, rates, highest } of turns) {
    signal.throwIfAborted();
    await clients.run(pacedLoad(plan, highest));
    for (const rate of rates) {
      signal.throwIfAborted();
      live.phase(`${clients.database.name} at ${formatDigits(rate)} TR/s`);
      using _ = live.show([
        { panel: 'throughput', series: 'Trade-Results offered', level: () => rate, isTarget: true },
      ]);
      const result = await clients.run(pacedLoad(plan, rate));
      results.ladder.push({ system: clients.database.name, result });
      progress.update(++done);
      progress.note(inWords(clients.database.name, rate, result));
    }
    await clients.database.quiesce?.();
  }
}

/** Low loads are measured for longer, because they yield few transactions per second. */
function pacedLoad(plan: BrokeragePlan, rate: number): TradeLoad {
  const seconds = secondsOfLoad(plan, rate);
  return { tradesPerSecond: rate, users: 0, warmupSeconds: plan.warmUp, seconds };
}

/**
 * Returns the given rates, or else shares of the maximum. The maximum counts as at least the
 * nominal rate: what the customers would do on their own.
 */
function ratesFor({ rates, rungs, scale }: BrokeragePlan, fastest = 0): readonly number[] {
  const nominal = scale.customers / SECONDS_PER_TRADE;
  return rates ?? rungs.map((share) => share * Math.max(fastest, nominal));
}

function inWords(system: SystemName, rate: number, result: RunResult): string {
  const words = `${system} at ${rate.toFixed(1)} TR/s: ${tradesPerSecond(result).toFixed(1)} TR/s`;
  const reason = saturation(result);
  return reason === null ? words : `${words}, saturated: ${reason}`;
}

type CopySettings = Pick<PercolatorDatabaseOptions, 'brokerUpdate' | 'engine' | 'countsCalls'>;

/**
 * Opens a copy of the loaded embedded store, runs it at full speed, checks and deletes it. Adds to
 * the results what the check finds wrong.
 */
async function runOnCopy(
  context: Figure9Context,
  {
    loaded,
    name,
    changes,
  }: { readonly loaded: string; readonly name: string; readonly changes: CopySettings },
): Promise<RunResult> {
  const { plan, population, work, progress, signal } = context;
  progress.phase(`${name}: opening`, 0);
  await using database = await openPercolatorDatabase(population, {
    ...changes,
    kind: 'embedded',
    store: 'embedded',
    folder: path.join(work, 'copy'),
    copyOf: loaded,
    processes: undefined,
    signal,
  });
  const options = { population, clients: 1, originMs: monotonicMs(), signal };
  await using clients = await SystemClients.open(database, options);
  progress.phase(`${name}: ${plan.users} users at full speed`, 0);
  const result = await clients.run(unpacedLoad(plan));
  await clients.stop();
  await checkSystem(context, name, clients);
  progress.note(`${name}: ${tradesPerSecond(result).toFixed(1)} TR/s`);
  return result;
}

type ReadSettings = Pick<DatabaseValues, 'batching' | 'prefetch'>;

const VARIANTS: readonly (readonly [string, ReadSettings])[] = [
  [VARIANT.off, { batching: 'off', prefetch: 'off' }],
  [VARIANT.prefetching, { batching: 'off', prefetch: 'learn' }],
  [VARIANT.batching, { batching: 'on', prefetch: 'off' }],
  [VARIANT.both, { batching: 'on', prefetch: 'learn' }],
];

/**
 * The paper's section 2.5 on this workload: the calls that batching and prefetching save. Results
 * come in the order above, whatever the order of measuring.
 */
async function measureReads(
  context: Figure9Context,
  loaded: string,
): Promise<readonly ReadsVariant[]> {
  const measured = new Map<string, RunResult>();
  for (const [name, switches] of shuffled(context.random, VARIANTS)) {
    const { brokerUpdate, engine } = context.plan;
    const changes = { brokerUpdate, engine: { ...engine, ...switches }, countsCalls: true };
    measured.set(name, await runOnCopy(context, { loaded, name, changes }));
  }
  return VARIANTS.flatMap(([name]) => {
    const result = measured.get(name);
    return result === undefined ? [] : [{ name, result }];
  });
}

const MODES: readonly BrokerUpdate[] = ['omit', 'inline', 'side-table'];

/**
 * The update of the broker, which the paper left out because it conflicts, in three modes: left
 * out, inside the transaction, and by way of a side table. All modes run at full speed, far above
 * the customers' nominal load, so that trades of one broker conflict more often.
 */
async function measureBrokerModes(
  context: Figure9Context,
  loaded: string,
): Promise<readonly BrokerMode[]> {
  const measured = new Map<BrokerUpdate, RunResult>();
  for (const mode of shuffled(context.random, MODES)) {
    const { engine } = context.plan;
    const changes = { brokerUpdate: mode, engine, countsCalls: false };
    measured.set(mode, await runOnCopy(context, { loaded, name: `broker ${mode}`, changes }));
  }
  return MODES.flatMap((mode) => {
    const result = measured.get(mode);
    return result === undefined ? [] : [{ mode, result }];
  });
}
