/**
 * Rows that a document takes: in the real engine on a real store, and on a machine in virtual time.
 * Documents come one after the other, so neither has anything to merge or to repeat.
 */
import path from 'node:path';
import { openPercolator } from '#engine';
import {
  clusterOneByOne,
  createSyntheticDocuments,
  documentId,
  encodeDocument,
} from '../../crawl-rate/documents/index.ts';
import { clusteringObserver } from '../../crawl-rate/percolator/clustering-observer.ts';
import { loadRepository } from '../../crawl-rate/percolator/load-repository.ts';
import { documentCell } from '../../crawl-rate/percolator/tables.ts';
import type { Calibration } from '../calibration/calibration.ts';
import { measureCrawl, type Rows, rowsOf, rowsSince } from '../figure-7/crawl.ts';
import { Repository } from '../figure-7/repository.ts';
import { numberOf } from '../figure-7/rows.ts';

const GIVEN = { repository: 1_000, documentBytes: 200, seed: 1 };
export const COUNTED_DOCUMENTS = 200;
/** So few that each is clustered long before the next one comes. */
const PER_SECOND = 20;

/** @param folder an empty one */
export async function realRows(folder: string): Promise<Rows> {
  const documents = createSyntheticDocuments(GIVEN);
  await using percolator = await openPercolator({
    folder: path.join(folder, 'store'),
    fsync: false,
  });
  const numbers = Array.from({ length: GIVEN.repository }, (_, arrival) => numberOf(arrival));
  await loadRepository(percolator, {
    documents: numbers.map((number) => documents.documentOf(number)),
    partition: clusterOneByOne(
      numbers.map((number) => ({ id: documentId(number), keys: documents.keysOf(number) })),
    ),
  });
  const clustered = Array.from({ length: COUNTED_DOCUMENTS }, () => Promise.withResolvers<void>());
  let committed = 0;
  const before = rowsOf([percolator]);
  const worker = percolator.startWorker([clusteringObserver], {
    onCommitted: () => clustered[committed++]?.resolve(),
  });
  for (const [n, { promise }] of clustered.entries()) {
    const number = numberOf(GIVEN.repository + n);
    await percolator.transact(async (transaction) => {
      transaction.set(
        documentCell(documentId(number)),
        encodeDocument(documents.documentOf(number)),
      );
    });
    await promise;
  }
  await worker.stop();
  return rowsSince(before, rowsOf([percolator]));
}

export async function virtualRows(calibration: Calibration): Promise<Rows> {
  const repository = new Repository(createSyntheticDocuments(GIVEN));
  const { rows } = await measureCrawl(
    {
      calibration,
      tabletServers: 1,
      scale: 1,
      perSecond: PER_SECOND,
      warmUp: 0,
      seconds: COUNTED_DOCUMENTS / PER_SECOND,
      concurrency: 1,
      scanRest: 100,
      historyShare: 1,
      seed: GIVEN.seed,
      isOneMachine: true,
    },
    repository,
  );
  return rows;
}
