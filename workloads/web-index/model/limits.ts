/**
 * The limits of what is taken from a crawl, so that a hostile one cannot fill memory or rows. A
 * record beyond one of them is left out and reported; of a page, only what is beyond is left out.
 * Those of WARC records themselves are in crawl-rate/documents/warc-records.ts.
 *
 * Both pipelines and the judge apply them in the same functions, so they agree on what is left out.
 * `REDIRECTS_MAX` is the exception: each follows redirects in its own way.
 *
 * What is found in one page or resource is one cell. HBase refuses cells of more than 10 MiB, and
 * three bytes in UTF-8 are the most that a character takes, escapes of JSON included. So the limits
 * of texts are in characters, and below three million.
 */

/** Bytes of a body without its encodings. */
export const BODY_BYTES_MAX: number = 4 * 2 ** 20;
/**
 * Each character of a page counts once for each element that is open there: the parser's time for a
 * tag grows with their number. A page ends where the sum is larger. Fewer: long pages that leave
 * thousands of elements open lose their ends; with this limit, 4 MiB may lie 1,000 deep. More: for
 * a hostile page an observer, and all else in its process, stands still for more than ten seconds.
 */
export const NESTING_MAX: number = 2 ** 32;
/** Characters of a URL. It is a part of row keys, which Bigtable limits to 4 KiB. */
export const URL_LENGTH_MAX = 1_024;
/**
 * Characters of the text of a page that searches find. Fewer: the ends of long pages are not found.
 * More: no room is left in its cell for the texts of links to it, and the page is parked.
 */
export const TEXT_LENGTH_MAX: number = 2 * 2 ** 20;
/** Redirects that are followed one after the other, as crawlers do. */
export const REDIRECTS_MAX = 5;
/** Distinct targets of the links of one page; the first ones count. */
export const LINKS_MAX = 5_000;
/** Different texts of the links from one page to one target; the first ones count. */
export const TEXTS_PER_LINK_MAX = 8;
/** Characters of all texts of the links of one page; the first ones count. */
export const TEXTS_LENGTH_MAX: number = 2 ** 20;
/** Selectors that a stylesheet hides or shows; the first ones count. */
export const HIDING_RULES_MAX = 10_000;
/** Stylesheets of one page, and as many scripts; the first ones count. */
export const RESOURCES_MAX = 200;
export const ANCHOR_LENGTH_MAX = 200;
export const TITLE_LENGTH_MAX = 300;
export const LANGUAGE_LENGTH_MAX = 35;
