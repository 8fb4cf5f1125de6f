/** The observers compared with the reference clustering, under high concurrency. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CommittedRun, openPercolator, type Percolator } from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import { checkPartition } from '../check.ts';
import { keyed } from '../clustering-loop.ts';
import {
  clusterOneByOne,
  createSyntheticDocuments,
  encodeDocument,
  type SyntheticDocuments,
} from '../documents/index.ts';
import {
  clusteringObserver,
  countDirty,
  createTables,
  documentCell,
  readPartition,
} from './tables.ts';
import { loadRepository } from './load-repository.ts';

/** Few keys, so that transactions meet one another's locks all the time. */
function heavilyColliding(): SyntheticDocuments {
  return createSyntheticDocuments({ repository: 120, documentBytes: 200, seed: 7 });
}

async function crawl(
  percolator: Percolator,
  documents: SyntheticDocuments,
  { first, end, workers }: { readonly first: number; readonly end: number; workers: number },
): Promise<CommittedRun[]> {
  const commits: CommittedRun[] = [];
  const started = Array.from({ length: workers }, () =>
    percolator.startWorker([clusteringObserver], { onCommitted: (run) => void commits.push(run) }),
  );
  await Promise.all(
    [...documents.range(first, end)].map((document) =>
      percolator.transact(async (transaction) => {
        transaction.set(documentCell(document.id), encodeDocument(document));
      }),
    ),
  );
  await Promise.all(started.map((worker) => worker.idle()));
  for (const worker of started) await worker.stop();
  await percolator.settled();
  return commits.toSorted((a, b) => a.commitTimestamp - b.commitTimestamp);
}

test('in commit order, concurrent observers find exactly the reference partition', async () => {
  const store = createMemoryBigtable();
  await using percolator = await openPercolator({ store });
  await createTables(percolator);
  const documents = heavilyColliding();
  const commits = await crawl(percolator, documents, { first: 0, end: 600, workers: 3 });
  assert.ok(percolator.counters.conflicts > 0, 'the documents did conflict');
  assert.equal(commits.length, 600, 'each document was clustered once');
  const byId = new Map(keyed(documents, 0, 600).map((document) => [document.id, document]));
  const inCommitOrder = commits.flatMap(({ cell }) => byId.get(cell.row) ?? []);
  const partition = await readPartition(percolator);
  assert.deepEqual(checkPartition(partition, inCommitOrder, 'commit order').passed, true);
  assert.equal(await countDirty(percolator), 0);
});

test('a repository loaded in bulk is the one that the observers would have made', async () => {
  const documents = heavilyColliding();
  const repository = keyed(documents, 0, 300);
  const store = createMemoryBigtable();
  await using percolator = await openPercolator({ store });
  const partition = clusterOneByOne(repository);
  await loadRepository(percolator, { documents: documents.range(0, 300), partition });
  assert.equal((await crawl(percolator, documents, { first: 0, end: 0, workers: 1 })).length, 0);

  const commits = await crawl(percolator, documents, { first: 300, end: 500, workers: 2 });
  assert.equal(commits.length, 200, 'each new document was clustered once');
  const byId = new Map(keyed(documents, 300, 500).map((document) => [document.id, document]));
  const order = [...repository, ...commits.flatMap(({ cell }) => byId.get(cell.row) ?? [])];
  const found = checkPartition(await readPartition(percolator), order, 'commit order');
  assert.deepEqual(found, { passed: true, detail: found.detail });
  assert.equal(await countDirty(percolator), 0);
});

test('the check notices a single document in the wrong cluster', async () => {
  const documents = keyed(heavilyColliding(), 0, 100);
  const partition = new Map(clusterOneByOne(documents));
  const [id] = [...partition].find(([one, representative]) => one !== representative) ?? [''];
  partition.set(id, id);
  assert.equal(checkPartition(partition, documents, 'order of arrival').passed, false);
});
