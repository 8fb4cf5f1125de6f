/**
 * What the document processor finds in a page: title, language, links, and the stylesheets and
 * scripts that it includes. Addresses are resolved against the page's base.
 *
 * - A target counts once per page, with the visible texts of all links to it; the text of an image
 *   is its `alt`. Links to the page itself, and to what no crawler can fetch (`javascript:`), do
 *   not count.
 * - The canonical link, by which an author names the preferred address of a page, is a link without
 *   text. So it gives rank to that address; what is canonical is decided by rank (election.ts).
 */
import { isHidden } from '../../crawl-rate/documents/visible-text.ts';
import type { Capture } from './capture.ts';
import {
  ANCHOR_LENGTH_MAX,
  LANGUAGE_LENGTH_MAX,
  LINKS_MAX,
  RESOURCES_MAX,
  TEXTS_LENGTH_MAX,
  TEXTS_PER_LINK_MAX,
  TITLE_LENGTH_MAX,
} from './limits.ts';
import { oneLine, parsePage, TextPieces } from './page-text.ts';
import { webUrl } from './url.ts';

export interface Link {
  readonly target: string;
  /** Distinct and not empty, sorted. */
  readonly texts: readonly string[];
}

export interface ProcessedPage {
  readonly title: string;
  /** A language tag such as `en`; empty if the page names none. */
  readonly language: string;
  /** The address that the page names as its preferred one. */
  readonly canonicalLink: string | undefined;
  /** By target, sorted. */
  readonly links: readonly Link[];
  /** In the order of their last places in the page: a later one overrules an earlier one. */
  readonly stylesheets: readonly string[];
  /** In the order of their first places. */
  readonly scripts: readonly string[];
}

type Attributes = Readonly<Record<string, string>>;

export function processPage(capture: Capture): ProcessedPage {
  const found = new Findings();
  const title = new TextPieces();
  const anchor = new TextPieces();
  let titles = 0;
  /** Open ones: a picture in SVG has a title of its own. */
  let pictures = 0;
  let inTitle = false;
  let hiddenDepth = 0;
  let href: string | undefined;
  const endAnchor = (): void => {
    const text = anchor.take(ANCHOR_LENGTH_MAX);
    if (href !== undefined) found.hrefs.push([href, text]);
    href = undefined;
  };
  const addToAnchor = (text: string): void => {
    if (href !== undefined && hiddenDepth === 0) anchor.add(text);
  };
  parsePage(capture, {
    onopentag(name, attributes) {
      if (name === 'svg') pictures++;
      if (name === 'title' && pictures === 0) inTitle = titles++ === 0;
      if (name === 'a') {
        endAnchor(); // Anchors do not nest: the next one ends the one before.
        href = attributes['href'];
      }
      if (isHidden(name)) hiddenDepth++;
      anchor.boundary(name);
      if (name === 'img') addToAnchor(attributes['alt'] ?? '');
      found.element(name, attributes);
    },
    ontext(text) {
      if (inTitle) title.add(text);
      addToAnchor(text);
    },
    onclosetag(name) {
      if (name === 'svg') pictures--;
      if (name === 'title') inTitle = false;
      if (name === 'a') endAnchor();
      if (isHidden(name)) hiddenDepth--;
      anchor.boundary(name);
    },
  });
  endAnchor();
  return found.resolve(capture, title.take(TITLE_LENGTH_MAX));
}

/** The addresses of a page, not yet resolved: the base may come after them. */
class Findings {
  readonly hrefs: [href: string, text: string][] = [];
  readonly #stylesheets: string[] = [];
  readonly #scripts: string[] = [];
  #base: string | undefined;
  #canonical: string | undefined;
  #language = '';

  element(name: string, attributes: Attributes): void {
    const { href, src, lang } = attributes;
    if (name === 'html' && lang !== undefined) this.#language = lang;
    if (name === 'base') this.#base ??= href;
    if (name === 'script' && src !== undefined) this.#scripts.push(src);
    if (name === 'area' && href !== undefined) {
      this.hrefs.push([href, oneLine(attributes['alt'] ?? '', ANCHOR_LENGTH_MAX)]);
    }
    if (name === 'link' && href !== undefined) this.#link(href, attributes['rel'] ?? '');
  }

  #link(href: string, relation: string): void {
    const relations = relation.toLowerCase().split(/\s+/u);
    if (relations.includes('stylesheet')) this.#stylesheets.push(href);
    if (relations.includes('canonical')) this.#canonical ??= href;
  }

  resolve({ url, contentLanguage }: Capture, title: string): ProcessedPage {
    const base = (this.#base === undefined ? undefined : webUrl(this.#base, url)) ?? url;
    const all = (addresses: readonly string[]): readonly string[] =>
      addresses.flatMap((address) => webUrl(address, base) ?? []);
    const canonicalLink = this.#canonical === undefined ? undefined : webUrl(this.#canonical, base);
    if (this.#canonical !== undefined) this.hrefs.push([this.#canonical, '']);
    const language = this.#language || (contentLanguage.split(',')[0] ?? '');
    return {
      title,
      language: oneLine(language, LANGUAGE_LENGTH_MAX).toLowerCase(),
      canonicalLink,
      links: this.#links(url, base),
      stylesheets: lastPlaces(all(this.#stylesheets)),
      scripts: firstPlaces(all(this.#scripts)),
    };
  }

  #links(url: string, base: string): readonly Link[] {
    const texts = new Map<string, Set<string>>();
    let room = TEXTS_LENGTH_MAX;
    for (const [href, text] of this.hrefs) {
      const target = webUrl(href, base);
      if (target === undefined || target === url) continue;
      const known = texts.get(target) ?? new Set();
      if (!texts.has(target) && texts.size >= LINKS_MAX) continue;
      texts.set(target, known);
      if (text === '' || known.has(text) || known.size >= TEXTS_PER_LINK_MAX) continue;
      room -= text.length;
      if (room >= 0) known.add(text);
    }
    return [...texts]
      .map(([target, distinct]) => ({ target, texts: [...distinct].toSorted() }))
      .toSorted((a, b) => (a.target < b.target ? -1 : 1));
  }
}

/** Different URLs, up to the limit. */
function firstPlaces(urls: readonly string[]): readonly string[] {
  return [...new Set(urls)].slice(0, RESOURCES_MAX);
}

/** The URLs of `firstPlaces`, each where the page includes it last. */
function lastPlaces(urls: readonly string[]): readonly string[] {
  const counting = new Set(firstPlaces(urls));
  const lastFirst = new Set(urls.filter((url) => counting.has(url)).toReversed());
  return [...lastFirst].toReversed();
}
