/**
 * The serving index from the tables. An index is a copy: one that was lost, or that belongs to
 * another database, is made again. Without this, the versions of the other database could be
 * higher, and then all exports of this one would change nothing.
 *
 *   1. All that the index holds is replaced by what the tables say.
 *   2. Meanwhile another process may have exported a newer page, which step 1 has erased. The
 *      tables had it before that process exported it, so a second look finds it.
 */
import type { Percolator } from '#engine';
import { ENTRY, SERVED } from '../percolator/tables.ts';
import type { Change, ServingIndex } from '../serving/index.ts';

/** The index may then hold what is still to be exported; that export will change nothing. */
export async function rebuildIndex(percolator: Percolator, index: ServingIndex): Promise<void> {
  await index.replaceAll(await Array.fromAsync(changesIn(percolator)));
  const held = index.versions();
  for await (const { url, page, version } of changesIn(percolator)) {
    if (held.get(url) === version) continue;
    if (page === undefined) await index.remove(url, version);
    else await index.put(page, version);
  }
}

/** What the index is to serve, as of now. */
async function* changesIn(percolator: Percolator): AsyncGenerator<Change> {
  await using snapshot = await percolator.snapshot();
  const columns = [ENTRY.name, SERVED.name];
  for await (const { row: url, values } of snapshot.scan({ table: ENTRY.table, columns })) {
    const entry = values.get(ENTRY.name);
    if (entry === undefined) continue;
    const served = values.get(SERVED.name);
    yield { url, page: served && SERVED.decode(served), version: ENTRY.decode(entry).version };
  }
}
