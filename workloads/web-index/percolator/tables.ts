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
  type Link,
  type ProcessedPage,
  type RenderedPage,
  type Resource,
  type ServedPage,
} from '../model/index.ts';
import { type Column, jsonColumn } from './columns.ts';

const PAGES = 'pages';
const CLUSTERS = 'clusters';
const EXPORTS = 'exports';

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

/** The state of an export: what the serving index has to do. */
export interface ExportEntry {
  readonly kind: 'put' | 'remove';
  /** Grows with each entry of the row: the start timestamp of the transaction that wrote it. */
  readonly version: number;
  /** The hash of the served page; empty for a removal. */
  readonly digest: string;
}

/** Written by the loader. */
export const CAPTURE: Column<Capture> = {
  table: PAGES,
  name: 'capture',
  encode: encodeCapture,
  decode: decodeCapture,
};
export const CAPTURED: Column<Captured> = jsonColumn(PAGES, 'captured');

/** Written by the document processor: a document and links, a resource, a redirect, or nothing. */
export const DOCUMENT: Column<PageDocument> = jsonColumn(PAGES, 'document');
export const RESOURCE: Column<Resource> = jsonColumn(PAGES, 'resource');
export const REDIRECT: Column<string> = jsonColumn(PAGES, 'redirect');
export const LINKS: Column<readonly Link[]> = jsonColumn(PAGES, 'links');
/** The resources for which the page has a row in `dependents`. */
export const DEPENDS_ON: Column<readonly string[]> = jsonColumn(PAGES, 'depends-on');

/** Written by the renderer: the hash of the rendered form, and the form itself. */
export const FORM: Column<string> = jsonColumn(PAGES, 'form');
export const RENDERED: Column<RenderedPage> = jsonColumn(PAGES, 'rendered');
/** The renderer has found a capture without its document, and is to run again. */
export const AWAITED: Column<true> = jsonColumn(PAGES, 'awaited');
/** The hash of the cluster in which the page is a member. */
export const CLUSTER: Column<string> = jsonColumn(PAGES, 'cluster');
/** The target and the links for which the page has rows in `redirects` and `links`. */
export const REDIRECTS_TO: Column<string> = jsonColumn(PAGES, 'redirects-to');
export const LINKS_TO: Column<readonly Link[]> = jsonColumn(PAGES, 'links-to');

/** No value: links or redirects to the URL have changed, whether it is a page, or its redirect. */
export const COLLECT: Column<never> = jsonColumn(PAGES, 'collect');
/** The pages that link to the page, once per link, and the texts of the links. */
export const SOURCES: Column<readonly string[]> = jsonColumn(PAGES, 'sources');
export const TEXTS: Column<readonly Anchor[]> = jsonColumn(PAGES, 'texts');
/** The page's rank at the last level, and what it gives to each page that it links to, by level. */
export const RANK: Column<number> = jsonColumn(PAGES, 'rank');
export const SHARES: Column<readonly number[]> = jsonColumn(PAGES, 'shares');
/** No value: what decides the page's anchors has changed. */
export const PLACE: Column<never> = jsonColumn(PAGES, 'place');
/** The anchors of a canonical page; other pages have none. */
export const ANCHORS: Column<readonly Anchor[]> = jsonColumn(PAGES, 'anchors');
/** No value: what is served under the URL may have changed. */
export const PUBLISH: Column<never> = jsonColumn(PAGES, 'publish');

/** No value: the members, or the rank of one of them, have changed. */
export const VOTE: Column<never> = jsonColumn(CLUSTERS, 'vote');
export const ELECTED: Column<Election> = jsonColumn(CLUSTERS, 'elected');

export const ENTRY: Column<ExportEntry> = jsonColumn(EXPORTS, 'entry');
/** The page of an entry that puts one. The serving index can be rebuilt from this column. */
export const SERVED: Column<ServedPage> = jsonColumn(EXPORTS, 'served');
/** The version that the serving index was last told. */
export const EXPORTED: Column<number> = jsonColumn(EXPORTS, 'exported');

export const DEPENDENTS: Column<true> = jsonColumn('dependents', 'includes');
export const REDIRECTED: Column<true> = jsonColumn('redirects', 'redirects');
export const LINKED: Column<readonly string[]> = jsonColumn('links', 'texts');
export const USERS: Column<true> = jsonColumn('users', 'uses');
export const MEMBERS: Column<true> = jsonColumn('members', 'member');

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
const OBSERVED_TABLES = [PAGES, CLUSTERS, EXPORTS];
const PAIR_TABLES = [DEPENDENTS, REDIRECTED, LINKED, USERS, MEMBERS].map(({ table }) => table);

/** Harmless if they exist. */
export async function createTables(percolator: Percolator): Promise<void> {
  for (const table of OBSERVED_TABLES) {
    const columns = OBSERVED.filter((column) => column.table === table);
    await percolator.createTable(table, { observedColumns: columns.map(({ name }) => name) });
  }
  for (const table of PAIR_TABLES) await percolator.createTable(table);
}
