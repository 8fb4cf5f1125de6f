/**
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
import type { CellAddress, Observer, Transaction } from '#engine';
import { decodeKeys, type Keys } from '../documents/index.ts';
import { clusterCell, DOCUMENT, DOCUMENTS, documentCell, keyCell } from './tables.ts';

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
