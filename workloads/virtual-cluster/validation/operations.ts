/**
 * Operations that a document takes: of the real engine on a real store, and of a machine in virtual
 * time. Documents come one after the other, so neither has anything to merge or to repeat.
 */
import path from 'node:path';
import { type Bigtable, decorate, openPercolator, openStore } from '#engine';
import { notifyTable } from '../../../engine/transaction/index.ts';
import {
  clusterOneByOne,
  createSyntheticDocuments,
  documentId,
  encodeDocument,
} from '../../crawl-rate/documents/index.ts';
import {
  clusteringObserver,
  documentCell,
  DOCUMENTS,
  KEYS,
} from '../../crawl-rate/percolator/tables.ts';
import { loadRepository } from '../../crawl-rate/percolator/load-repository.ts';
import type { Calibration } from '../calibration/calibration.ts';
import { type CrawlPlan, type CrawlResult, measureCrawl } from '../figure-7/crawl.ts';
import { numberOf, Repository } from '../figure-7/repository.ts';

/** Rows that were read, mutated, and mutated under a condition. */
export interface Operations {
  read: number;
  mutate: number;
  conditionalMutate: number;
}

const GIVEN = { repository: 1_000, documentBytes: 200, seed: 1 };
export const COUNTED_DOCUMENTS = 200;
/** So few that each is clustered long before the next one comes. */
const PER_SECOND = 200;
/**
 * So long that no scan comes: it is chance whether a scan finds a document whose observer is still
 * running, and reads it.
 */
const SCAN_REST_MS = 60_000;

/** @param folder an empty one */
export async function realOperations(folder: string): Promise<Operations> {
  const documents = createSyntheticDocuments(GIVEN);
  const address = { kind: 'embedded', folder: path.join(folder, 'store'), fsync: false } as const;
  await using opened = await openStore(address);
  const counts: Operations = { read: 0, mutate: 0, conditionalMutate: 0 };
  await using percolator = await openPercolator({ store: counting(opened, counts) });
  const numbers = Array.from({ length: GIVEN.repository }, (_, arrival) => numberOf(arrival));
  await loadRepository(percolator, {
    documents: numbers.map((number) => documents.documentOf(number)),
    partition: clusterOneByOne(
      numbers.map((number) => ({ id: documentId(number), keys: documents.keysOf(number) })),
    ),
  });
  const clustered = Array.from({ length: COUNTED_DOCUMENTS }, () => Promise.withResolvers<void>());
  let committed = 0;
  const before = { ...counts };
  const worker = percolator.startWorker([clusteringObserver], {
    idleMs: SCAN_REST_MS,
    onCommitted: () => clustered[committed++]?.resolve(),
  });
  for (const [n, { promise }] of clustered.entries()) {
    const number = numberOf(GIVEN.repository + n);
    const value = encodeDocument(documents.documentOf(number));
    await percolator.transact(async (transaction) => {
      transaction.set(documentCell(documentId(number)), value);
    });
    await Promise.race([promise, worker.ended]); // `ended` rejects if the worker cannot go on.
  }
  await percolator.settled();
  const after = { ...counts };
  await worker.stop();
  return {
    read: after.read - before.read,
    mutate: after.mutate - before.mutate,
    conditionalMutate: after.conditionalMutate - before.conditionalMutate,
  };
}

/** The crawl's, with notifications. The engine reads and writes its other tables by the clock. */
const COUNTED_TABLES: ReadonlySet<string> = new Set([DOCUMENTS, notifyTable(DOCUMENTS), KEYS]);

function counting(store: Bigtable, counts: Operations): Bigtable {
  const count = (kind: keyof Operations, rows: readonly { readonly table: string }[]): void => {
    counts[kind] += rows.filter(({ table }) => COUNTED_TABLES.has(table)).length;
  };
  return decorate(store, {
    readRow: (table, ...given) => {
      count('read', [{ table }]);
      return store.readRow(table, ...given);
    },
    readRows: (table, rows, filters) => {
      const named = rows.map(() => ({ table }));
      count('read', named);
      return store.readRows(table, rows, filters);
    },
    mutateRows: (rows) => {
      count('mutate', rows);
      return store.mutateRows(rows);
    },
    checkAndMutateRow: (conditional) => {
      count('conditionalMutate', [conditional]);
      return store.checkAndMutateRow(conditional);
    },
    checkAndMutateRows: (conditionals) => {
      count('conditionalMutate', conditionals);
      return store.checkAndMutateRows(conditionals);
    },
  });
}

/** `wrong` is what the check of the simulation found. */
export async function virtualOperations(
  calibration: Calibration,
): Promise<Pick<CrawlResult, 'wrong'> & { readonly counts: Operations }> {
  const repository = new Repository(createSyntheticDocuments(GIVEN));
  const plan: CrawlPlan = {
    calibration,
    tabletServers: 1,
    scale: 1,
    perSecond: PER_SECOND,
    warmUp: 0,
    seconds: COUNTED_DOCUMENTS / PER_SECOND,
    concurrency: 1,
    scanRest: SCAN_REST_MS,
    historyShare: 1,
    seed: GIVEN.seed,
    isOneMachine: true,
  };
  const counts: Operations = { read: 0, mutate: 0, conditionalMutate: 0 };
  const { wrong } = await measureCrawl(plan, repository, (store) => counting(store, counts));
  return { counts, wrong };
}
