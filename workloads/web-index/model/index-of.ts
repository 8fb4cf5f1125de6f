/**
 * The judge: the whole index of a crawl, computed in memory from the latest capture of each URL.
 *
 * It is written to be obviously right, one step after the other, with no thought of speed. Both
 * pipelines must agree with it on everything.
 */
import {
  type Anchor,
  anchorsOf,
  electCanonical,
  mergeAnchors,
  type ServedPage,
  shownAnchors,
} from './served-page.ts';
import {
  type Capture,
  followRedirects,
  kindOf,
  latestCaptures,
  redirectTarget,
} from './capture.ts';
import { finalRank, ranksFrom, sharesOf, shownRank } from './page-rank.ts';
import { type ProcessedPage, processPage } from './process-page.ts';
import { describeResource, type RenderedPage, renderPage, type Resource } from './render-page.ts';

export interface IndexedPage {
  readonly processed: ProcessedPage;
  readonly rendered: RenderedPage;
  /** One number for each level. */
  readonly ranks: readonly number[];
  readonly capturedMs: number;
}

export interface PageCluster {
  readonly canonical: string;
  /** All URLs, sorted. */
  readonly members: readonly string[];
}

export interface WebIndex {
  /** By URL. */
  readonly pages: ReadonlyMap<string, IndexedPage>;
  /** By the hash of the rendered form. */
  readonly clusters: ReadonlyMap<string, PageCluster>;
  /** By canonical URL. */
  readonly served: ReadonlyMap<string, ServedPage>;
  /** For each page, the pages that link to it: once per link, sorted. */
  readonly sources: ReadonlyMap<string, readonly string[]>;
}

export function indexOf(captures: Iterable<Capture>): WebIndex {
  const latest = latestCaptures(captures);
  const processed = new Map<string, ProcessedPage>();
  const resources = new Map<string, Resource>();
  const redirects = new Map<string, string | undefined>();
  for (const [url, capture] of latest) {
    const kind = kindOf(capture);
    if (kind === 'page') processed.set(url, processPage(capture));
    if (kind === 'resource') resources.set(url, describeResource(capture));
    if (kind === 'redirect') redirects.set(url, redirectTarget(capture));
  }
  const { sources, anchors } = invertLinks(processed, redirects);
  const ranks = rankPages(processed, sources);
  const pages = new Map<string, IndexedPage>();
  for (const [url, page] of processed) {
    const capture = latest.get(url) as Capture;
    const rendered = renderPage(capture, page, (resource) => resources.get(resource));
    const { timeMs: capturedMs } = capture;
    pages.set(url, { processed: page, rendered, ranks: ranks.get(url) ?? [], capturedMs });
  }
  const clusters = clusterPages(pages);
  return { pages, clusters, served: servePages({ pages, clusters, anchors }), sources };
}

interface InvertedLinks {
  readonly sources: ReadonlyMap<string, readonly string[]>;
  /** By target page. */
  readonly anchors: ReadonlyMap<string, readonly Anchor[]>;
}

/** Only links that lead to a page count, directly or over redirects. */
function invertLinks(
  processed: ReadonlyMap<string, ProcessedPage>,
  redirects: ReadonlyMap<string, string | undefined>,
): InvertedLinks {
  const sources = new Map([...processed.keys()].map((url) => [url, [] as string[]]));
  const anchors = new Map<string, readonly Anchor[]>();
  for (const [source, { links }] of processed) {
    for (const { target, texts } of links) {
      const end = followRedirects(target, (url) => redirects.get(url));
      if (end === undefined || !processed.has(end)) continue;
      sources.get(end)?.push(source);
      anchors.set(end, mergeAnchors([anchors.get(end) ?? [], anchorsOf(texts)]));
    }
  }
  for (const list of sources.values()) list.sort();
  return { sources, anchors };
}

/**
 * Each round computes all levels and makes at least one more of them right. The last round changes
 * nothing, so there is at most one round more than there are levels.
 */
function rankPages(
  processed: ReadonlyMap<string, ProcessedPage>,
  sources: ReadonlyMap<string, readonly string[]>,
): ReadonlyMap<string, readonly number[]> {
  let ranks = new Map<string, readonly number[]>();
  for (;;) {
    const shares = new Map(
      [...processed].map(([url, { links }]) => [url, sharesOf(ranks.get(url) ?? [], links.length)]),
    );
    const next = new Map(
      [...sources].map(([url, from]) => [url, ranksFrom(from.map((one) => shares.get(one) ?? []))]),
    );
    const same = [...next].every(([url, levels]) => String(levels) === String(ranks.get(url)));
    if (same) return next;
    ranks = next;
  }
}

function clusterPages(pages: ReadonlyMap<string, IndexedPage>): ReadonlyMap<string, PageCluster> {
  const groups = Map.groupBy(pages, ([, { rendered }]) => rendered.hash);
  const clusters = new Map<string, PageCluster>();
  for (const [hash, group] of groups) {
    const members = group.map(([url, { ranks }]) => ({ url, rank: finalRank(ranks) }));
    const canonical = electCanonical(members) as string;
    clusters.set(hash, { canonical, members: members.map(({ url }) => url).toSorted() });
  }
  return clusters;
}

function servePages({
  pages,
  clusters,
  anchors,
}: Pick<WebIndex, 'pages' | 'clusters'> & Pick<InvertedLinks, 'anchors'>): ReadonlyMap<
  string,
  ServedPage
> {
  const served = new Map<string, ServedPage>();
  for (const { canonical, members } of clusters.values()) {
    const { rendered, ranks, capturedMs } = pages.get(canonical) as IndexedPage;
    const { title, text, language } = rendered;
    served.set(canonical, {
      url: canonical,
      title,
      text,
      language,
      anchors: shownAnchors(mergeAnchors(members.map((url) => anchors.get(url) ?? []))),
      duplicates: members.filter((url) => url !== canonical),
      rank: shownRank(finalRank(ranks)),
      capturedMs,
    });
  }
  return served;
}
