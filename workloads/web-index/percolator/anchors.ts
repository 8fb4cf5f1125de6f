/**
 * Anchors: the canonical page of a cluster has the texts of all links to the cluster's members.
 * When another page becomes canonical, they move there.
 *
 *     pages:texts ─▶ anchor forwarder ─ ─ weakly ─ ─▶ pages:place ─▶ anchor placer ─▶ pages:anchors
 *                                                          ▲
 *     an election ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─┘
 *
 * The placer that runs for a page writes the anchors of that page alone, and gives it anchors only
 * while it is canonical. If elections wrote them instead, those of two clusters would both write to
 * a page that moves from one to the other, and the later commit would win.
 */
import type { Observer, Reader } from '#engine';
import { mergeAnchors, shownAnchors } from '../model/index.ts';
import { notify, read, readMany, settle } from './columns.ts';
import { ANCHORS, CLUSTER, ELECTED, type Election, PLACE, PUBLISH, TEXTS } from './tables.ts';

export const anchorForwarder: Observer = {
  name: 'anchor-forwarder',
  table: TEXTS.table,
  column: TEXTS.name,
  run: async (transaction, { row: url }) => {
    const elected = await readElection(transaction, url);
    if (elected !== undefined) notify(transaction, PLACE, elected.canonical);
  },
};

export const anchorPlacer: Observer = {
  name: 'anchor-placer',
  table: PLACE.table,
  column: PLACE.name,
  run: async (transaction, { row: url }) => {
    const elected = await readElection(transaction, url);
    const members = elected?.canonical === url ? elected.members : undefined;
    const texts = members && (await readMany(transaction, TEXTS, members));
    const anchors = texts && shownAnchors(mergeAnchors(texts.map((list) => list ?? [])));
    if (await settle(transaction, ANCHORS, url, anchors)) notify(transaction, PUBLISH, url);
  },
};

/**
 * The election of the page's cluster; undefined if it has no cluster, or its cluster no election.
 */
export async function readElection(reader: Reader, url: string): Promise<Election | undefined> {
  const cluster = await read(reader, CLUSTER, url);
  return cluster === undefined ? undefined : read(reader, ELECTED, cluster);
}
