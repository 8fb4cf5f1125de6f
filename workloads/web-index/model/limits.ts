/**
 * The limits that keep a hostile crawl from costing more than one logged record each.
 *
 * Both pipelines and the judge apply them in the same functions, so they agree on what is left out.
 */

/** Bytes of the head of a WARC record. Longer: no URL of interest is in it. */
export const HEAD_BYTES_MAX = 65_536;
/** Bytes of a record, with the headers of its response. Longer ones are skipped, not held. */
export const RECORD_BYTES_MAX: number = 8 * 2 ** 20;
/** Bytes of a body without its encodings. Both stores take rows of this size. */
export const BODY_BYTES_MAX: number = 4 * 2 ** 20;
/** Characters of a URL. It is a part of row keys, which Bigtable limits to 4 KiB. */
export const URL_LENGTH_MAX = 1_024;
/** Redirects that are followed one after the other, as crawlers do. */
export const REDIRECTS_MAX = 5;
/** Distinct targets of the links of one page; the first ones count. */
export const LINKS_MAX = 5_000;
/** Different texts of the links from one page to one target; the first ones count. */
export const TEXTS_PER_LINK_MAX = 8;
/** Stylesheets and scripts of one page; the first ones count. */
export const RESOURCES_MAX = 200;
export const ANCHOR_LENGTH_MAX = 200;
export const TITLE_LENGTH_MAX = 300;
export const LANGUAGE_LENGTH_MAX = 35;
