/** The main measurement of one store: figure 8, its parts, and the number of messages. */
import { sum } from 'simple-statistics';
import { createRandom, openPercolator } from '#engine';
import { settingsOf } from '../harness/engine-settings.ts';
import type { BenchStore } from './bench-store.ts';
import {
  type MicroCase,
  measureInRounds,
  type Rounds,
  runHere,
  type Slice,
  type Slices,
} from './case.ts';
import { type Services, startClients } from './clients.ts';
import { closedLoop } from '../harness/load/loops.ts';
import { comparedCases, figure8Cases } from './figure-8-cases.ts';
import type { MicroPlan } from './plan.ts';
import { type Estimate, estimate, estimateRatio } from '../harness/statistics.ts';
import { type CallCounts, countCall, watchCalls } from './recorded-messages.ts';

/** The average messages of one operation of a case, with as many callers as in the measurement. */
export interface OperationMessages {
  readonly calls: number;
  readonly bytesSent: number;
  readonly bytesReceived: number;
  /**
   * Groups that the embedded storage writes, each shared by the operations that gather in it; a
   * group of prewrites alone has no sync of its own. Null elsewhere.
   */
  readonly diskCommits: number | null;
}

export interface Figure8 {
  readonly slices: Slices;
  readonly messages: ReadonlyMap<string, OperationMessages>;
  /** Whether clients, oracle and lock service were processes of their own (`--processes`). */
  readonly inProcesses: boolean;
  /** Operations in flight. */
  readonly concurrency: number;
}

/** A store, and what was measured on it. */
export interface MeasuredStore {
  readonly name: string;
  readonly durability: string;
  readonly figure8: Figure8;
}

export interface Watched {
  readonly signal: AbortSignal;
  /** Called with the name of the next measurement. */
  readonly onPhase: (what: string) => void;
}

/** The parameters of every measurement on this store; `given` overrides some. */
export function roundsOf(
  bench: BenchStore,
  plan: MicroPlan,
  given: Pick<Rounds, 'signal'> & Partial<Rounds> & { readonly stream: string },
): Rounds {
  const { stream, ...rest } = given;
  return {
    rounds: plan.repeats,
    sliceSeconds: plan.seconds,
    warmupSeconds: plan.warmUp,
    operationsMax: plan.rows,
    concurrency: plan.concurrency,
    firstOperation: bench.nextOperations(),
    random: createRandom(plan.seed).fork(`${bench.name} ${stream}`),
    runSlice: runHere(bench.servers),
    ...rest,
  };
}

/** @param clientProgram the program of each client with `--processes`, for tests */
export async function measureFigure8(
  bench: BenchStore,
  plan: MicroPlan,
  { signal, onPhase }: Watched,
  clientProgram?: URL,
): Promise<Figure8> {
  onPhase(`${bench.name}: figure 8`);
  const cases = figure8Cases(bench.percolator, bench.data, bench);
  const rounds = roundsOf(bench, plan, { signal, stream: 'figure 8' });
  const slices =
    bench.services === null
      ? await measureInRounds(cases, rounds)
      : await measureInClients(cases, rounds, {
          bench,
          services: bench.services,
          plan,
          clientProgram,
        });
  onPhase(`${bench.name}: messages of an operation`);
  const messages = await countMessages(bench, plan, signal);
  const { concurrency } = plan;
  return { slices, messages, inProcesses: bench.services !== null, concurrency };
}

interface ClientsContext {
  readonly bench: BenchStore;
  readonly services: Services;
  readonly plan: MicroPlan;
  readonly clientProgram: URL | undefined;
}

async function measureInClients(
  cases: readonly (readonly MicroCase[])[],
  rounds: Rounds,
  { bench, services, plan, clientProgram: program }: ClientsContext,
): Promise<Slices> {
  const { rows, valueBytes, seed, processes: count } = plan;
  const options = { data: { rows, valueBytes, seed }, engine: settingsOf(plan) };
  const { messages, servers, written } = bench;
  const isServer = bench.name === 'embedded';
  const clientsOptions = { count, options, messages, servers, isServer, program };
  const clients = await startClients(services, clientsOptions);
  const slices = await measureInRounds(cases, { ...rounds, runSlice: clients.runSlice });
  await clients.finish(written);
  return slices;
}

/** A separate pass, because counting takes time. */
async function countMessages(
  bench: BenchStore,
  plan: MicroPlan,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, OperationMessages>> {
  let counts: CallCounts = { calls: 0, bytesSent: 0, bytesReceived: 0 };
  const store = watchCalls(bench.store, (call) => countCall(counts, call));
  const { oracle } = bench;
  await using percolator = await openPercolator({ store, oracle, ...settingsOf(plan) });
  const counted = new Map<string, OperationMessages>();
  const operations = Math.min(plan.rows, 20 * plan.concurrency);
  for (const one of comparedCases(percolator, bench.data, bench.written).flat()) {
    const run = { operations, concurrency: plan.concurrency, signal };
    // Not counted: the first transaction of a database also reads the definition of the table.
    await closedLoop(one.operate, { ...run, first: bench.nextOperations(), operations: 1 });
    counts = { calls: 0, bytesSent: 0, bytesReceived: 0 };
    const before = bench.diskCommits();
    await closedLoop(one.operate, { ...run, first: bench.nextOperations() });
    await one.settle?.();
    const after = bench.diskCommits();
    counted.set(one.name, {
      calls: counts.calls / operations,
      bytesSent: counts.bytesSent / operations,
      bytesReceived: counts.bytesReceived / operations,
      diskCommits: before === null || after === null ? null : (after - before) / operations,
    });
  }
  return counted;
}

/** Operations per second in each round. */
function ratesOf(slices: Slices, name: string): readonly number[] {
  return slicesOf(slices, name).map(({ operations, seconds }) => operations / seconds);
}

export function rateOf(slices: Slices, name: string): Estimate {
  return estimate(ratesOf(slices, name));
}

/** Ratio to the rate of the baseline, round by round. */
export function ratioOf(slices: Slices, name: string, baseline: string): Estimate {
  return estimateRatio(ratesOf(slices, name), ratesOf(slices, baseline));
}

export interface OperationCost {
  /** Microseconds of CPU per operation. */
  readonly clientUs: number;
  readonly serverUs: number | null;
  readonly servicesUs: number | null;
}

export function costOf(slices: Slices, name: string): OperationCost {
  const all = slicesOf(slices, name);
  const operations = sum(all.map((slice) => slice.operations));
  const mean = (of: (slice: Slice) => number | null): number | null => {
    const known = all.map(of).filter((us) => us !== null);
    return known.length < all.length ? null : sum(known) / operations;
  };
  return {
    clientUs: mean(({ clientUs }) => clientUs) ?? 0,
    serverUs: mean(({ serverUs }) => serverUs),
    servicesUs: mean(({ servicesUs }) => servicesUs),
  };
}

/**
 * The CPU time of client, server and services together.
 * @param inClient which of them run in the client
 * @returns null if the time of a process is not known: another program started it, or the system
 * does not report it
 */
export function totalUs(
  { clientUs, serverUs, servicesUs }: OperationCost,
  inClient: Record<'server' | 'services', boolean>,
): number | null {
  const server = inClient.server ? 0 : serverUs;
  const services = inClient.services ? 0 : servicesUs;
  return server === null || services === null ? null : clientUs + server + services;
}

function slicesOf(slices: Slices, name: string): readonly Slice[] {
  const found = slices.get(name);
  if (found === undefined) throw new Error(`${name} was not measured`);
  return found;
}

/** The case of that name. */
export function caseNamed(groups: readonly (readonly MicroCase[])[], name: string): MicroCase {
  const found = groups.flat().find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no case ${name}`);
  return found;
}
