/**
 * Clusters a real crawl with both systems, by the observer and the jobs of the measured points.
 *
 * Nothing is timed here. The run demonstrates the clustering on data that was not generated. Each
 * system must put every page of the crawl into the cluster that the reference clustering finds.
 */
import { open } from 'node:fs/promises';
import path from 'node:path';
import { openPercolator, type CommittedRun } from '#engine';
import type { ChainEngine } from '#mapreduce';
import type { CrawlResult } from '#results';
import { CLUSTERING, readRepresentatives } from './batch/index.ts';
import { type Check, checkPartition } from './check.ts';
import {
  describeCrawl,
  describePartition,
  encodeDocument,
  encodeRecord,
  type Crawl,
  type CrawledPage,
  type Document,
  type Partition,
} from './documents/index.ts';
import {
  clusteringObserver,
  createTables,
  documentCell,
  readPartition,
} from './percolator/tables.ts';
import { forEachInFlight } from '../harness/load/loops.ts';

export interface RealCrawlOptions {
  readonly file: string;
  /** The opened file. */
  readonly crawl: Crawl;
  /** An empty folder for the store and the batch's files. */
  readonly folder: string;
  /** Runs the jobs of the batch. */
  readonly engine: ChainEngine;
  readonly signal: AbortSignal;
  readonly onProgress?: ((pages: number) => void) | undefined;
}

/** Documents loaded at a time. */
const LOADING = 64;
/** Groups of duplicates that the record lists; all are counted. */
const GROUPS_LISTED = 50;

export async function clusterCrawl(options: RealCrawlOptions): Promise<CrawlResult> {
  const { crawl } = options;
  const pages: CrawledPage[] = [];
  const records = path.join(options.folder, 'records');
  await using file = await open(records, 'wx');
  async function* documents(): AsyncGenerator<Document> {
    for await (const document of crawl.documents()) {
      options.signal.throwIfAborted();
      const { contents: _, ...page } = document;
      pages.push(page);
      await file.writeFile(encodeRecord(document)); // Unlike `write`, it writes everything.
      yield document;
      options.onProgress?.(pages.length);
    }
  }
  const percolator = await clusterOnPercolator(options, documents());
  const inBatch = await clusterOnMapReduce(options, records);
  return {
    ...describe(options.file, pages, percolator.partition),
    counts: {
      ...crawl.records,
      ...(crawl.damages.length > 0 && { 'left-out': crawl.damages.length }),
      hosts: describeCrawl(pages, percolator.partition).hosts.length,
    },
    check: bothChecks(pages, percolator, inBatch),
  };
}

interface ClusteringResult {
  readonly partition: Partition;
  /** Ids in commit order. */
  readonly order: readonly string[];
}

async function clusterOnPercolator(
  { folder, signal }: RealCrawlOptions,
  documents: AsyncIterable<Document>,
): Promise<ClusteringResult> {
  await using percolator = await openPercolator({ folder: path.join(folder, 'store') });
  await createTables(percolator);
  const commits: CommittedRun[] = [];
  const worker = percolator.startWorker([clusteringObserver], {
    onCommitted: (run) => void commits.push(run),
  });
  try {
    await forEachInFlight(documents, LOADING, (document) =>
      percolator.transact(async (transaction) => {
        transaction.set(documentCell(document.id), encodeDocument(document));
      }),
    );
    await worker.idle();
    signal.throwIfAborted();
  } finally {
    await worker.stop();
  }
  const inOrder = commits.toSorted((a, b) => a.commitTimestamp - b.commitTimestamp);
  return { partition: await readPartition(percolator), order: inOrder.map(({ cell }) => cell.row) };
}

async function clusterOnMapReduce(
  { folder, engine, signal }: RealCrawlOptions,
  records: string,
): Promise<Partition> {
  const outputFolder = path.join(folder, 'clusters');
  await engine.run({ chain: CLUSTERING, inputs: [{ path: records }], outputFolder, signal });
  return readRepresentatives(outputFolder);
}

export function bothChecks(
  pages: readonly CrawledPage[],
  percolator: ClusteringResult,
  inBatch: Partition,
): Check {
  const byId = new Map(pages.map((page) => [page.id, page]));
  // A page that no observer has clustered has no commit. It comes last, and fails the check.
  const order = new Set([...percolator.order, ...byId.keys()]);
  const inCommitOrder = [...order].flatMap((id) => byId.get(id) ?? []);
  const checks = {
    Percolator: checkPartition(percolator.partition, inCommitOrder, 'commit order'),
    MapReduce: checkPartition(inBatch, pages, 'order of arrival'),
  };
  for (const [system, { passed, detail }] of Object.entries(checks)) {
    if (!passed) return { passed, detail: `${system}: ${detail}` };
  }
  return {
    passed: true,
    detail:
      `Percolator and MapReduce have all ${pages.length} pages in the clusters that the reference clustering ` +
      'finds, in commit order and in order of arrival',
  };
}

function describe(
  file: string,
  pages: readonly CrawledPage[],
  partition: Partition,
): Omit<CrawlResult, 'counts' | 'check'> {
  const { acrossHosts, distinctContents } = describeCrawl(pages, partition);
  const { documents, clusters, meanClusterSize, nonSingletonShare } = describePartition(partition);
  return {
    file: path.basename(file),
    pages: documents,
    distinctContents,
    clusters,
    meanClusterSize,
    nonSingletonShare,
    crossHostDuplicateGroups: acrossHosts.length,
    crossHostDuplicates: acrossHosts
      .slice(0, GROUPS_LISTED)
      .map(({ urls, sharing }) => ({ urls, shares: sharing })),
  };
}
