/**
 * The clustering on Percolator: its tables, and the observer that keeps them.
 *
 *     crawl-documents   row: document id   document (observed); cluster: id of its representative
 *     crawl-keys        row: n/key         representative: the id to which an n-th key leads
 *
 * Users must not give these names to their own tables: a run on a user's store drops such tables.
 */
import type { CellAddress, Observer, Percolator, Transaction } from '#engine';
import { decodeKeys, type Keys, type Partition } from '../documents/index.ts';

export const DOCUMENTS = 'crawl-documents';
export const KEYS = 'crawl-keys';
export const DOCUMENT = 'document';
export const CLUSTER = 'cluster';
export const REPRESENTATIVE = 'representative';

/** Where a storage that keeps splits begins a new tablet. Default: nowhere. */
export interface TableSplits {
  readonly documents?: readonly string[] | undefined;
  readonly keys?: readonly string[] | undefined;
}

export async function createTables(
  percolator: Percolator,
  { documents, keys }: TableSplits = {},
): Promise<void> {
  await percolator.createTable(DOCUMENTS, { observedColumns: [DOCUMENT], splits: documents });
  await percolator.createTable(KEYS, { splits: keys });
}

export function documentCell(row: string): CellAddress {
  return { table: DOCUMENTS, row, column: DOCUMENT };
}

export function clusterCell(row: string): CellAddress {
  return { table: DOCUMENTS, row, column: CLUSTER };
}

/** The cell that the `index`-th key (0 to 2) of a document leads to. */
function keyCell(index: number, key: string): CellAddress {
  return { table: KEYS, row: keyRow(index, key), column: REPRESENTATIVE };
}

export function keyRow(index: number, key: string): string {
  return `${index + 1}/${key}`;
}

/*
 * The experiment's observer (section 3.1): puts a newly crawled document into its cluster.
 *
 * "Documents are clustered by three clustering keys" (section 3.1). The definition is sequential
 * representatives with early exit, which gives the paper's mean cluster size of 3.3:
 *
 *     look up key 1 ─▶ found: the document joins that cluster, done
 *        │ missing: remember to insert it
 *     look up key 2 ─▶ ...
 *     look up key 3 ─▶ ...
 *        │ all missing
 *     the document founds a cluster
 *
 * All missed keys then lead to that cluster. Two concurrent documents with the same new key both
 * insert its row, so one of them loses the conflict, runs again, and joins. Under snapshot
 * isolation this is serializable: a hit never changes, and a miss is followed by a write of the row
 * that was missing. So replaying the documents in commit order gives the same partition (check.ts).
 */

export const clusteringObserver: Observer = {
  name: 'clustering',
  table: DOCUMENTS,
  column: DOCUMENT,
  run: async (transaction, { row }) => {
    const value = await transaction.get(documentCell(row));
    if (value !== undefined) await cluster(transaction, row, decodeKeys(value));
  },
};

async function cluster(transaction: Transaction, row: string, keys: Keys): Promise<void> {
  const missed: CellAddress[] = [];
  let representative: string | undefined;
  for (const [index, key] of keys.entries()) {
    const cell = keyCell(index, key);
    representative = (await transaction.get(cell))?.toString();
    if (representative !== undefined) break;
    missed.push(cell);
  }
  const joined = representative ?? row;
  for (const cell of missed) transaction.set(cell, joined);
  transaction.set(clusterCell(row), joined);
}

/* Reads the tables after the observers have run. */

/** The partition, read through a snapshot as any user of the table would. */
export async function readPartition(percolator: Percolator): Promise<Partition> {
  const partition = new Map<string, string>();
  await using snapshot = await percolator.snapshot();
  const columns = [CLUSTER];
  for await (const { row, values } of snapshot.scan({ table: DOCUMENTS, columns })) {
    partition.set(row, values.get(CLUSTER)?.toString() ?? '');
  }
  return partition;
}

/** The number of notifications for an observer, at most 100,000; it must be zero at the end. */
export async function countDirty(percolator: Percolator): Promise<number> {
  const notifications = [{ family: 'notify', qualifier: DOCUMENT }];
  // A table that was dropped and created again has another name in the storage.
  const table = `${await percolator.storedName(DOCUMENTS)}.notify`;
  const rows = await percolator.store.readRange(table, { limit: 100_000 }, notifications);
  return rows.length;
}
