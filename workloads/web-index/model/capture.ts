/**
 * A capture: what a crawler met at a URL at a moment.
 *
 * The index is a function of the latest capture of each URL. Latest is by the crawler's clock, and
 * by the order in the input where times are equal; crawlers often write whole seconds. Where
 * captures of one moment are in the inputs of different loads, either may count: each load numbers
 * its captures from one, because otherwise loading an input again after a crash would change what
 * is there. A capture that says nothing about the page, such as an error of the server, does not
 * replace an earlier one.
 */
import { REDIRECTS_MAX, URL_LENGTH_MAX } from './limits.ts';

export interface Capture {
  /** In the form of `webUrl`. */
  readonly url: string;
  /** When it was fetched, in milliseconds since 1970. */
  readonly timeMs: number;
  /** Its place in the input of its load: among captures of one moment, the last one counts. */
  readonly ordinal: number;
  readonly status: number;
  /** The response's headers of these names; empty if there is none. */
  readonly contentType: string;
  readonly contentLanguage: string;
  readonly location: string;
  /** Without chunks and compression; empty where `kindOf` needs none. */
  readonly body: Uint8Array;
}

/**
 *   page        an HTML page
 *   redirect    leads to another URL
 *   resource    a stylesheet or a script
 *   gone        there is no page: status 404 or 410, or other content
 *   unknown     says nothing: an error of the server, "not modified", a redirect to nowhere
 */
export type CaptureKind = 'page' | 'redirect' | 'resource' | 'gone' | 'unknown';

export function kindOf(capture: Omit<Capture, 'body'>): CaptureKind {
  const { status, contentType } = capture;
  if (REDIRECTS.has(status)) return redirectTarget(capture) === undefined ? 'unknown' : 'redirect';
  if (status === 404 || status === 410) return 'gone';
  if (status !== 200) return 'unknown';
  if (HTML.test(contentType)) return 'page';
  return RESOURCE.test(contentType) ? 'resource' : 'gone';
}

/** Where a redirect leads, in the form of `webUrl`. */
export function redirectTarget({ url, location }: Omit<Capture, 'body'>): string | undefined {
  return location === '' ? undefined : webUrl(location, url);
}

/** Negative if `a` is the older one. */
export function compareCaptures(
  a: Pick<Capture, 'timeMs' | 'ordinal'>,
  b: Pick<Capture, 'timeMs' | 'ordinal'>,
): number {
  return a.timeMs - b.timeMs || a.ordinal - b.ordinal;
}

/** The latest capture of each URL that says something. */
export function latestCaptures(captures: Iterable<Capture>): Map<string, Capture> {
  const latest = new Map<string, Capture>();
  for (const capture of captures) {
    if (kindOf(capture) === 'unknown') continue;
    const known = latest.get(capture.url);
    if (known !== undefined && compareCaptures(known, capture) > 0) continue;
    latest.set(capture.url, capture);
  }
  return latest;
}

/** One value of bytes: the length of the head in four bytes, the head as JSON, the body. */
export function encodeCapture({ body, ...head }: Capture): Buffer {
  const json = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(json.length);
  return Buffer.concat([length, json, body]);
}

/** The body shares the memory of `bytes`. */
export function decodeCapture(bytes: Buffer): Capture {
  const end = 4 + bytes.readUInt32BE(0);
  const head = JSON.parse(bytes.toString('utf8', 4, end)) as Omit<Capture, 'body'>;
  return { ...head, body: bytes.subarray(end) };
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const HTML = /^\s*(?:text\/html|application\/xhtml\+xml)\s*(?:;|$)/iu;
const RESOURCE = /^\s*(?:text\/css|(?:text|application)\/(?:x-)?(?:java|ecma)script)\s*(?:;|$)/iu;

/**
 * The form of a URL by which the index knows a page: absolute, http or https, as the URL standard
 * writes it, without user, password and fragment.
 *
 * Nothing else is guessed: two addresses of one page become one result because their contents are
 * equal (served-page.ts), not because their URLs look alike. A URL in this form holds no white
 * space and no control character, so that row keys may join several of them with a NUL.
 *
 * @returns the form of `address`, resolved against `base`; undefined for what no crawler can fetch,
 *   and for what is too long
 */
export function webUrl(address: string, base?: string): string | undefined {
  if (address.length > 2 * URL_LENGTH_MAX) return undefined; // Do not even parse a megabyte.
  const url = URL.parse(address, base);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined;
  url.hash = '';
  url.username = '';
  url.password = '';
  return url.href.length > URL_LENGTH_MAX ? undefined : url.href;
}

/**
 * Follows redirects to the first address that is none, over at most `REDIRECTS_MAX` of them. What
 * redirects in a circle, or further, leads nowhere.
 * @param targetOf where an address redirects to, if it does
 */
export function followRedirects(
  url: string,
  targetOf: (url: string) => string | undefined,
): string | undefined {
  let end = url;
  for (let followed = 0; followed <= REDIRECTS_MAX; followed++) {
    const target = targetOf(end);
    if (target === undefined) return end;
    end = target;
  }
  return undefined;
}
