/** Reads the tables after the observers have run. */
import type { Percolator } from '#engine';
import type { Partition } from '../documents/index.ts';
import { CLUSTER, DOCUMENT, DOCUMENTS } from './tables.ts';

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

/** The number of marks for an observer, at most 100,000; it must be zero at the end. */
export async function countDirty(percolator: Percolator): Promise<number> {
  const marks = [{ family: 'notify', qualifier: DOCUMENT }];
  // A table that was dropped and created again has another name in the storage.
  const table = `${await percolator.storedName(DOCUMENTS)}.notify`;
  const rows = await percolator.store.readRange(table, { limit: 100_000 }, marks);
  return rows.length;
}
