/**
 * Clustering: pages with the same form are one cluster, and the one with the highest PageRank
 * represents it.
 *
 *     pages:form ─▶ clustering ─▶ members ─ ─ weakly ─ ─▶ clusters:vote ─▶ election ─▶ elected
 *                                                 ▲
 *     a rank that changes (ranking.ts) ─ ─ ─ ─ ─ ─┘
 *
 * Members come and go by rows of their own. Only the election writes the row of the cluster, and it
 * looks at all members, whatever the reason to run.
 */
import type { Observer } from '#engine';
import { electCanonical } from '../model/index.ts';
import { cellOf, notify, read, readRow, settle, update } from './columns.ts';
import { pairRow, readPairs } from './pairs.ts';
import { readCandidates } from './ranking.ts';
import { CLUSTER, ELECTED, type Election, FORM, MEMBERS, PLACE, PUBLISH, VOTE } from './tables.ts';

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
      transaction.set(cellOf(MEMBERS, pairRow(form, url)), MEMBERS.encode(true));
      notify(transaction, VOTE, form);
    }
    await update(transaction, CLUSTER, url, form);
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
    const before = await read(transaction, ELECTED, hash);
    const members = (await readPairs(transaction, MEMBERS, hash)).map(([url]) => url);
    const canonical = electCanonical(await readCandidates(transaction, members));
    const elected = canonical === undefined ? undefined : { canonical, members };
    await settle(transaction, ELECTED, hash, elected);
    // Also if the result stays: while a member was away, texts of links to it reached no page.
    for (const url of concerned(before, elected)) {
      notify(transaction, PLACE, url);
      notify(transaction, PUBLISH, url);
    }
  },
};

/**
 * The URLs that have to look at the result: the one that is canonical now, the one that was before,
 * and new members, each of which may have been canonical in the cluster that it has left.
 */
function concerned(
  before: Election | undefined,
  elected: Election | undefined,
): ReadonlySet<string> {
  const urls = new Set(elected?.members);
  for (const member of before?.members ?? []) urls.delete(member);
  if (before !== undefined) urls.add(before.canonical);
  if (elected !== undefined) urls.add(elected.canonical);
  return urls;
}
