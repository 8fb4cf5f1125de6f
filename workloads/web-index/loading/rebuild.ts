/**
 * The serving index from the tables. An index is a copy: one that was lost, or that belongs to
 * another database, is made again. Without this, the versions of the other database could be
 * higher, and then all exports of this one would change nothing.
 */
import type { Percolator } from '#engine';
import { ENTRY, SERVED } from '../percolator/tables.ts';
import type { Change, ServingIndex } from '../serving/index.ts';

/** What is still to be exported may be in it already; the export then changes nothing. */
export async function rebuildIndex(percolator: Percolator, index: ServingIndex): Promise<void> {
  await using snapshot = await percolator.snapshot();
  const changes: Change[] = [];
  const columns = [ENTRY.name, SERVED.name];
  for await (const { row: url, values } of snapshot.scan({ table: ENTRY.table, columns })) {
    const entry = values.get(ENTRY.name);
    if (entry === undefined) continue;
    const { version } = ENTRY.decode(entry);
    const served = values.get(SERVED.name);
    changes.push({ url, page: served && SERVED.decode(served), version });
  }
  await index.replaceAll(changes);
}
