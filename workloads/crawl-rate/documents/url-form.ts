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
