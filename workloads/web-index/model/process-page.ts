/**
 * What the document processor finds in a page: title, language, links, and the stylesheets and
 * scripts that it includes. Addresses are resolved against the page's base.
 *
 * - A target counts once per page, with the visible texts of all links to it; the text of an image
 *   is its `alt`. Links to the page itself, and to what no crawler can fetch (`javascript:`), do
 *   not count.
 * - The canonical link, by which an author names the preferred address of a page, is a link without
 *   text. So it gives rank to that address; what is canonical is decided by rank (served-page.ts).
 */
import { type Handler, Parser } from 'htmlparser2';
import {
  decodeText,
  endsWords,
  isHidden,
  parserOptions,
  withoutSoftHyphens,
} from '../../crawl-rate/documents/visible-text.ts';
import { type Capture, webUrl } from './capture.ts';
import {
  ANCHOR_LENGTH_MAX,
  LANGUAGE_LENGTH_MAX,
  LINKS_MAX,
  NESTING_MAX,
  RESOURCES_MAX,
  TEXTS_LENGTH_MAX,
  TEXTS_PER_LINK_MAX,
  TITLE_LENGTH_MAX,
} from './limits.ts';

export interface OutgoingLink {
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
  readonly links: readonly OutgoingLink[];
  /** In the order of their last places in the page: a later one overrules an earlier one. */
  readonly stylesheets: readonly string[];
  /** In the order of their first places. */
  readonly scripts: readonly string[];
}

type Attributes = Readonly<Record<string, string>>;

export function processPage(capture: Capture): ProcessedPage {
  const found = new PageFindings();
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
class PageFindings {
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

  #links(url: string, base: string): readonly OutgoingLink[] {
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

/*
 * Text of a page, as one line.
 *
 * White space is one space; elements end words, except for those inside of them: `un<b>do</b>` is
 * one word, and so is `un&shy;do`. Control characters, for which JSON writes six each, become
 * spaces; broken surrogates, which some stores and libraries refuse, become replacement characters.
 */

/** Characters that are parsed between two looks at the nesting. */
const PIECE_LENGTH = 16_384;

/** Ends early where the nesting becomes too much; what is open then is not closed. */
export function parsePage(capture: Capture, handler: Partial<Handler>): void {
  let depth = 0;
  let deepest = 0;
  const measuring: Partial<Handler> = {
    ...handler,
    onopentag(...given) {
      deepest = Math.max(deepest, ++depth);
      handler.onopentag?.(...given);
    },
    onclosetag(...given) {
      depth--;
      handler.onclosetag?.(...given);
    },
  };
  const parser = new Parser(measuring, parserOptions(capture.contentType));
  const text = decodeText(capture.body, capture.contentType);
  let nesting = 0;
  for (let from = 0; from < text.length && nesting <= NESTING_MAX; from += PIECE_LENGTH) {
    deepest = depth;
    // In pieces: a tag that closes nothing takes the most time, and calls no handler.
    parser.write(text.slice(from, from + PIECE_LENGTH));
    nesting += deepest * PIECE_LENGTH;
  }
  if (nesting <= NESTING_MAX) parser.end();
}

/** Text that is collected in pieces. */
export class TextPieces {
  #pieces: string[] = [];

  add(text: string): void {
    this.#pieces.push(text);
  }

  /** An element begins or ends. */
  boundary(name: string): void {
    if (endsWords(name)) this.#pieces.push(' ');
  }

  take(lengthMax?: number): string {
    const text = oneLine(this.#pieces.join(''), lengthMax);
    this.#pieces = [];
    return text;
  }
}

function oneLine(text: string, lengthMax: number = Number.POSITIVE_INFINITY): string {
  const line = withoutSoftHyphens(text)
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return (line.length > lengthMax ? line.slice(0, lengthMax) : line).toWellFormed();
}
