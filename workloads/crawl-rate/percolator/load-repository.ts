/**
 * Loads the repository that exists before the crawl begins, already clustered.
 *
 * It loads in bulk: the paper measures the latency of new documents in an existing repository, so
 * its creation is not part of the measurement. The loaded cells are those that the observers would
 * have left, acknowledgments included. The check after a point (check.ts) compares the clusters of
 * loaded documents, too.
 */
import { openBulkLoader, type BulkLoader, type Percolator } from '#engine';
import {
  encodeDocument,
  type Document,
  type KeyedDocument,
  type Partition,
} from '../documents/index.ts';
import {
  CLUSTER,
  clusteringObserver,
  createTables,
  DOCUMENT,
  DOCUMENTS,
  keyRow,
  KEYS,
  REPRESENTATIVE,
  type TableSplits,
} from './tables.ts';

export interface LoadOptions {
  readonly documents: Iterable<Document>;
  /** The partition of exactly these documents. */
  readonly partition: Partition;
  readonly splits?: TableSplits | undefined;
  /** Called from time to time with the number of loaded documents. */
  readonly onProgress?: ((documents: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Documents between two checks of the signal and two reports of progress. */
const PIECE_DOCUMENTS = 5_000;

export async function loadRepository(
  percolator: Percolator,
  repository: LoadOptions,
): Promise<void> {
  await createTables(percolator, repository.splits);
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

/** Loads the documents; resolves with the entries of the key table that their clustering makes. */
async function loadDocuments(
  loader: BulkLoader,
  { documents, partition, onProgress, signal }: LoadOptions,
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

/** Adds the keys that the document is the first to look up, up to the first one found. */
export function addEntries(
  entries: Map<string, string>,
  document: KeyedDocument,
  representative: string,
): void {
  for (const [index, key] of document.keys.entries()) {
    const row = keyRow(index, key);
    if (entries.has(row)) return;
    entries.set(row, representative);
  }
}
