/**
 * The time that the workloads' own code takes for each document and each transaction: its samples
 * in a profile of the real workload on the embedded store.
 *
 * Neither the rate of the workload nor its whole processor time is kept: a validation predicts
 * those.
 */
import type { Profiler } from 'node:inspector';
import path from 'node:path';
import { createRandom, openPercolator, openStore, type Percolator, systemClock } from '#engine';
import { CustomerEmulator } from '../../brokerage/driver/customer-emulator.ts';
import { SCALES } from '../../brokerage/model/scale.ts';
import { loadPopulation } from '../../brokerage/percolator/load.ts';
import { createPopulation } from '../../brokerage/population/population.ts';
import { openOnPercolator } from '../../brokerage/transactions/on-percolator.ts';
import {
  clusterOneByOne,
  createSyntheticDocuments,
  documentId,
} from '../../crawl-rate/documents/index.ts';
import { Clustered, Loading } from '../../crawl-rate/percolator/serve-engine.ts';
import { clusteringObserver } from '../../crawl-rate/percolator/tables.ts';
import { loadRepository } from '../../crawl-rate/percolator/load-repository.ts';
import { profileCpu } from '../../microbench/cpu-profile.ts';

export interface WorkloadsPlan {
  readonly documents: number;
  readonly seconds: number;
  /** The `--profile` of bench:brokerage whose population is loaded. */
  readonly brokerage: 'smoke' | 'quick';
}

export interface OwnCost {
  readonly what: string;
  /** Processor time of a document or a transaction. */
  readonly us: number;
}

export const OWN = {
  loaded: "a document's loading, its own code",
  clustered: "a document's clustering, its own code",
  transaction: "a brokerage's transaction, its own code",
} as const;

const DOCUMENT_BYTES = 1024;
/** As figure 7 has by default. */
const CONCURRENCY = 256;
const USERS = 32;
/** Until a run's measured interval, which begins in the future. */
const START_MS = 100;

export async function ownCostsOfCrawl(
  folder: string,
  { documents: count }: WorkloadsPlan,
): Promise<readonly OwnCost[]> {
  const documents = { repository: count, documentBytes: DOCUMENT_BYTES, seed: 1 };
  await using database = await openDatabase(path.join(folder, 'crawl'));
  const { percolator } = database;
  const synthetic = createSyntheticDocuments(documents);
  const numbers = Array.from({ length: count }, (_, number) => number);
  await loadRepository(percolator, {
    documents: numbers.map((number) => synthetic.documentOf(number)),
    partition: clusterOneByOne(
      numbers.map((number) => ({ id: documentId(number), keys: synthetic.keysOf(number) })),
    ),
  });
  const schedule = {
    first: count,
    warmupDocuments: count,
    warmupPerSecond: 1e9,
    documents: count,
    perSecond: 1e9,
  };
  const loading = new Loading(percolator, {
    database: { store: database.address },
    documents,
    schedule,
    concurrency: CONCURRENCY,
    engine: ENGINE,
  });
  const clustered = new Clustered(schedule);
  let reached = Promise.withResolvers<void>();
  let end = 0;
  const worker = percolator.startWorker([clusteringObserver], {
    concurrency: CONCURRENCY,
    onCommitted: (run) => {
      clustered.add(run);
      loading.setClustered(clustered.documents);
      if (clustered.documents === end) reached.resolve();
    },
  });
  const clusterUntil = async (documentsEnd: number): Promise<void> => {
    end = documentsEnd;
    reached = Promise.withResolvers();
    loading.load(end);
    await Promise.race([reached.promise, worker.ended]);
  };
  await clusterUntil(count); // Warm-up: Node compiles the code.
  const costs = await profiled(async () => {
    await clusterUntil(2 * count);
    return count;
  }, partOfCrawl);
  await worker.stop();
  return costs;
}

const ENGINE = {
  batching: 'off',
  batchDelay: 1,
  batchRows: 256,
  batchInFlight: 8,
  prefetch: 'off',
  scanners: 1,
} as const;

function partOfCrawl([innermost = '', ...outer]: readonly string[]): string | undefined {
  if (!innermost.includes('/workloads/crawl-rate/')) return undefined;
  const isLoading = [innermost, ...outer].some((file) => file.endsWith('/loading.ts'));
  return isLoading ? OWN.loaded : OWN.clustered;
}

export async function ownCostsOfBrokerage(
  folder: string,
  { seconds, brokerage: profile }: WorkloadsPlan,
): Promise<readonly OwnCost[]> {
  const population = createPopulation(SCALES[profile], 1);
  await using database = await openDatabase(path.join(folder, 'brokerage'));
  const { percolator } = database;
  await loadPopulation(percolator, population);
  let trades = 0;
  let executed = 0;
  const brokerage = openOnPercolator(percolator, { brokerUpdate: 'omit' });
  const emulator = new CustomerEmulator({
    clock: systemClock,
    random: createRandom(1),
    population,
    brokerage: {
      ...brokerage,
      execute: (...given) => {
        executed++;
        return brokerage.execute(...given);
      },
    },
    nextTradeId: () => population.roster.trades.lastId + 1 + trades++,
    originMs: systemClock.monotonicMs(),
  });
  const run = async (): Promise<number> => {
    const before = executed;
    const beginMs = systemClock.monotonicMs() + START_MS;
    const { firstFailure } = await emulator.run({
      load: { kind: 'unpaced', users: USERS },
      beginMs,
      fromMs: beginMs,
      toMs: beginMs + 1000 * seconds,
      hasMaintenance: false,
      signal: new AbortController().signal,
    });
    if (firstFailure !== null) throw new Error(`a transaction has failed: ${firstFailure}`);
    return executed - before;
  };
  await run(); // Warm-up: Node compiles the code.
  const costs = await profiled(run, ([innermost = '']) =>
    innermost.includes('/workloads/brokerage/') ? OWN.transaction : undefined,
  );
  emulator.exchange.close();
  return costs;
}

/** @param work resolves to the number of its units */
async function profiled(
  work: () => Promise<number>,
  partOf: (files: readonly string[]) => string | undefined,
): Promise<readonly OwnCost[]> {
  let units = 0;
  const { json } = await profileCpu(1, async () => {
    units = await work();
  });
  return [...ownTime(json, partOf)].map(([what, us]) => ({ what, us: us / units }));
}

async function openDatabase(folder: string): Promise<
  AsyncDisposable & {
    readonly percolator: Percolator;
    readonly address: { readonly kind: 'embedded'; readonly folder: string };
  }
> {
  const address = { kind: 'embedded', folder } as const;
  await using cleanup = new AsyncDisposableStack();
  const store = cleanup.use(await openStore(address));
  const percolator = cleanup.use(await openPercolator({ store }));
  const all = cleanup.move();
  return { percolator, address, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/*
 * How much of a profile is a workload's own code: samples whose nearest function of this project,
 * up the stack, is in the workload's folder, so that what it calls of Node counts as well.
 * Collections of garbage are left out: all parts have their share of them.
 */

type Node = Profiler.ProfileNode;

/**
 * @param partOf names the part of a workload that a stack belongs to, from the files of its
 * functions, innermost first; undefined if it is not the workload's
 * @returns microseconds by part
 */
export function ownTime(
  profileJson: string,
  partOf: (files: readonly string[]) => string | undefined,
): ReadonlyMap<string, number> {
  const { nodes, samples = [], timeDeltas = [] } = JSON.parse(profileJson) as Profiler.Profile;
  const stacks = new Stacks(nodes);
  const times = new Map<string, number>();
  for (const [i, id] of samples.entries()) {
    const part = stacks.isOutside(id) ? undefined : partOf(stacks.filesOf(id));
    // A sample stands for the time until the next one.
    const us = timeDeltas[i + 1] ?? 0;
    if (part !== undefined) times.set(part, (times.get(part) ?? 0) + us);
  }
  return times;
}

class Stacks {
  readonly #nodes: ReadonlyMap<number, Node>;
  readonly #parents: ReadonlyMap<number, number>;
  readonly #files = new Map<number, readonly string[]>();

  constructor(nodes: readonly Node[]) {
    this.#nodes = new Map(nodes.map((node) => [node.id, node]));
    this.#parents = new Map(
      nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
    );
  }

  /** Waiting, or collecting garbage, which all parts share. */
  isOutside(id: number): boolean {
    const name = this.#nodes.get(id)?.callFrame.functionName;
    return name === '(idle)' || name === '(garbage collector)';
  }

  /** Of this project, innermost first. */
  filesOf(id: number): readonly string[] {
    const known = this.#files.get(id);
    if (known !== undefined) return known;
    const parent = this.#parents.get(id);
    const outer = parent === undefined ? [] : this.filesOf(parent);
    const url = this.#nodes.get(id)?.callFrame.url ?? '';
    const isOurs = url.startsWith('file:') && !url.includes('/node_modules/');
    const files = isOurs ? [url, ...outer] : outer;
    this.#files.set(id, files);
    return files;
  }
}
