/** The check at rest passes what is right, and notices each mistake, on a database in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CommittedRun, createRandom, openPercolator, type Percolator } from '#engine';
import { createMemoryBigtable } from '#engine/testing';
import {
  clusterOneByOne,
  createSyntheticDocuments,
  documentId,
} from '../crawl-rate/documents/index.ts';
import {
  CLUSTER,
  clusterCell,
  clusteringObserver,
  DOCUMENT,
  documentCell,
  DOCUMENTS,
} from '../crawl-rate/percolator/tables.ts';
import { loadRepository } from '../crawl-rate/percolator/load-repository.ts';
import { Persistence } from './attempts.ts';
import { checkAtRest } from './crawl.ts';
import { Crawler, numberOf, splitsFor } from './crawler.ts';

const REPOSITORY = 60;
const ARRIVALS = 40;

type CheckMistake = (percolator: Percolator, row: string) => Promise<void>;

/**
 * What the check finds wrong after a crawl, and after `mistake`.
 * @param mistake made with the row of the first document that arrived
 * @param isAcknowledged false: the writer of that document was not told that it has committed
 */
async function checked(
  mistake: CheckMistake = async () => {},
  { isAcknowledged = true } = {},
): Promise<readonly string[]> {
  const store = createMemoryBigtable();
  await using percolator = await openPercolator({ store });
  const documents = createSyntheticDocuments({
    repository: REPOSITORY,
    documentBytes: 200,
    seed: 3,
  });
  const numbers = Array.from({ length: REPOSITORY }, (_, i) => numberOf(i)).toSorted(
    (a, b) => a - b,
  );
  await loadRepository(percolator, {
    documents: numbers.map((n) => documents.documentOf(n)),
    partition: clusterOneByOne(
      numbers.map((n) => ({ id: documentId(n), keys: documents.keysOf(n) })),
    ),
    splits: splitsFor(3),
  });
  const { signal } = new AbortController();
  const persistence = new Persistence(percolator, createRandom(1), signal);
  const crawler = new Crawler(percolator, documents, persistence);
  const onCommitted = ({ cell }: CommittedRun): void => crawler.onClustered(cell.row, 0);
  const worker = percolator.startWorker([clusteringObserver], { onCommitted });
  await Promise.all(Array.from({ length: ARRIVALS }, () => crawler.add(0)));
  await worker.stop();
  await percolator.settled();
  assert.deepEqual([crawler.open, crawler.writing], [0, 0]);
  const [first, ...others] = crawler.arrivals;
  assert.ok(first !== undefined);
  await mistake(percolator, first.row);
  const arrivals = [isAcknowledged ? first : { ...first, acknowledgedMs: undefined }, ...others];
  return (await checkAtRest(percolator, store, { documents, arrivals })).wrong;
}

test('a crawl without a failure has no mistake', async () => {
  assert.deepEqual(await checked(), []);
});

const loseDocument: CheckMistake = (percolator, row) =>
  percolator.transact(async (transaction) => transaction.delete(documentCell(row)));

const changeDocument: CheckMistake = (percolator, row) =>
  percolator.transact(async (transaction) => transaction.set(documentCell(row), 'x'));

test('a lost document is noticed', async () => {
  const wrong = await checked(loseDocument);
  assert.match(wrong.join('\n'), /^1 document lost or changed, such as \d{10}$/m);
});

test('a changed document is noticed, and that its observer has not run again', async () => {
  const wrong = await checked(changeDocument);
  assert.match(wrong.join('\n'), /^1 document lost or changed/m);
  assert.match(wrong.join('\n'), /^1 notification not cleared$/m);
});

test('a document that was not acknowledged may be there or not, but not changed', async () => {
  assert.deepEqual(await checked(undefined, { isAcknowledged: false }), []);
  const withoutIt = await checked(loseDocument, { isAcknowledged: false });
  // No worker runs any more that would see the delete.
  assert.deepEqual(withoutIt, ['1 notification not cleared']);
  const wrong = await checked(changeDocument, { isAcknowledged: false });
  assert.match(wrong.join('\n'), /^1 document that no writer wrote/m);
});

test('a document whose last change no observer can find is noticed, though nothing else is wrong', async () => {
  const wrong = await checked(async (percolator, row) => {
    await percolator.transact(async (transaction) => {
      const value = await transaction.get(documentCell(row));
      transaction.set(documentCell(row), value ?? '');
    });
    const table = `${await percolator.storedName(DOCUMENTS)}.notify`;
    const to = Number.MAX_SAFE_INTEGER;
    const erase = { kind: 'erase', family: 'notify', qualifier: DOCUMENT, from: 0, to } as const;
    await percolator.store.mutateRows([{ table, row, mutations: [erase] }]);
  });
  assert.equal(wrong.length, 1);
  assert.match(wrong.join('\n'), /^fsck: notification-lost: /);
});

test('a document that no observer clustered is noticed, although no notification is left', async () => {
  const wrong = await checked(async (percolator, row) => {
    const table = await percolator.storedName(DOCUMENTS);
    const erase = (qualifier: string) =>
      ({
        kind: 'erase',
        family: 'cells',
        qualifier,
        from: 0,
        to: Number.MAX_SAFE_INTEGER,
      }) as const;
    const mutations = ['write', 'data'].map((part) => erase(`${CLUSTER}:${part}`));
    await percolator.store.mutateRows([{ table, row, mutations }]);
  });
  assert.match(wrong.join('\n'), /^1 document that no observer clustered, such as \d{10}$/m);
});

test('a document that was never written is noticed', async () => {
  const wrong = await checked((percolator) =>
    percolator.transact(async (transaction) =>
      transaction.set(documentCell(documentId(numberOf(500))), 'x'),
    ),
  );
  assert.match(wrong.join('\n'), /^1 document that no writer wrote/m);
});

test('a document in a wrong cluster is noticed', async () => {
  const wrong = await checked((percolator, row) =>
    percolator.transact(async (transaction) => transaction.set(clusterCell(row), 'elsewhere')),
  );
  assert.equal(wrong.length, 1);
  assert.match(wrong.join('\n'), /^document \d{10} is in the cluster of elsewhere; it belongs to /);
});
