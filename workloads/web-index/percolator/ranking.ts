/**
 * PageRank, incrementally (model/page-rank.ts says what it is).
 *
 *     pages:sources ─▶ ranker ─▶ pages:rank ─▶ election caller ─ ─▶ clusters:vote
 *           ▲             └────▶ pages:shares ─▶ rank spreader
 *           └─ ─ ─ ─ weakly, for each user ─ ─ ─ ─ ─ ─┘
 *
 * This is a circle of notifications, on purpose, and the model ends it: a level of a rank depends
 * on the level before, and ranks are rounded, so a change that is worth nothing is not passed on.
 *
 * Why does the ranker not spread the shares itself? The spreader marks the pages that use them. If
 * the ranker did so, it would look for these pages in a snapshot from before its own commit.
 * A page that became a user in between would have read the old shares, and would never be told of
 * the new ones. The spreader begins after the commit: it finds the user, or the user finds the
 * shares.
 */
import type { Observer, Reader } from '#engine';
import { electCanonical, finalRank, ranksFrom, sharesOf, shownRank } from '../model/index.ts';
import { cellOf, notify, read, readMany, readPairs, readRow, settle } from '#engine/recipes';
import {
  CLUSTER,
  ELECTED,
  type Election,
  LINKS_TO,
  PUBLISH,
  RANK,
  SHARES,
  SOURCES,
  USERS,
  VOTE,
} from './tables.ts';

export const ranker: Observer = {
  name: 'ranker',
  table: SOURCES.table,
  column: SOURCES.name,
  run: async (transaction, { row: url }) => {
    // Not LINKS: if these change and change back, link inversion does not run the ranker again.
    const columns = [SOURCES, LINKS_TO, RANK, SHARES] as const;
    const [sources, links, before] = await readRow(transaction, url, ...columns);
    const ranks = sources && (await ranksOf(transaction, sources));
    const rank = ranks && finalRank(ranks);
    await settle(transaction, RANK, url, rank);
    await settle(transaction, SHARES, url, ranks && sharesOf(ranks, links?.length ?? 0));
    if (shownRank(rank ?? 0) !== shownRank(before ?? 0)) notify(transaction, PUBLISH, url);
  },
};

/** The ranks that follow from the sources' shares; a source without a rank yet gives nothing. */
async function ranksOf(reader: Reader, sources: readonly string[]): Promise<readonly number[]> {
  const shares = await readMany(reader, SHARES, sources);
  return ranksFrom(shares.map((given) => given ?? []));
}

export const rankSpreader: Observer = {
  name: 'rank-spreader',
  table: SHARES.table,
  column: SHARES.name,
  run: async (transaction, { row: url }) => {
    for (const [user] of await readPairs(transaction, USERS, url)) {
      notify(transaction, SOURCES, user);
    }
  },
};

/** Has the page's cluster vote again, if the result would be another one now. */
export const electionCaller: Observer = {
  name: 'election-caller',
  table: RANK.table,
  column: RANK.name,
  run: async (transaction, { row: url }) => {
    const cluster = await read(transaction, CLUSTER, url);
    // Clustering will call for an election, which will see the rank.
    if (cluster === undefined) return;
    const elected = await read(transaction, ELECTED, cluster);
    if (await isOutdated(transaction, url, elected)) notify(transaction, VOTE, cluster);
    // An election that has read the previous rank, and has not committed yet, conflicts.
    else await transaction.lock(cellOf(ELECTED, cluster));
  },
};

/** Whether the new rank of a page changes the result of its cluster's last election. */
async function isOutdated(
  reader: Reader,
  url: string,
  elected: Election | undefined,
): Promise<boolean> {
  // Clustering has called for an election with a page that the last one has not seen.
  if (elected?.members.includes(url) !== true) return false;
  const candidates = await readCandidates(reader, elected.members);
  return electCanonical(candidates) !== elected.canonical;
}

/** The members of a cluster with their ranks; without any rank yet, 0. */
export async function readCandidates(
  reader: Reader,
  members: readonly string[],
): Promise<readonly { readonly url: string; readonly rank: number }[]> {
  const ranks = await readMany(reader, RANK, members);
  return members.map((url, i) => ({ url, rank: ranks[i] ?? 0 }));
}
