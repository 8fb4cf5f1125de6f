/**
 * The starting state of all points: the store with the repository, and the batch's input files.
 *
 * No Percolator point begins with the additions of an earlier one. The batch always begins with the
 * repository's files and none of the arrivals.
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { openPercolator, openStore, type Percolator, type StoreAddress } from '#engine';
import type { Progress } from '#harness';
import type { RepositoryDescription } from '#results';
import type { BatchEngineName } from '../harness/batch-engines.ts';
import { documentsPerSecond } from '../harness/load/schedule.ts';
import { checkStoreName, copyStore, provideStore } from '../harness/stores.ts';
import { writeDocuments, writeRepository } from './batch/index.ts';
import { CHECKED_DOCUMENTS_MAX } from './check.ts';
import {
  clusterOneByOne,
  createSyntheticDocuments,
  describePartition,
  documentId,
  type KeyedDocument,
  type Partition,
  type SyntheticDocuments,
} from './documents/index.ts';
import { type LoadOptions, loadRepository } from './percolator/load-repository.ts';
import { DOCUMENTS, KEYS } from './percolator/tables.ts';
import { type Plan, syntheticOptions } from './plan.ts';

export interface PreparedRepository {
  readonly folder: string;
  /** Its user disposes of it. */
  readonly store: RepositoryStore;
  readonly description: RepositoryDescription;
  readonly repositoryFiles: readonly string[];
  readonly arrivals: { readonly file: string; readonly documents: number };
}

/**
 * At the highest rate, the batch may run longer than its interval by this factor and this addition,
 * its warm-up included.
 */
const ARRIVALS_FACTOR = 1.5;
const ARRIVALS_EXTRA_SECONDS: Readonly<Record<BatchEngineName, number>> = {
  local: 5,
  sort: 30,
  hadoop: 420,
  spark: 420,
};

/** For how long the batch needs documents to arrive at the highest rate. */
export function arrivalSeconds({
  batch,
  batchSeconds,
}: Pick<Plan, 'batch' | 'batchSeconds'>): number {
  return batchSeconds * ARRIVALS_FACTOR + ARRIVALS_EXTRA_SECONDS[batch];
}

export async function prepare(
  plan: Plan,
  work: { readonly folder: string; readonly progress: Progress; readonly signal: AbortSignal },
): Promise<PreparedRepository> {
  const { folder, progress, signal } = work;
  const documents = createSyntheticDocuments(syntheticOptions(plan));
  const { repository } = plan;

  progress.phase('clustering the repository in memory', 0);
  const partition = clusterOneByOne(keyedDocuments(documents, repository));
  const description = describeRepository(plan, documents, partition);

  progress.phase("writing the batch's files", repository, 'documents');
  const onProgress = (done: number): void => progress.update(done);
  const files = plan.workers;
  const repositoryFiles = await writeRepository(documents, { folder, files, signal, onProgress });
  const arrivals = await writeArrivals(plan, documents, { folder, signal });

  const isLoadedNow = plan.store === 'embedded'; // Any other store is loaded for each point.
  const opening = isLoadedNow ? 'loading the repository into Percolator' : 'opening the store';
  progress.phase(opening, repository, 'documents');
  const load = () => ({
    documents: documents.range(0, repository),
    partition,
    onProgress,
    signal,
  });
  const { store: name, regionServers } = plan;
  const store = await openRepositoryStore({ store: name, regionServers, folder, load });
  // No function among these, which would keep the partition in memory.
  return { folder, store, description, repositoryFiles, arrivals };
}

function* keyedDocuments(documents: SyntheticDocuments, end: number): Generator<KeyedDocument> {
  for (let i = 0; i < end; i++) yield { id: documentId(i), keys: documents.keysOf(i) };
}

function describeRepository(
  plan: Plan,
  documents: SyntheticDocuments,
  partition: Partition,
): RepositoryDescription {
  const { clusters, meanClusterSize, nonSingletonShare } = describePartition(partition);
  return {
    documents: plan.repository,
    keysPerTable: documents.keySpace,
    documentBytes: plan.documentBytes,
    clusters,
    meanClusterSize,
    nonSingletonShare,
  };
}

async function writeArrivals(
  plan: Plan,
  documents: SyntheticDocuments,
  { folder, signal }: { readonly folder: string; readonly signal: AbortSignal },
): Promise<PreparedRepository['arrivals']> {
  const count = preparedArrivals(plan);
  const name = path.join(folder, 'arrivals');
  const first = plan.repository;
  await writeDocuments(name, documents, { first, end: first + count, signal });
  return { file: name, documents: count };
}

/**
 * As many documents as can arrive while the batch is measured at the highest rate, unless a check
 * cannot hold as many: then the interval ends when they have all arrived.
 */
export function preparedArrivals(
  plan: Pick<Plan, 'repository' | 'rates' | 'batch' | 'batchSeconds'>,
): number {
  const perSecond = documentsPerSecond(plan.repository, Math.max(...plan.rates));
  const count = Math.ceil(perSecond * arrivalSeconds(plan)) + 1;
  return Math.min(count, CHECKED_DOCUMENTS_MAX - plan.repository);
}

/*
 * The store of the Percolator points. Each point begins with the repository, and with nothing that
 * an earlier point has added.
 *
 *     embedded      loaded once, and copied for each point
 *     any other     provided once; for each point our tables are dropped, and loaded anew
 */

export interface RepositoryStore extends AsyncDisposable {
  /** Resolves when the store has the repository and nothing else of ours. */
  forPoint(): Promise<StoreAddress>;
  /** The processes that serve it; null if they are not known, because it already ran. */
  readonly serverPids: readonly number[] | null;
}

export interface RepositoryStoreOptions {
  /** As the user named it. */
  readonly store: string;
  /** Region servers of an HBase that is started here. */
  readonly regionServers: number;
  /** The parent of the folders of an embedded store. */
  readonly folder: string;
  /** Makes the repository to load, from the first document. */
  readonly load: () => Omit<LoadOptions, 'splits'>;
}

/** @throws UsageError if the store is not available */
export async function openRepositoryStore(
  options: RepositoryStoreOptions,
): Promise<RepositoryStore> {
  const { store, regionServers, folder, load } = options;
  if (store === 'embedded') {
    const loaded = { kind: 'embedded', folder: path.join(folder, 'repository') } as const;
    await onPercolator(loaded, (percolator) => loadRepository(percolator, load()));
    return copying(loaded.folder, path.join(folder, 'point'));
  }
  const provided = await provideStore(checkStoreName(store), { folder }, { regionServers });
  const { address, serverPids } = provided;
  return {
    serverPids: serverPids.length > 0 ? serverPids : null,
    forPoint: async () => {
      await onPercolator(address, async (percolator) => {
        await dropTables(percolator);
        // By now, progress counts points, not documents.
        await loadRepository(percolator, { ...load(), onProgress: undefined });
      });
      return address;
    },
    [Symbol.asyncDispose]: async () => {
      try {
        await onPercolator(address, dropTables);
      } finally {
        await provided[Symbol.asyncDispose]();
      }
    },
  };
}

/** Does not know `load`, and so does not keep the partition of the repository in memory. */
function copying(loaded: string, folder: string): RepositoryStore {
  return {
    serverPids: [],
    forPoint: async () => {
      await rm(folder, { recursive: true, force: true });
      await copyStore(loaded, folder);
      return { kind: 'embedded', folder };
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

async function onPercolator(
  address: StoreAddress,
  work: (percolator: Percolator) => Promise<void>,
): Promise<void> {
  await using store = await openStore(address);
  await using percolator = await openPercolator({ store });
  await work(percolator);
}

/** Drops the tables that an earlier point, or an earlier run that was killed, has left. */
async function dropTables(percolator: Percolator): Promise<void> {
  await percolator.dropTable(DOCUMENTS);
  await percolator.dropTable(KEYS);
}
