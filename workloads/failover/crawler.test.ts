/** Writers of documents whose storage fails, on a database in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { type CommittedRun, openPercolator, PercolatorError } from '#engine';
import { createMemoryBigtable, FaultyBigtable, type MutationCall } from '#engine/testing';
import { createSyntheticDocuments } from '../crawl-rate/documents/index.ts';
import { clusteringObserver } from '../crawl-rate/percolator/clustering-observer.ts';
import { createTables, DOCUMENT } from '../crawl-rate/percolator/tables.ts';
import { checkAtRest } from './check.ts';
import { Crawler } from './crawler.ts';

/** Long enough for the engine to give up asking how a commit ended. */
const AWAY_MS = 300;

function commitsDocument({ mutations }: MutationCall): boolean {
  return mutations.some((one) => one.kind === 'set' && one.qualifier === `${DOCUMENT}:write`);
}

/** Writes one document. Its first commit loses its answer, or is lost, and then the store is away. */
async function crawl(lost: 'answer' | 'request'): Promise<Crawler> {
  const store = createMemoryBigtable();
  const faulty = new FaultyBigtable(store);
  let isAway = false;
  let commits = 0;
  const isFirst = (call: MutationCall): boolean => {
    if (!commitsDocument(call) || commits++ > 0) return false;
    isAway = true;
    void setTimeout(AWAY_MS).then(() => {
      isAway = false;
    });
    return true;
  };
  faulty[lost === 'answer' ? 'loseAnswer' : 'loseRequest'](isFirst);
  await using percolator = await openPercolator({ store: faulty });
  await createTables(percolator);
  faulty.beforeCall = () => {
    if (isAway) throw new PercolatorError('STORE_UNAVAILABLE', 'the store is away');
  };
  const documents = createSyntheticDocuments({ repository: 1, documentBytes: 200, seed: 3 });
  const crawler = new Crawler(
    percolator,
    { ...documents, repository: 0 },
    new AbortController().signal,
  );
  const onCommitted = ({ cell }: CommittedRun): void => crawler.onClustered(cell.row, 0);
  const worker = percolator.startWorker([clusteringObserver], { onCommitted });
  await Promise.race([crawler.add(0), crawler.failed]);
  while (crawler.writing > 0) await setTimeout(5);
  await worker.stop();
  await percolator.settled();
  const given = { documents: { ...documents, repository: 0 }, arrivals: crawler.arrivals };
  assert.deepEqual((await checkAtRest(percolator, store, given)).wrong, []);
  return crawler;
}

function outcomes({ arrivals }: Crawler): readonly string[] {
  return arrivals.flatMap(({ attempts }) => attempts.map(({ outcome }) => outcome));
}

test('a commit whose answer was lost is found committed, and not repeated', async () => {
  const crawler = await crawl('answer');
  assert.deepEqual(crawler.settled, { committed: 1, rolledBack: 0, open: 0 });
  assert.deepEqual(outcomes(crawler), ['COMMIT_UNKNOWN']);
});

test('a commit that was lost is found rolled back, and repeated', async () => {
  const crawler = await crawl('request');
  assert.deepEqual(crawler.settled, { committed: 0, rolledBack: 1, open: 0 });
  assert.equal(outcomes(crawler)[0], 'COMMIT_UNKNOWN');
  assert.equal(outcomes(crawler).at(-1), 'committed');
});

test('a mistake that no rest would heal ends the run', async () => {
  await using percolator = await openPercolator({ store: createMemoryBigtable() });
  const documents = createSyntheticDocuments({ repository: 1, documentBytes: 200, seed: 3 });
  const crawler = new Crawler(percolator, documents, new AbortController().signal);
  void crawler.add(0);
  await assert.rejects(crawler.failed, { code: 'TABLE_NOT_FOUND' });
});
