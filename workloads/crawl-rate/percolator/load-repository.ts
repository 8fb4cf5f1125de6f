/**
 * Loads the repository that is there before the crawl begins, clustered, as if it had always been
 * there.
 *
 * In bulk: the paper measures the latency of new documents in a repository that exists, so how it
 * came to exist is not part of the measurement. What is loaded is what the observers would have
 * left, acknowledgments included; `checkPartition` would tell if it were not.
 */
import { openBulkLoader, type BulkLoader, type Percolator } from '#engine';
import { encodeDocument, type Document, type Partition } from '../documents/index.ts';
import { clusteringObserver } from './clustering-observer.ts';
import {
  CLUSTER,
  createTables,
  DOCUMENT,
  DOCUMENTS,
  keyRow,
  KEYS,
  REPRESENTATIVE,
} from './tables.ts';

export interface RepositoryToLoad {
  readonly documents: Iterable<Document>;
  /** Of exactly these documents. */
  readonly partition: Partition;
  /** Told now and then how many documents are loaded. */
  readonly onProgress?: ((documents: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Documents between two looks at the signal and two words of progress. */
const PIECE_DOCUMENTS = 5_000;

export async function loadRepository(
  percolator: Percolator,
  repository: RepositoryToLoad,
): Promise<void> {
  await createTables(percolator);
  const loader = await openBulkLoader(percolator);
  const entries = await loadDocuments(loader, repository);
  for (const row of [...entries.keys()].toSorted()) {
    repository.signal?.throwIfAborted();
    const value = Buffer.from(entries.get(row) ?? '');
    await loader.add({
      table: KEYS,
      row,
      cells: [{ column: REPRESENTATIVE, value, derived: true }],
    });
  }
  await loader.finish();
}

/** Loads the documents; gives the entries of the key table that clustering them has made. */
async function loadDocuments(
  loader: BulkLoader,
  { documents, partition, onProgress, signal }: RepositoryToLoad,
): Promise<Map<string, string>> {
  const entries = new Map<string, string>();
  let loaded = 0;
  for (const document of documents) {
    const representative = partition.get(document.id) ?? document.id;
    addEntries(entries, document, representative);
    await loader.add({
      table: DOCUMENTS,
      row: document.id,
      cells: [
        { column: DOCUMENT, value: encodeDocument(document) },
        { column: CLUSTER, value: Buffer.from(representative), derived: true },
      ],
      acknowledged: [{ observer: clusteringObserver.name, column: DOCUMENT }],
    });
    loaded++;
    if (loaded % PIECE_DOCUMENTS > 0) continue;
    signal?.throwIfAborted();
    onProgress?.(loaded);
  }
  return entries;
}

/** The keys that the document was the first to look up in vain, up to the first that was there. */
function addEntries(
  entries: Map<string, string>,
  document: Document,
  representative: string,
): void {
  for (const [index, key] of document.keys.entries()) {
    const row = keyRow(index, key);
    if (entries.has(row)) return;
    entries.set(row, representative);
  }
}
