/**
 * PageRank, as its authors first defined it, in levels, and rounded.
 *
 *     r₀(p) = 0.3
 *     rₖ(p) = round( (1 - d) + d · Σ sₖ₋₁(q) )      over the links q → p, d = 0.85
 *     sₖ(q) = round( rₖ(q) / out(q) )
 *
 * `out(q)` is the number of distinct targets of q, crawled or not. So what a page passes on depends
 * on that page alone: a new page does not change the rank of all others, as it would if ranks
 * summed up to 1, or if pages without links gave to all. What is passed to a page that was not
 * crawled is lost; a link to an address that redirects counts at the end of the redirects.
 *
 * The rank of a page is r at the last level. Levels and rounding make it a function of the graph
 * that an incremental computation reaches exactly, whatever the order of the changes:
 *
 * - A level depends only on the level before. Computing in place until nothing changes may
 *   never end (a difference can go around a circle), and its result would depend on the order, so
 *   that chance would decide a tie between two copies of a site.
 * - A change that rounding swallows is not passed on. So the change of one link reaches a few pages
 *   around it, and stops.
 * - Rounding also swallows most changes of the number of a page's links: a page that had thirty and
 *   gets one more most often gives each target the same share as before, and the thirty are not
 *   computed again.
 * - Shares have few bits, so their sums are exact, whatever the order.
 *
 * The tolerance: each level brings a rank 15 % nearer to the limit of infinitely many levels, so at
 * the last one at most d^RANK_LEVELS = 27 % of the distance is left, in sum over all pages; and
 * rounding adds half a unit of the last bit per level, 3 % of ranks and 6 % of shares, at most 9 %
 * / (1 - d) = 60 %. Those are the worst cases, of graphs from which nothing leaks out, with errors
 * that never cancel. On real crawls a page's rank is about 1 %, and at most 6 %, from the limit;
 * index-of.test.ts checks that it is within 4 % on the sample. r₀ is about the mean rank of real
 * graphs, where half of the links lead to pages that were not crawled.
 *
 * Finer ranks cost more than they are worth. With two bits more a new link made the pages around it
 * compute their ranks six times as often, because a home page that links to hundreds of pages
 * passes on every step of its own rank to all of them.
 */

/** The probability to follow a link. */
const DAMPING = 0.85;
export const RANK_LEVELS = 8;
export const FIRST_RANK = 0.3;
/** Bits of the ranks after the leading one: half a unit of the last one is 3 %. */
const RANK_BITS = 4;
/** Bits of the shares: half a unit of the last one is 6 %, and errors of many sources cancel. */
const SHARE_BITS = 3;
/** Bits of a rank that is shown: steps of 12 to 25 %, so that few changes of rank are exported. */
const SHOWN_BITS = 2;

/** The next level of a page's rank, from the sum of its sources' shares at the level before. */
export function nextRank(sumOfShares: number): number {
  return roundBits(1 - DAMPING + DAMPING * sumOfShares, RANK_BITS);
}

/** All levels of a page's rank, from the shares of its sources. */
export function ranksFrom(sources: Iterable<readonly number[]>): readonly number[] {
  const sums = Array.from({ length: RANK_LEVELS }, () => 0);
  for (const shares of sources) {
    for (let level = 0; level < RANK_LEVELS; level++) {
      sums[level] = (sums[level] ?? 0) + (shares[level] ?? 0);
    }
  }
  return sums.map(nextRank);
}

/** What a page with these ranks gives to each of its targets, for each level but the last. */
export function sharesOf(ranks: readonly number[], targets: number): readonly number[] {
  if (targets === 0) return [];
  return [FIRST_RANK, ...ranks.slice(0, -1)].map((rank) => shareOf(rank, targets));
}

/** What a page with this rank gives to each of its targets. */
export function shareOf(rank: number, targets: number): number {
  return roundBits(rank / targets, SHARE_BITS);
}

/** The rank itself: the last level. */
export function finalRank(ranks: readonly number[] | undefined): number {
  return ranks?.at(-1) ?? 0;
}

/** The rank as results show it. */
export function shownRank(rank: number): number {
  return roundBits(rank, SHOWN_BITS);
}

const float = new DataView(new ArrayBuffer(8));

/** Rounds to `bits` binary digits after the leading one; exactly the same on every machine. */
function roundBits(value: number, bits: number): number {
  if (value === 0) return 0;
  const dropped = 20 - bits; // Of the digits in the upper half of a double.
  float.setFloat64(0, value);
  const high = float.getUint32(0) + 2 ** (dropped - 1);
  float.setUint32(0, high - (high % 2 ** dropped));
  float.setUint32(4, 0);
  return float.getFloat64(0);
}

/** Unrounded, at the limit: what the rank above approximates. For tests and reports. */
export function convergedRanks(
  sourcesOf: ReadonlyMap<string, readonly string[]>,
  targets: (page: string) => number,
): Map<string, number> {
  let ranks = new Map([...sourcesOf.keys()].map((page) => [page, 1]));
  for (;;) {
    const before = ranks;
    const next = ([page, sources]: readonly [string, readonly string[]]): [string, number] => {
      const shares = sources.map((source) => (before.get(source) ?? 0) / targets(source));
      return [page, 1 - DAMPING + DAMPING * shares.reduce((sum, share) => sum + share, 0)];
    };
    ranks = new Map([...sourcesOf].map(next));
    const changes = [...ranks].map(([page, rank]) => Math.abs(rank - (before.get(page) ?? 0)));
    if (Math.max(0, ...changes) < 1e-12) return ranks;
  }
}
