/**
 * A real crawl as documents for the experiment.
 *
 * The files are read twice. The first pass collects the redirects, which may come after the pages
 * they concern, counts the records, and reports those that are damaged and left out. The second
 * pass makes the documents, one at a time, so that a crawl may be larger than memory.
 *
 * Pages are numbered in the order of the files, and these numbers are their ids.
 */
import { hash } from 'node:crypto';
import { UsageError } from '#results';
import type { Partition } from './clustering.ts';
import { type Document, documentId, type Keys } from './document.ts';
import { visibleText } from './visible-text.ts';
import { type CrawlRecord, type Damage, type Page, readWarc } from './warc-records.ts';

export interface Crawl {
  /** The number of records of each kind (see warc-records.ts). */
  readonly records: RecordCounts;
  /** The records that are left out, and why. */
  readonly damages: readonly Damage[];
  /** All pages as documents, from the first. May be called again. */
  documents(): AsyncGenerator<Document>;
}

type RecordCounts = Readonly<Record<CrawlRecord['kind'], number>>;

/** Throws a `UsageError` if a file cannot be read, or if no file has a page. */
export async function openCrawl(files: readonly string[]): Promise<Crawl> {
  const redirects = new Redirects();
  const records = { page: 0, redirect: 0, failure: 0, 'not-html': 0, 'not-response': 0 };
  const damages: Damage[] = [];
  for await (const record of readAll(files, (damage) => void damages.push(damage))) {
    records[record.kind]++;
    if (record.kind === 'redirect') redirects.add(record.url, record.target);
  }
  if (records.page === 0) throw withoutPages(files);
  async function* documents(): AsyncGenerator<Document> {
    let arrival = 0;
    for await (const record of readAll(files, () => {})) {
      if (record.kind !== 'page') continue;
      const { url, contents } = record;
      yield { id: documentId(arrival++), url, keys: keysOfPage(record, redirects), contents };
    }
  }
  return { records, damages, documents };
}

function withoutPages(files: readonly string[]): UsageError {
  const names = files.map((file) => JSON.stringify(file)).join(' or ');
  return new UsageError(
    `--input must be a WARC file with pages, but no response in ${names} has status 200 and an HTML content type.`,
  );
}

async function* readAll(
  files: readonly string[],
  onDamage: (damage: Damage) => void,
): AsyncGenerator<CrawlRecord> {
  for (const file of files) yield* readWarc(file, onDamage);
}

/*
 * The three keys of a page: three ways for two addresses to be the same document.
 *
 *   key 1, the contents: SHA-256 of the payload, byte by byte.
 *   key 2, the text: SHA-256 of the visible text (visible-text.ts). A page without any visible text
 *          uses its contents instead; otherwise all empty pages of the web would be one document.
 *   key 3, the address: the normal form of the URL after following the redirects that
 *          the crawl met. So a page found through a redirect and the same page found at the
 *          redirecting address at another time are one document. (The price: a page that once sent
 *          the crawler to a log-in form counts as that form.)
 *
 * Keys become row keys, so an address too long for one is cut, and its hash is appended.
 */

/** The keys of a page in a crawl with these redirects. */
export function keysOfPage({ url, contents, contentType }: Page, redirects: Redirects): Keys {
  const contentsKey = hash('sha256', contents, 'base64url');
  const text = visibleText(contents, contentType);
  const textKey = text === '' ? `no-text-${contentsKey}` : hash('sha256', text, 'base64url');
  return [contentsKey, textKey, bound(redirects.follow(normalizeUrl(url)))];
}

/** The redirects of a crawl, from one normal form to another. */
export class Redirects {
  readonly #targets = new Map<string, string>();

  /** If an address was redirected to different places, the last one counts. */
  add(url: string, target: string): void {
    const from = normalizeUrl(url);
    const to = normalizeUrl(target);
    // A redirect from http to https, say, changes nothing.
    if (from !== to) this.#targets.set(from, to);
  }

  /** The end of the chain that begins at `form`; `form` itself if the chain runs in a circle. */
  follow(form: string): string {
    const seen = new Set<string>();
    let end = form;
    for (let next = this.#targets.get(form); next !== undefined; next = this.#targets.get(end)) {
      if (seen.has(next)) return form;
      seen.add(next);
      end = next;
    }
    return end;
  }
}

/** Far below the 4 KiB limit of a Bigtable row key: callers add prefixes. */
const KEY_LENGTH_MAX = 400;

function bound(key: string): string {
  if (key.length <= KEY_LENGTH_MAX) return key;
  return `${key.slice(0, KEY_LENGTH_MAX)}#${hash('sha256', key, 'base64url')}`;
}

/**
 * The normal form of a URL: equal for two addresses that a crawler should expect to be one page.
 *
 *   1. The scheme is removed: http and https serve the same page. (Other schemes stay.)
 *   2. User, password and fragment are removed, and the port if it is the scheme's default.
 *   3. The host is lower-case, without a final dot and without `www.`.
 *   4. `.` and `..` are resolved. Percent-encoding stays only where necessary, with upper-case
 *      digits.
 *   5. An index file (`index.html` and similar) is removed, then slashes at the end of the path.
 *   6. An empty query is removed. Any other query keeps its order, which may matter to the server.
 *
 * A text that cannot be parsed as a URL is its own normal form.
 */
export function normalizeUrl(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null) return url.trim();
  const { protocol, port, search } = parsed;
  const scheme = protocol === 'http:' || protocol === 'https:' ? '' : protocol;
  const host = parsed.hostname.replace(/\.$/u, '').replace(/^www\./u, '');
  const path = normalizePercents(parsed.pathname).replace(INDEX_FILE, '/').replace(/\/+$/u, '');
  return `${scheme}${host}${port && `:${port}`}${path}${normalizePercents(search)}`;
}

/** The host as written in the URL, `www.` included: two hosts may serve the same pages. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? '';
}

const INDEX_FILE = /\/(?:index|default)\.(?:html?|xhtml|shtml|php\d?|aspx?|jsp|cgi)$/iu;

/** Characters that mean the same encoded or not (RFC 3986, section 2.3). */
const UNRESERVED = /^[\w.~-]$/u;

function normalizePercents(text: string): string {
  return text.replaceAll(/%[\da-f]{2}/giu, (encoded) => {
    const character = String.fromCodePoint(Number.parseInt(encoded.slice(1), 16));
    return UNRESERVED.test(character) ? character : encoded.toUpperCase();
  });
}

/* Describes a real crawl by its clusters: how much of it is duplicated, and across which hosts. */

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
