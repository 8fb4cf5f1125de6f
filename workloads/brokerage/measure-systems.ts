/**
 * Percolator and PostgreSQL next to each other: loaded, driven at full speed, driven up the ladder
 * of loads in turns, and checked.
 */
import path from 'node:path';
import { firstErrorOf, UsageError } from '#results';
import { type Context, unpacedLoad, checkSessions } from './context.ts';
import { shuffled } from '../harness/shuffled.ts';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import type { OfferedLoad, RunResult } from './clients.ts';
import {
  needsMaximum,
  type Plan,
  SECONDS_PER_TRADE,
  secondsOfLoad,
  type SystemName,
} from './plan.ts';
import { saturation, tradesPerSecond } from './point.ts';
import { connectionsOfClient } from './postgres/index.ts';
import { Session } from './session.ts';
import type { LoadedDatabase } from './systems/database.ts';
import { openPercolatorDatabase } from './systems/percolator-database.ts';
import { openPostgresDatabase } from './systems/postgres-database.ts';

/** `loaded`: an embedded store to copy. */
export async function measureSystems(context: Context, loaded: string): Promise<void> {
  const { plan, population, progress, signal, results } = context;
  await using databases = new AsyncDisposableStack();
  const opened = (await openDatabases(context, loaded)).map((one) => databases.use(one));
  await using sessions = new AsyncDisposableStack();
  const all: Session[] = [];
  for (const system of opened.flatMap(({ systems }) => systems)) {
    progress.phase(`starting the clients of ${system.name}`, 0);
    const clients = plan.processes ?? 1;
    const common = { population, clients, originMs: monotonicMs(), signal };
    all.push(sessions.use(await Session.open(system, { ...common, number: all.length })));
    results.durability.set(system.name, system.durability);
  }
  const fastest = await measureUnpaced(context, all);
  if (plan.parts.paced) {
    if (fastest.size > 0) await collect(context, all);
    await climb(context, all, fastest);
  }
  for (const session of all) await session.stop();
  for (const database of opened) await checkDatabase(context, database, all);
}

/** @throws UsageError if none of the systems is available */
async function openDatabases(context: Context, loaded: string): Promise<readonly LoadedDatabase[]> {
  const { plan, population, work, progress, signal, results } = context;
  const { systems, stores, regionServers, brokerUpdate, engine, processes } = plan;
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
    const variants = (['functions', 'frames'] as const).filter((system) =>
      systems.includes(system),
    );
    if (variants.length > 0) {
      const connectionsMax = connectionsOfClient(processes ?? 1);
      const options = { folder: work, variants, brokerUpdate, connectionsMax, signal };
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
  { plan, random, progress, signal, results }: Context,
  sessions: readonly Session[],
): Promise<ReadonlyMap<Session, number>> {
  const fastest = new Map<Session, number>();
  for (const session of needsMaximum(plan) ? shuffled(random, sessions) : []) {
    signal.throwIfAborted();
    progress.phase(`${session.system.name}: ${plan.users} users at full speed`, 0);
    await session.run(unpacedLoad(plan));
    const result = await session.run(unpacedLoad(plan));
    await session.system.quiesce?.();
    results.unpaced.push({ system: session.system.name, result });
    fastest.set(session, tradesPerSecond(result));
    progress.note(`${session.system.name}, unpaced: ${tradesPerSecond(result).toFixed(1)} TR/s`);
  }
  return fastest;
}

/**
 * At full speed a system leaves more garbage in a minute than in all of the ladder. This garbage is
 * collected here, or the points measured first would pay for it.
 */
async function collect({ progress, signal }: Context, sessions: readonly Session[]): Promise<void> {
  for (const session of sessions) {
    signal.throwIfAborted();
    progress.phase(`${session.system.name}: collecting garbage`, 0);
    await session.collect();
  }
}

/**
 * The ladder. In a round, one system after the other runs all of its loads, in orders drawn from
 * the seed. So a system's points of one round are measured with no other system's in between, and
 * systems are compared within every round. Before its turn a system has rested for minutes, and its
 * first transactions cost up to half as much again; so it first runs a warm-up, unmeasured.
 */
async function climb(
  { plan, random, progress, signal, results }: Context,
  sessions: readonly Session[],
  fastest: ReadonlyMap<Session, number>,
): Promise<void> {
  const turns = Array.from({ length: plan.repeats }, () =>
    shuffled(random, sessions).map((session) => {
      const rates = ratesFor(plan, fastest.get(session));
      return { session, rates: shuffled(random, rates), highest: Math.max(...rates) };
    }),
  ).flat();
  let done = 0;
  progress.phase('the ladder', turns.flatMap(({ rates }) => rates).length, 'points');
  for (const { session, rates, highest } of turns) {
    signal.throwIfAborted();
    await session.run(pacedLoad(plan, highest));
    for (const rate of rates) {
      signal.throwIfAborted();
      const result = await session.run(pacedLoad(plan, rate));
      results.ladder.push({ system: session.system.name, result });
      progress.update(++done);
      progress.note(inWords(session.system.name, rate, result));
    }
    await session.system.quiesce?.();
  }
}

/** Low loads are measured for longer, because they yield few transactions per second. */
function pacedLoad(plan: Plan, rate: number): OfferedLoad {
  const seconds = secondsOfLoad(plan, rate);
  return { tradesPerSecond: rate, users: 0, warmupSeconds: plan.warmUp, seconds };
}

/**
 * Returns the given rates, or else shares of the maximum. The maximum counts as at least the
 * nominal rate: what the customers would do on their own.
 */
function ratesFor({ rates, rungs, scale }: Plan, fastest = 0): readonly number[] {
  const nominal = scale.customers / SECONDS_PER_TRADE;
  return rates ?? rungs.map((share) => share * Math.max(fastest, nominal));
}

function inWords(system: SystemName, rate: number, result: RunResult): string {
  const words = `${system} at ${rate.toFixed(1)} TR/s: ${tradesPerSecond(result).toFixed(1)} TR/s`;
  const reason = saturation(result);
  return reason === null ? words : `${words}, saturated: ${reason}`;
}

async function checkDatabase(
  { progress, signal, results }: Context,
  database: LoadedDatabase,
  sessions: readonly Session[],
): Promise<void> {
  signal.throwIfAborted();
  const names = database.systems.map(({ name }) => name).join(' and ');
  progress.phase(`${names}: checking`, 0);
  const ours = sessions.filter(({ system }) => database.systems.includes(system));
  results.wrong.push(...(await checkSessions(names, database, ours)));
  results.checked.push(names);
}
