/**
 * One result of the index, as it is exported: a cluster of pages under its canonical URL, with the
 * texts of all links to them.
 *
 * A cluster is all pages with the same rendered form. "If the same content is crawled under
 * multiple URLs, only the URL with the highest PageRank appears in the index" (section 1): that URL
 * is the canonical one. Of equal ranks the URL that sorts first wins.
 */
export interface ServedPage {
  /** The canonical URL. */
  readonly url: string;
  readonly title: string;
  readonly text: string;
  readonly language: string;
  /** By text, sorted; each count is a power of two (`shownAnchors`). */
  readonly anchors: readonly Anchor[];
  /** The other URLs with the same rendered form, sorted. */
  readonly duplicates: readonly string[];
  /** The rank of the canonical URL, as results show it (page-rank.ts). */
  readonly rank: number;
  /** When the canonical URL was last fetched, in milliseconds since 1970. */
  readonly capturedMs: number;
}

/** A page of a cluster. */
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

/**
 * Anchors: "the anchor text from each outgoing link is attached to the page the link points to"
 * (section 1), across duplicates and redirects.
 *
 * A page's anchors are the texts of the links to all members of its cluster, each with the number
 * of its links: a link is a source, a target as it is written there, and a text.
 *
 * What is served has that number rounded down to a power of two. A search weighs a text by the
 * logarithm of that number, and without rounding each new link to a home page would export the home
 * page again.
 */
export interface Anchor {
  readonly text: string;
  readonly count: number;
}

/** Sums up anchors by their text; in the order of the texts. */
export function mergeAnchors(lists: Iterable<readonly Anchor[]>): readonly Anchor[] {
  const counts = new Map<string, number>();
  for (const anchors of lists) {
    for (const { text, count } of anchors) counts.set(text, (counts.get(text) ?? 0) + count);
  }
  return [...counts]
    .map(([text, count]) => ({ text, count }))
    .toSorted((a, b) => (a.text < b.text ? -1 : 1));
}

/** Anchors as they are served. */
export function shownAnchors(anchors: readonly Anchor[]): readonly Anchor[] {
  return anchors.map(({ text, count }) => ({ text, count: 2 ** (31 - Math.clz32(count)) }));
}

/** What the links from one page to one target add to the target's anchors. */
export function anchorsOf(texts: readonly string[]): readonly Anchor[] {
  return texts.map((text) => ({ text, count: 1 }));
}
