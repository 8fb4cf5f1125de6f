/**
 * Link inversion: from "what a page links to" to "what links to a page", across redirects.
 *
 *     pages:links    ─▶ link inversion ─────▶ links ──────┐
 *     pages:redirect ─▶ redirect inversion ─▶ redirects ──┤ weakly
 *                                                         ▼
 *                                       pages:collect ─▶ collector ─▶ pages:sources, pages:texts
 *
 * The first two observers write pairs and mark the other end. The collector, in a later
 * transaction, reads all pairs that lead to a page: hundreds of links that are found at the same
 * time make it run once. It also registers the page with its sources (`users`), for the ranks to
 * spread.
 */
import type { Observer, Reader, Transaction } from '#engine';
import {
  type Anchor,
  anchorsOf,
  type OutgoingLink,
  mergeAnchors,
  REDIRECTS_MAX,
} from '../model/index.ts';
import {
  cellOf,
  notify,
  read,
  readPairs,
  readRow,
  settle,
  update,
  writePairs,
} from '#engine/recipes';
import {
  COLLECT,
  DOCUMENT,
  LINKED,
  LINKS,
  LINKS_TO,
  REDIRECT,
  REDIRECTED,
  REDIRECTS_TO,
  SOURCES,
  TEXTS,
  USERS,
} from './tables.ts';

export const linkInversion: Observer = {
  name: 'link-inversion',
  table: LINKS.table,
  column: LINKS.name,
  run: async (transaction, { row: source }) => {
    const [links, before] = await readRow(transaction, source, LINKS, LINKS_TO);
    const pairs = { before: pairsOf(before), after: pairsOf(links) };
    for (const target of writePairs(transaction, LINKED, source, pairs)) {
      notify(transaction, COLLECT, target);
    }
    await update(transaction, LINKS_TO, source, links);
    // What the source gives to each target depends on their number.
    if (links?.length !== before?.length) notify(transaction, SOURCES, source);
  },
};

function pairsOf(links: readonly OutgoingLink[] = []): ReadonlyMap<string, readonly string[]> {
  return new Map(links.map(({ target, texts }) => [target, texts]));
}

export const redirectInversion: Observer = {
  name: 'redirect-inversion',
  table: REDIRECT.table,
  column: REDIRECT.name,
  run: async (transaction, { row: source }) => {
    const [target, before] = await readRow(transaction, source, REDIRECT, REDIRECTS_TO);
    const pair = (url: string | undefined): ReadonlyMap<string, true> =>
      new Map(url === undefined ? [] : [[url, true]]);
    const pairs = { before: pair(before), after: pair(target) };
    for (const end of writePairs(transaction, REDIRECTED, source, pairs)) {
      notify(transaction, COLLECT, end);
    }
    await update(transaction, REDIRECTS_TO, source, target);
  },
};

export const collector: Observer = {
  name: 'collector',
  table: COLLECT.table,
  column: COLLECT.name,
  run: async (transaction, { row: url }) => {
    const [document, redirect, sourcesBefore] = await readRow(
      transaction,
      url,
      DOCUMENT,
      REDIRECT,
      SOURCES,
      TEXTS,
    );
    if (redirect !== undefined) {
      const end = await endOfRedirects(transaction, url);
      if (end !== undefined) notify(transaction, COLLECT, end);
    }
    // Most targets were not crawled: there is nothing to do, and nothing to lock. An overlapping
    // run that still sees a page here locks its document, and so conflicts with the deletion.
    if (document === undefined && redirect === undefined && sourcesBefore === undefined) return;
    if (document !== undefined) await transaction.lock(cellOf(DOCUMENT, url));
    const { sources, texts } = document === undefined ? {} : await collect(transaction, url);
    const pairs = { before: usesOf(sourcesBefore), after: usesOf(sources) };
    writePairs(transaction, USERS, url, pairs);
    await settle(transaction, SOURCES, url, sources);
    await settle(transaction, TEXTS, url, texts);
  },
};

function usesOf(sources: readonly string[] = []): ReadonlyMap<string, true> {
  return new Map(sources.map((source) => [source, true]));
}

interface Collected {
  readonly sources?: readonly string[];
  readonly texts?: readonly Anchor[];
}

/** All links to the page, and to what redirects to it, over at most `REDIRECTS_MAX` redirects. */
async function collect(transaction: Transaction, page: string): Promise<Collected> {
  const sources: string[] = [];
  const texts: (readonly Anchor[])[] = [];
  let urls: readonly string[] = [page];
  for (let redirects = 0; urls.length > 0; redirects++) {
    const next: string[] = [];
    for (const url of urls) {
      for (const [source, linkTexts] of await readPairs(transaction, LINKED, url)) {
        sources.push(source);
        texts.push(anchorsOf(linkTexts));
      }
      if (redirects === REDIRECTS_MAX) continue;
      for (const [source] of await readPairs(transaction, REDIRECTED, url)) next.push(source);
    }
    urls = next;
  }
  return { sources: sources.toSorted(), texts: mergeAnchors(texts) };
}

/** Where a URL leads in the end; undefined if nowhere. */
async function endOfRedirects(reader: Reader, url: string): Promise<string | undefined> {
  let end = url;
  for (let followed = 0; followed <= REDIRECTS_MAX; followed++) {
    const target = await read(reader, REDIRECT, end);
    if (target === undefined) return end;
    end = target;
  }
  return undefined;
}
