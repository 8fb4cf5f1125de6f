/**
 * Export: changed pages go to the serving index, each at least once, and what comes again changes
 * nothing.
 *
 *     pages:publish ─▶ publisher ─▶ exports:entry ─▶ exporter ─▶ the serving index
 *
 * The publisher decides in a transaction what is to be served under a URL, and offers it to an
 * export queue (engine/recipes/export-queue.ts), whose exporter tells the serving index.
 */
import type { Observer, Percolator, Transaction } from '#engine';
import { type ServedPage, shownRank } from '../model/index.ts';
import type { ExportTarget, IndexChange, ServingIndex } from '../serving/serving-index.ts';
import { readElection } from './clustering.ts';
import { cellOf, readRow } from '#engine/recipes';
import {
  ANCHORS,
  CAPTURED,
  CLUSTER,
  type Election,
  EXPORTS,
  PUBLISH,
  RANK,
  RENDERED,
} from './tables.ts';

export const publisher: Observer = {
  name: 'publisher',
  table: PUBLISH.table,
  column: PUBLISH.name,
  run: async (transaction, { row: url }) => {
    const page = await whatToServe(transaction, url, await readElection(transaction, url));
    // An offer of what is there locks it, as `settle` does; and so must a wait for the election.
    if (page === 'not yet') await transaction.lock(cellOf(EXPORTS.entry, url));
    else await EXPORTS.offer(transaction, url, page);
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
  return EXPORTS.exporter(({ key: url, value: page, version }) =>
    page === undefined ? serving.remove(url, version) : serving.put(page, version),
  );
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
  for await (const { key: url, value: page, version } of EXPORTS.contents(snapshot)) {
    yield { url, page, version };
  }
}
