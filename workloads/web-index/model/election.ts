/**
 * A cluster: all pages with the same rendered form. "If the same content is crawled under multiple
 * URLs, only the URL with the highest PageRank appears in the index" (section 1): that URL is the
 * canonical one. Of equal ranks the URL that sorts first wins.
 */
export interface Member {
  readonly url: string;
  readonly rank: number;
}

/** The canonical URL; undefined if there is no member. */
export function electCanonical(members: Iterable<Member>): string | undefined {
  let elected: Member | undefined;
  for (const member of members) {
    if (elected === undefined || isBefore(member, elected)) elected = member;
  }
  return elected?.url;
}

function isBefore(a: Member, b: Member): boolean {
  return a.rank > b.rank || (a.rank === b.rank && a.url < b.url);
}
