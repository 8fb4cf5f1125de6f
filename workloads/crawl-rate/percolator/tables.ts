/**
 * The tables of the clustering on Percolator.
 *
 *     crawl-documents   row: document id   document (observed); cluster: id of its representative
 *     crawl-keys        row: n/key         representative: the id to which an n-th key leads
 *
 * Users must not give these names to their own tables: a run on a user's store drops such tables.
 */
import type { CellAddress, Percolator } from '#engine';

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
export function keyCell(index: number, key: string): CellAddress {
  return { table: KEYS, row: keyRow(index, key), column: REPRESENTATIVE };
}

export function keyRow(index: number, key: string): string {
  return `${index + 1}/${key}`;
}
