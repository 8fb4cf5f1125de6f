/**
 * The tables of the web index.
 *
 *     pages      row: URL              what was captured there, and all that is known of the page
 *     dependents row: resource\0page   the page includes the stylesheet or script
 *     redirects  row: target\0source   the source redirects to the target
 *     links      row: target\0source   the source links to the target, with these texts
 *     users      row: source\0page     the page's rank depends on the source's
 *     members    row: hash\0page       the page is in the cluster
 *     clusters   row: hash             the election of the canonical URL
 *     exports    row: URL              what is to be served under it, and what was told to the index
 *
 * Columns that hold no value, and are only notified, are named after what the observer will do.
 */
import type { Percolator } from '#engine';
import {
  type Anchor,
  type Capture,
  decodeCapture,
  encodeCapture,
  type OutgoingLink,
  type ProcessedPage,
  type RenderedPage,
  type Resource,
  type ServedPage,
} from '../model/index.ts';
import { type ExportEntry, ExportQueue, jsonColumn, type TypedColumn } from '#engine/recipes';

const PAGES = 'pages';
const CLUSTERS = 'clusters';
const EXPORT_TABLE = 'exports';

/** What the document processor has found in a page, without its links. */
export interface PageDocument extends Omit<ProcessedPage, 'links'> {
  /** The hash of the captured bytes and their type: the renderer compares it with its capture's. */
  readonly contentHash: string;
}

/** What the loader and the publisher need of a capture. */
export type Captured = Pick<Capture, 'timeMs' | 'ordinal'>;

/** The cluster as elected. */
export interface Election {
  readonly canonical: string;
  readonly members: readonly string[];
}

/** Written by the loader. */
export const CAPTURE: TypedColumn<Capture> = {
  table: PAGES,
  name: 'capture',
  encode: encodeCapture,
  decode: decodeCapture,
};
export const CAPTURED: TypedColumn<Captured> = jsonColumn(PAGES, 'captured');

/** Written by the document processor: a document and links, a resource, a redirect, or nothing. */
export const DOCUMENT: TypedColumn<PageDocument> = jsonColumn(PAGES, 'document');
export const RESOURCE: TypedColumn<Resource> = jsonColumn(PAGES, 'resource');
export const REDIRECT: TypedColumn<string> = jsonColumn(PAGES, 'redirect');
export const LINKS: TypedColumn<readonly OutgoingLink[]> = jsonColumn(PAGES, 'links');
/** The resources for which the page has a row in `dependents`. */
export const DEPENDS_ON: TypedColumn<readonly string[]> = jsonColumn(PAGES, 'depends-on');

/** Written by the renderer: the hash of the rendered form, and the form itself. */
export const FORM: TypedColumn<string> = jsonColumn(PAGES, 'form');
export const RENDERED: TypedColumn<RenderedPage> = jsonColumn(PAGES, 'rendered');
/** The renderer has found a capture without its document, and is to run again. */
export const AWAITED: TypedColumn<true> = jsonColumn(PAGES, 'awaited');
/** The hash of the cluster in which the page is a member. */
export const CLUSTER: TypedColumn<string> = jsonColumn(PAGES, 'cluster');
/** The target and the links for which the page has rows in `redirects` and `links`. */
export const REDIRECTS_TO: TypedColumn<string> = jsonColumn(PAGES, 'redirects-to');
export const LINKS_TO: TypedColumn<readonly OutgoingLink[]> = jsonColumn(PAGES, 'links-to');

/** No value: links or redirects to the URL have changed, whether it is a page, or its redirect. */
export const COLLECT: TypedColumn<never> = jsonColumn(PAGES, 'collect');
/** The pages that link to the page, once per link, and the texts of the links. */
export const SOURCES: TypedColumn<readonly string[]> = jsonColumn(PAGES, 'sources');
export const TEXTS: TypedColumn<readonly Anchor[]> = jsonColumn(PAGES, 'texts');
/** The page's rank at the last level, and what it gives to each page that it links to, by level. */
export const RANK: TypedColumn<number> = jsonColumn(PAGES, 'rank');
export const SHARES: TypedColumn<readonly number[]> = jsonColumn(PAGES, 'shares');
/** No value: what decides the page's anchors has changed. */
export const PLACE: TypedColumn<never> = jsonColumn(PAGES, 'place');
/** The anchors of a canonical page; other pages have none. */
export const ANCHORS: TypedColumn<readonly Anchor[]> = jsonColumn(PAGES, 'anchors');
/** No value: what is served under the URL may have changed. */
export const PUBLISH: TypedColumn<never> = jsonColumn(PAGES, 'publish');

/** No value: the members, or the rank of one of them, have changed. */
export const VOTE: TypedColumn<never> = jsonColumn(CLUSTERS, 'vote');
export const ELECTED: TypedColumn<Election> = jsonColumn(CLUSTERS, 'elected');
/** The members that the election has seen, each with when it had joined. */
export const JOINED: TypedColumn<readonly (readonly [url: string, joined: number])[]> = jsonColumn(
  CLUSTERS,
  'joined',
);

/** What is served. The serving index can be rebuilt from this column and `ENTRY`. */
export const SERVED: TypedColumn<ServedPage> = jsonColumn(EXPORT_TABLE, 'served');
export const EXPORTS: ExportQueue<ServedPage> = new ExportQueue(SERVED);
export const ENTRY: TypedColumn<ExportEntry> = EXPORTS.entry;
/** The version that the serving index was last told. */
export const EXPORTED: TypedColumn<number> = EXPORTS.exported;

export const DEPENDENTS: TypedColumn<true> = jsonColumn('dependents', 'includes');
export const REDIRECTED: TypedColumn<true> = jsonColumn('redirects', 'redirects');
export const LINKED: TypedColumn<readonly string[]> = jsonColumn('links', 'texts');
export const USERS: TypedColumn<true> = jsonColumn('users', 'uses');
/** When the page joined: the start timestamp of the transaction. */
export const MEMBERS: TypedColumn<number> = jsonColumn('members', 'member');

const OBSERVED = [
  CAPTURE,
  DOCUMENT,
  RESOURCE,
  REDIRECT,
  LINKS,
  FORM,
  COLLECT,
  SOURCES,
  TEXTS,
  RANK,
  SHARES,
  PLACE,
  PUBLISH,
  VOTE,
  ENTRY,
];
const OBSERVED_TABLES = [PAGES, CLUSTERS, EXPORT_TABLE];
const PAIR_TABLES = [DEPENDENTS, REDIRECTED, LINKED, USERS, MEMBERS].map(({ table }) => table);

/** Harmless if they exist. */
export async function createTables(percolator: Percolator): Promise<void> {
  for (const table of OBSERVED_TABLES) {
    const columns = OBSERVED.filter((column) => column.table === table);
    await percolator.createTable(table, { observedColumns: columns.map(({ name }) => name) });
  }
  for (const table of PAIR_TABLES) await percolator.createTable(table);
}
