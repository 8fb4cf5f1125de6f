/**
 * Clustering: pages with the same form are one cluster, and the one with the highest PageRank
 * represents it. That one has the anchors of all.
 *
 *     pages:form ─▶ clustering ─▶ members ─ ─ weakly ─ ─▶ clusters:vote ─▶ election ─▶ elected
 *                                                 ▲
 *     a rank that changes (ranking.ts) ─ ─ ─ ─ ─ ─┘
 *
 * Members come and go by rows of their own. Only the election writes the row of the cluster, and it
 * looks at all members, whatever the reason to run.
 *
 * Who tells a page that its cluster is another one? The election there, because only then is there
 * something to tell. It remembers when each member had joined: one that left and came back since is
 * new to it, too. Without a new cluster there is no election, so clustering tells the page itself.
 */
import type { Observer, Reader } from '#engine';
import { electCanonical, mergeAnchors, shownAnchors } from '../model/index.ts';
import {
  cellOf,
  notify,
  pairRow,
  read,
  readMany,
  readPairs,
  readRow,
  settle,
  update,
} from '#engine/recipes';
import { readCandidates } from './ranking.ts';
import {
  ANCHORS,
  CLUSTER,
  ELECTED,
  type Election,
  FORM,
  JOINED,
  MEMBERS,
  PLACE,
  PUBLISH,
  TEXTS,
  VOTE,
} from './tables.ts';

export const clustering: Observer = {
  name: 'clustering',
  table: FORM.table,
  column: FORM.name,
  run: async (transaction, { row: url }) => {
    const [form, cluster] = await readRow(transaction, url, FORM, CLUSTER);
    if (form !== cluster && cluster !== undefined) {
      transaction.delete(cellOf(MEMBERS, pairRow(cluster, url)));
      notify(transaction, VOTE, cluster);
    }
    if (form !== cluster && form !== undefined) {
      const joined = MEMBERS.encode(transaction.startTimestamp);
      transaction.set(cellOf(MEMBERS, pairRow(form, url)), joined);
      notify(transaction, VOTE, form);
    }
    await update(transaction, CLUSTER, url, form);
    if (form !== cluster && form !== undefined) return; // The election will notify it.
    // Also if the page is back where it was: what ran meanwhile saw it on its way.
    notify(transaction, PLACE, url);
    notify(transaction, PUBLISH, url);
  },
};

export const election: Observer = {
  name: 'election',
  table: VOTE.table,
  column: VOTE.name,
  run: async (transaction, { row: hash }) => {
    const [before, joinedBefore] = await readRow(transaction, hash, ELECTED, JOINED);
    const joined = await readPairs(transaction, MEMBERS, hash);
    const members = joined.map(([url]) => url);
    const canonical = electCanonical(await readCandidates(transaction, members));
    const elected = canonical === undefined ? undefined : { canonical, members };
    await settle(transaction, ELECTED, hash, elected);
    await update(transaction, JOINED, hash, elected && joined);
    const known = new Map(joinedBefore);
    for (const [url, since] of joined) {
      // Also if the result stays: while a member was away, texts of links to it reached no page.
      const isConcerned = url === canonical || url === before?.canonical;
      if (!isConcerned && known.get(url) === since) continue;
      notify(transaction, PLACE, url);
      notify(transaction, PUBLISH, url);
    }
  },
};

/*
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
