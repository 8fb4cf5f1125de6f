/**
 * Export: changed pages go to the serving index, each at least once, and what comes again changes
 * nothing.
 *
 *     pages:publish ─▶ publisher ─▶ exports:entry ─▶ exporter ─▶ the serving index
 *
 * The publisher decides in a transaction what is to be served under a URL, and writes it to a queue
 * with one place for each URL: a newer entry takes the place of one that was not exported yet. The
 * exporter tells the serving index. That is outside of the transaction, so it may happen twice, and
 * late: a process that dies between the call and its commit leaves the entry to another process.
 * The version makes both harmless. It is the start timestamp of the publisher's transaction: of two
 * transactions that write one entry, the later one started after the commit of the other.
 */
import { hash } from 'node:crypto';
import type { Observer, Percolator, Transaction } from '#engine';
import { type ServedPage, shownRank } from '../model/index.ts';
import type { ExportTarget, IndexChange, ServingIndex } from '../serving/serving-index.ts';
import { readElection } from './clustering.ts';
import { cellOf, read, readRow, update } from './columns.ts';
import {
  ANCHORS,
  CAPTURED,
  CLUSTER,
  type Election,
  ENTRY,
  EXPORTED,
  PUBLISH,
  RANK,
  RENDERED,
  SERVED,
} from './tables.ts';

export const publisher: Observer = {
  name: 'publisher',
  table: PUBLISH.table,
  column: PUBLISH.name,
  run: async (transaction, { row: url }) => {
    const entry = await read(transaction, ENTRY, url);
    const elected = await readElection(transaction, url);
    const page = await whatToServe(transaction, url, elected);
    const digest = page === undefined ? '' : hash('sha256', JSON.stringify(page), 'base64url');
    if (page === 'not yet' || digest === (entry?.digest ?? '')) {
      await transaction.lock(cellOf(ENTRY, url)); // As `settle` does (columns.ts).
      return;
    }
    const kind = page === undefined ? 'remove' : 'put';
    await update(transaction, ENTRY, url, { kind, version: transaction.startTimestamp, digest });
    if (page === undefined) transaction.delete(cellOf(SERVED, url));
    else transaction.set(cellOf(SERVED, url), SERVED.encode(page));
  },
};

/**
 * The page if it is canonical; undefined if it is not, or is in no cluster. 'Not yet' while the
 * election of its cluster has not seen it, or its cluster is that of an earlier form: the election
 * or the clustering will notify it, and what is served now stays.
 */
async function whatToServe(
  transaction: Transaction,
  url: string,
  elected: Election | undefined,
): Promise<ServedPage | 'not yet' | undefined> {
  const [captured, rendered, rank, anchors, cluster] = await readRow(
    transaction,
    url,
    CAPTURED,
    RENDERED,
    RANK,
    ANCHORS,
    CLUSTER,
  );
  if (cluster === undefined) return undefined;
  if (elected?.members.includes(url) !== true) return 'not yet';
  if (elected.canonical !== url) return undefined;
  if (rendered?.hash !== cluster || captured === undefined) return 'not yet';
  const { title, text, language } = rendered;
  return {
    url,
    title,
    text,
    language,
    anchors: anchors ?? [],
    duplicates: elected.members.filter((member) => member !== url),
    rank: shownRank(rank ?? 0),
    capturedMs: captured.timeMs,
  };
}

export function createExporter(serving: ExportTarget): Observer {
  return {
    name: 'exporter',
    table: ENTRY.table,
    column: ENTRY.name,
    run: async (transaction, { row: url }) => {
      const [entry, page] = await readRow(transaction, url, ENTRY, SERVED);
      if (entry === undefined) return;
      if (page === undefined) await serving.remove(url, entry.version);
      else await serving.put(page, entry.version);
      await update(transaction, EXPORTED, url, entry.version);
    },
  };
}

/**
 * Makes the serving index again from the tables. An index is a copy: it may have been lost, or
 * belong to another database, whose versions could be higher; then all exports of this one would
 * change nothing.
 *
 *   1. All that the index holds is replaced by what the tables say.
 *   2. Meanwhile another process may have exported a newer page, which step 1 has erased. The
 *      tables had it before that process exported it, so a second look finds it.
 *
 * The index may then hold what is still to be exported; that export will change nothing.
 */
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
async function* changesIn(percolator: Percolator): AsyncGenerator<IndexChange> {
  await using snapshot = await percolator.snapshot();
  const columns = [ENTRY.name, SERVED.name];
  for await (const { row: url, values } of snapshot.scan({ table: ENTRY.table, columns })) {
    const entry = values.get(ENTRY.name);
    if (entry === undefined) continue;
    const served = values.get(SERVED.name);
    yield { url, page: served && SERVED.decode(served), version: ENTRY.decode(entry).version };
  }
}
