/**
 * The form of a URL by which the index knows a page: absolute, http or https, as the URL standard
 * writes it, without user, password and fragment.
 *
 * Nothing else is guessed: two addresses of one page become one result because their contents are
 * equal (election.ts), not because their URLs look alike. A URL in this form holds no white space
 * and no control character, so that row keys may join several of them with a NUL.
 */
import { URL_LENGTH_MAX } from './limits.ts';

/**
 * The form of `address`, resolved against `base`; undefined for what no crawler can fetch, and for
 * what is too long.
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
