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
