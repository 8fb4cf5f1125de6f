/**
 * PageRank, incrementally (model/page-rank.ts says what it is).
 *
 *     pages:sources ─▶ ranker ─▶ pages:ranks ─▶ rank spreader ─ ─▶ clusters:vote
 *           ▲                                         │
 *           └─ ─ ─ ─ weakly, for each user ─ ─ ─ ─ ─ ─┘
 *
 * This is a circle of notifications, on purpose, and the model ends it: a level of a rank depends on
 * the level before, and ranks are rounded, so a change that is worth nothing is not passed on.
 *
 * Why two observers? The spreader marks those that use the rank. If the ranker itself did so, it
 * would look for them in a snapshot from before its own commit. A page that became a user in between
 * would have read the old rank, and would never be told of the new one. The spreader begins after
 * the commit: it finds the user, or the user finds the rank.
 */
import type { Observer, Reader, Transaction } from '#engine';
import { electCanonical, finalRank, ranksFrom, sharesOf, shownRank } from '../model/index.ts';
import { notify, read, readMany, readRow, settle } from './columns.ts';
import { readPairs } from './pairs.ts';
import {
  CLUSTER,
  ELECTED,
  LINKS,
  type PageRank,
  PUBLISH,
  RANKS,
  SOURCES,
  USERS,
  VOTE,
} from './tables.ts';

export const ranker: Observer = {
  name: 'ranker',
  table: SOURCES.table,
  column: SOURCES.name,
  run: async (transaction, { row: url }) => {
    const [sources, links, before] = await readRow(transaction, url, SOURCES, LINKS, RANKS);
    const ranks = sources && ranksFrom(await sharesOfAll(transaction, sources));
    const rank = ranks && { ranks, targets: links?.length ?? 0 };
    await settle(transaction, RANKS, url, rank);
    if (shownRankOf(rank) !== shownRankOf(before)) notify(transaction, PUBLISH, url);
  },
};

/** What each page gives to each of its targets; nothing, while it has no rank yet. */
async function sharesOfAll(
  reader: Reader,
  pages: readonly string[],
): Promise<readonly (readonly number[])[]> {
  const ranks = await readMany(reader, RANKS, pages);
  return ranks.map((rank) => (rank === undefined ? [] : sharesOf(rank.ranks, rank.targets)));
}

export const rankSpreader: Observer = {
  name: 'rank-spreader',
  table: RANKS.table,
  column: RANKS.name,
  run: async (transaction, { row: url }) => {
    for (const [user] of await readPairs(transaction, USERS, url)) {
      notify(transaction, SOURCES, user);
    }
    await callElection(transaction, url);
  },
};

/** Has the cluster vote again, if the result would be another one now. */
async function callElection(transaction: Transaction, url: string): Promise<void> {
  const cluster = await read(transaction, CLUSTER, url);
  const elected = cluster === undefined ? undefined : await read(transaction, ELECTED, cluster);
  // Before the first election, and of members that it has not seen: clustering has called for one.
  if (cluster === undefined || elected?.members.includes(url) !== true) return;
  const candidates = await readCandidates(transaction, elected.members);
  if (electCanonical(candidates) !== elected.canonical) notify(transaction, VOTE, cluster);
}

/** The members of a cluster with their ranks; without any rank yet, 0. */
export async function readCandidates(
  reader: Reader,
  members: readonly string[],
): Promise<readonly { readonly url: string; readonly rank: number }[]> {
  const ranks = await readMany(reader, RANKS, members);
  return members.map((url, i) => ({ url, rank: rankOf(ranks[i]) }));
}

function rankOf(rank: PageRank | undefined): number {
  return finalRank(rank?.ranks);
}

export function shownRankOf(rank: PageRank | undefined): number {
  return shownRank(rankOf(rank));
}
