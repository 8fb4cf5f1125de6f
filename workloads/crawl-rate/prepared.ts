/**
 * The starting state of all points: the loaded store, and the batch's input files.
 *
 * Each Percolator point has its own copy of the store, so that no point begins with the additions
 * of an earlier one. The batch always begins with the repository's files and none of the arrivals.
 */
import { open, rm } from 'node:fs/promises';
import path from 'node:path';
import { openPercolator } from '#engine';
import type { Progress } from '#harness';
import type { BatchEngineName } from '../harness/batch-engines.ts';
import type { RepositoryDescription } from '#results';
import { writeRepository } from './batch/index.ts';
import {
  clusterOneByOne,
  createSyntheticDocuments,
  describePartition,
  documentId,
  encodeRecord,
  type KeyedDocument,
  type Partition,
  type SyntheticDocuments,
} from './documents/index.ts';
import { loadRepository } from './percolator/load-repository.ts';
import { type Plan, syntheticOptions } from './plan.ts';
import { copyStore } from '../harness/stores/copy-store.ts';
import { documentsPerSecond } from '../harness/load/schedule.ts';

export interface PreparedRepository {
  readonly folder: string;
  readonly description: RepositoryDescription;
  readonly repositoryFiles: readonly string[];
  readonly arrivals: { readonly file: string; readonly documents: number };
}

/** At the highest rate, the batch may run past its interval by this factor and this addition. */
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
  const arrivals = await writeArrivals(plan, documents, folder);

  progress.phase('loading the repository into Percolator', repository, 'documents');
  await using percolator = await openPercolator({ folder: path.join(folder, 'repository') });
  await loadRepository(percolator, {
    documents: documents.range(0, repository),
    partition,
    onProgress,
    signal,
  });
  return { folder, description, repositoryFiles, arrivals };
}

/** A copy of the loaded store for one point. */
export async function storeForPoint({ folder }: PreparedRepository): Promise<string> {
  const copy = path.join(folder, 'point');
  await rm(copy, { recursive: true, force: true });
  await copyStore(path.join(folder, 'repository'), copy);
  return copy;
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

/** Writes as many documents as can arrive while the batch is measured at the highest rate. */
async function writeArrivals(
  plan: Plan,
  documents: SyntheticDocuments,
  folder: string,
): Promise<PreparedRepository['arrivals']> {
  const perSecond = documentsPerSecond(plan.repository, Math.max(...plan.rates));
  const count = Math.ceil(perSecond * arrivalSeconds(plan)) + 1;
  const name = path.join(folder, 'arrivals');
  await using file = await open(name, 'wx');
  const end = plan.repository + count;
  for (let next = plan.repository; next < end; next += 2_000) {
    const piece = documents.range(next, Math.min(end, next + 2_000));
    await file.write(Buffer.concat([...piece].map(encodeRecord)));
  }
  await file.sync();
  return { file: name, documents: count };
}
