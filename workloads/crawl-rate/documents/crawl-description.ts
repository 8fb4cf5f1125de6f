/** Describes a real crawl by its clusters: how much of it is duplicated, and across which hosts. */
import type { Partition } from './clustering.ts';
import type { Document } from './document.ts';
import { hostOf } from './url-form.ts';

/** A page without its contents, which a description does not need. */
export type CrawledPage = Omit<Document, 'contents'>;

/**
 * The key that all pages of a cluster share, the strongest first. `several`: no key is common to
 * all of them; different keys joined them one by one.
 */
type SharedKey = 'contents' | 'text' | 'url' | 'several';

interface DuplicateGroup {
  readonly representative: string;
  readonly sharing: SharedKey;
  /** In order of arrival, the representative's first. */
  readonly urls: readonly string[];
}

export interface CrawlDescription {
  readonly pages: number;
  readonly clusters: number;
  readonly distinctContents: number;
  readonly distinctTexts: number;
  readonly distinctUrls: number;
  /** Pages by host as written, the host with most pages first. */
  readonly hosts: readonly { readonly host: string; readonly pages: number }[];
  /** Clusters of two or more pages, by the key that their pages share. */
  readonly groups: Readonly<Record<SharedKey, number>>;
  /** The clusters with pages on more than one host. */
  readonly acrossHosts: readonly DuplicateGroup[];
}

/** Describes the pages of a crawl, in order of arrival, and their partition. */
export function describeCrawl(
  pages: readonly CrawledPage[],
  partition: Partition,
): CrawlDescription {
  const clusters = Map.groupBy(pages, ({ id }) => partition.get(id) ?? id);
  const duplicated = [...clusters.values()].filter((members) => members.length > 1);
  const groups = { contents: 0, text: 0, url: 0, several: 0 };
  for (const members of duplicated) groups[sharingOf(members)]++;
  return {
    pages: pages.length,
    clusters: clusters.size,
    distinctContents: distinct(pages, ({ keys }) => keys[0]),
    distinctTexts: distinct(pages, ({ keys }) => keys[1]),
    distinctUrls: distinct(pages, ({ keys }) => keys[2]),
    hosts: countHosts(pages),
    groups,
    acrossHosts: duplicated
      .filter((members) => distinct(members, ({ url }) => hostOf(url)) > 1)
      .map((members) => describeGroup(members, partition)),
  };
}

function describeGroup(members: readonly CrawledPage[], partition: Partition): DuplicateGroup {
  const first = members[0]?.id ?? '';
  return {
    representative: partition.get(first) ?? first,
    sharing: sharingOf(members),
    urls: members.map(({ url }) => url),
  };
}

function sharingOf(members: readonly CrawledPage[]): SharedKey {
  if (distinct(members, ({ keys }) => keys[0]) === 1) return 'contents';
  if (distinct(members, ({ keys }) => keys[1]) === 1) return 'text';
  if (distinct(members, ({ keys }) => keys[2]) === 1) return 'url';
  return 'several';
}

function countHosts(pages: readonly CrawledPage[]): { host: string; pages: number }[] {
  const byHost = Map.groupBy(pages, ({ url }) => hostOf(url));
  return [...byHost]
    .map(([host, onHost]) => ({ host, pages: onHost.length }))
    .toSorted((a, b) => b.pages - a.pages);
}

function distinct(pages: readonly CrawledPage[], property: (page: CrawledPage) => string): number {
  return new Set(pages.map(property)).size;
}
