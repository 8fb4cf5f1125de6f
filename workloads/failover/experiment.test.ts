/**
 * The end of a run of bench:failover, and the number of documents that it may use, on a storage in
 * memory.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { openPercolator, PercolatorError } from '#engine';
import { createMemoryBigtable, FaultyBigtable } from '#engine/testing';
import { UsageError } from '#results';
import { brokerObserver } from '../brokerage/percolator/broker-update.ts';
import { SCALES } from '../brokerage/model/scale.ts';
import { clusteringObserver, createTables } from '../crawl-rate/percolator/tables.ts';
import { monotonicMs } from '../harness/load/monotonic-clock.ts';
import { CrawlWorkload } from './crawl.ts';
import { drain } from './experiment.ts';
import { DOCUMENTS_MAX } from './crawler.ts';
import { TradingWorkload } from './trading.ts';
import type { SteadyLoad } from './workload.ts';

const { signal } = new AbortController();
const PARTS = { seed: 1, concurrency: 4, regionServers: 1, signal };

test('a brokerage is drained once its trades are added up; the wait has a limit', async () => {
  await using percolator = await openPercolator({ store: createMemoryBigtable(), attemptsMax: 1 });
  const workload = new TradingWorkload({ ...PARTS, percolator, scale: SCALES.smoke });
  await workload.load();
  const beginMs = monotonicMs();
  const times = { beginMs, fromMs: beginMs, toMs: beginMs + 500 };
  await workload.offer({ ...times, perSecond: 200, onProgress: () => {} });
  while (workload.open > 0) await setTimeout(5);
  assert.equal(await drain({ workload, signal }, 200), false, 'there is no worker');

  const worker = percolator.startWorker([brokerObserver]);
  const over = new AbortController();
  assert.equal(await drain({ workload, signal: over.signal }), true);
  over.abort(); // Ends the timer of `drain`.
  await worker.stop();
  await percolator.settled();
  assert.deepEqual((await workload.check()).wrong, []);
});

test('a crawl may use every number that documents have, and no more', async () => {
  await using percolator = await openPercolator({ store: createMemoryBigtable() });
  await createTables(percolator);
  const crawlAfter = (repository: number): CrawlWorkload =>
    new CrawlWorkload({ ...PARTS, percolator, repository, documentBytes: 200 });
  const two = (): SteadyLoad => {
    const beginMs = monotonicMs();
    return { beginMs, fromMs: beginMs, toMs: beginMs + 20, perSecond: 100, onProgress: () => {} };
  };
  const crawl = crawlAfter(DOCUMENTS_MAX - 2); // None of the repository is loaded.
  await using worker = percolator.startWorker([clusteringObserver], {
    onCommitted: ({ cell }) => crawl.onObserved(cell.row, monotonicMs()),
  });
  await crawl.offer(two());
  await crawl.drain();
  await worker.stop();
  assert.equal(crawl.arrivals.length, 2);
  assert.throws(
    () => crawlAfter(DOCUMENTS_MAX - 1).offer(two()),
    (error) => error instanceof UsageError && error.message.startsWith('A run may have 1,048,576 '),
  );
});

test('a crawl counts the documents of the capacity among those of the run', async () => {
  await using percolator = await openPercolator({ store: createMemoryBigtable() });
  await createTables(percolator);
  const repository = DOCUMENTS_MAX - 3; // None is loaded.
  const crawl = new CrawlWorkload({ ...PARTS, percolator, repository, documentBytes: 200 });
  const worker = percolator.startWorker([clusteringObserver], {
    onCommitted: ({ cell }) => crawl.onObserved(cell.row, monotonicMs()),
  });
  await crawl.measureCapacity(0.1);
  await worker.stop();
  const beginMs = monotonicMs();
  const times = { beginMs, fromMs: beginMs, toMs: beginMs + 1000 };
  assert.throws(
    () => crawl.offer({ ...times, perSecond: 1, onProgress: () => {} }),
    (error) => error instanceof UsageError && error.message.endsWith(' --capacity-seconds.'),
  );
});

test('a clustered document of which no worker told is found, although the storage is away for a moment', async () => {
  const store = new FaultyBigtable(createMemoryBigtable());
  await using percolator = await openPercolator({ store });
  await createTables(percolator);
  const crawl = new CrawlWorkload({ ...PARTS, percolator, repository: 10, documentBytes: 200 });
  const clustered = Promise.withResolvers<void>();
  const onCommitted = (): void => clustered.resolve();
  const worker = percolator.startWorker([clusteringObserver], { onCommitted });
  const beginMs = monotonicMs();
  const times = { beginMs, fromMs: beginMs, toMs: beginMs + 10 };
  await crawl.offer({ ...times, perSecond: 100, onProgress: () => {} });
  await clustered.promise;
  await worker.stop();
  await percolator.settled();
  store.beforeCall = () => {
    store.beforeCall = undefined;
    throw new PercolatorError('STORE_UNAVAILABLE', 'the region moves');
  };
  assert.equal(crawl.open, 1);
  await crawl.findUntold();
  await crawl.drain();
  assert.equal(crawl.arrivals.length, 1);
});
