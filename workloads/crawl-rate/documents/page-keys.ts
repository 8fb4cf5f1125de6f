/**
 * The three keys of a page: three ways for two addresses to be the same document.
 *
 *   key 1, the contents: SHA-256 of the payload, byte by byte.
 *   key 2, the text: SHA-256 of the visible text (visible-text.ts). A page without any visible text
 *          uses its contents instead; otherwise all empty pages of the web would be one document.
 *   key 3, the address: the normal form of the URL (url-form.ts) after following the redirects that
 *          the crawl met. So a page found through a redirect and the same page found at the
 *          redirecting address at another time are one document. (The price: a page that once sent
 *          the crawler to a log-in form counts as that form.)
 *
 * Keys become row keys, so an address too long for one is cut, and its hash is appended.
 */
import { hash } from 'node:crypto';
import type { Keys } from './document.ts';
import { normalizeUrl } from './url-form.ts';
import { visibleText } from './visible-text.ts';
import type { Page } from './warc.ts';

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
