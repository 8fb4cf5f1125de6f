/**
 * The check of a web index: reads the tables, and says in sentences what violates an invariant.
 *
 * `liveFindings` is for any snapshot, also while a crawl is loading: a run of an observer is one
 * transaction, so what it writes together is there together. `restFindings` is for a snapshot in
 * which no observer has anything to do: then all that was derived is as it would be derived now.
 * `modelFindings` compares the same snapshot with what `indexOf` computes from the same captures,
 * page by page. This covers all invariants of the contents: no document is lost, no change of a
 * resource is missed, ranks are those of the graph.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Percolator, Reader } from '#engine';
import {
  type Anchor,
  type Capture,
  electCanonical,
  finalRank,
  indexOf,
  latestCaptures,
  mergeAnchors,
  type OutgoingLink,
  type RenderedPage,
  type Resource,
  type ServedPage,
  sharesOf,
  shownAnchors,
  type WebIndex,
} from '../model/index.ts';
import { cellOf, type ExportEntry, pairRow, type TypedColumn } from '#engine/recipes';
import {
  ANCHORS,
  CAPTURE,
  CLUSTER,
  DEPENDENTS,
  DEPENDS_ON,
  DOCUMENT,
  ELECTED,
  type Election,
  ENTRY,
  EXPORTED,
  FORM,
  LINKED,
  LINKS,
  LINKS_TO,
  MEMBERS,
  type PageDocument,
  RANK,
  REDIRECT,
  REDIRECTED,
  REDIRECTS_TO,
  RENDERED,
  RESOURCE,
  SERVED,
  SHARES,
  SOURCES,
  TEXTS,
  USERS,
} from '../percolator/tables.ts';

/** What violates the invariants that hold at every moment. Empty: all is well. */
export async function checkLive(percolator: Percolator): Promise<readonly string[]> {
  await using snapshot = await percolator.snapshot();
  return liveFindings(await readState(snapshot));
}

/**
 * What violates the invariants at rest, when all captures are loaded and no observer has anything
 * to do. Empty: all is well.
 */
export async function checkAtRest(
  percolator: Percolator,
  { captures, serving }: { readonly captures: readonly Capture[]; readonly serving: ServingState },
): Promise<readonly string[]> {
  await using snapshot = await percolator.snapshot();
  const state = await readState(snapshot);
  return [
    ...liveFindings(state),
    ...restFindings(state, serving),
    ...modelFindings(state, captures),
  ];
}

function modelFindings(state: IndexState, captures: readonly Capture[]): readonly string[] {
  const index = indexOf(captures);
  return [...captureFindings(state, captures), ...indexFindings(state, index)];
}

/** Bodies are compared by what is made of them. */
function captureFindings(state: IndexState, captures: readonly Capture[]): readonly string[] {
  const heads = (all: ReadonlyMap<string, Capture>): Map<string, unknown> =>
    new Map([...all].map(([url, { body, ...head }]) => [url, { ...head, bytes: body.length }]));
  return differences('the capture', heads(state.captures), heads(latestCaptures(captures)));
}

function indexFindings(state: IndexState, index: WebIndex): readonly string[] {
  const pages = [...index.pages];
  return [
    ...differences(
      'the links',
      state.links,
      new Map(pages.map(([url, page]) => [url, page.processed.links])),
    ),
    ...differences(
      'the rendered form',
      state.rendered,
      new Map(pages.map(([url, page]) => [url, page.rendered])),
    ),
    ...differences('the sources', state.sources, index.sources),
    ...differences(
      'the rank',
      state.ranks,
      new Map(pages.map(([url, page]) => [url, finalRank(page.ranks)])),
    ),
    ...differences(
      'the shares',
      state.shares,
      new Map(
        pages.map(([url, { ranks, processed }]) => [url, sharesOf(ranks, processed.links.length)]),
      ),
    ),
    ...differences('the cluster', state.elected, index.clusters),
    ...differences('the page to serve', state.served, index.served),
  ];
}

/** What holds in every snapshot. */
function liveFindings(state: IndexState): readonly string[] {
  const { pairs, remembered, clusters, sources } = state;
  const { dependsOn, redirectsTo, linksTo } = remembered;
  return [
    ...differences(
      'the membership',
      mapValues(pairs.members, () => true),
      pairsOf(clusters, (hash) => [[hash, true]]),
    ),
    ...differences(
      'the dependency',
      pairs.dependents,
      pairsOf(dependsOn, (resources) => resources.map((resource) => [resource, true])),
    ),
    ...differences(
      'the redirect',
      pairs.redirected,
      pairsOf(redirectsTo, (target) => [[target, true]]),
    ),
    ...differences(
      'the link',
      pairs.linked,
      pairsOf(linksTo, (links) => links.map(({ target, texts }) => [target, texts])),
    ),
    ...differences(
      'the use',
      pairs.users,
      pairsOf(sources, (list) => list.map((source) => [source, true])),
    ),
    ...differences(
      'the form',
      state.forms,
      mapValues(state.rendered, ({ hash }) => hash),
    ),
    ...kindFindings(state),
    ...queueFindings(state),
  ];
}

/** The rows of all pairs; the second half of each is a key of `remembered`. */
function pairsOf<T, V>(
  remembered: ReadonlyMap<string, T>,
  pairs: (value: T) => readonly (readonly [first: string, value: V])[],
): ReadonlyMap<string, V> {
  const rows = new Map<string, V>();
  for (const [second, value] of remembered) {
    for (const [first, pair] of pairs(value)) rows.set(pairRow(first, second), pair);
  }
  return rows;
}

/** A URL is a page with links, a resource, or a redirect. */
function kindFindings({ documents, links, resources, redirects }: IndexState): readonly string[] {
  const findings: string[] = [];
  const urls = new Set<string>();
  for (const cells of [documents, links, resources, redirects]) {
    for (const url of cells.keys()) urls.add(url);
  }
  for (const url of urls) {
    const isPage = documents.has(url);
    if (isPage !== links.has(url)) findings.push(`${url} has a document or links, and not both`);
    const kinds = [isPage, resources.has(url), redirects.has(url)].filter(Boolean).length;
    if (kinds !== 1) findings.push(`${url} is ${kinds} of page, resource and redirect`);
  }
  return findings;
}

function queueFindings({ entries, served, exported }: IndexState): readonly string[] {
  const findings: string[] = [];
  for (const [url, { kind, version }] of entries) {
    const isServed = served.has(url);
    if ((kind === 'put') !== isServed) {
      findings.push(`${url}: its entry says ${kind}, but ${isServed ? 'a' : 'no'} page is served`);
    }
    const told = exported.get(url) ?? 0;
    if (told > version) {
      findings.push(`version ${told} of ${url} was exported, but its entry has version ${version}`);
    }
  }
  return findings;
}

/** What a serving index says of itself. */
interface ServingState {
  readonly pages: ReadonlyMap<string, ServedPage>;
  /** The version of the last change, by URL; of removals, too. */
  readonly versions: ReadonlyMap<string, number>;
}

/** What holds at rest, as far as the tables alone can tell; the model says the rest. */
function restFindings(state: IndexState, serving: ServingState): readonly string[] {
  return [
    ...clusterFindings(state),
    ...anchorFindings(state),
    ...exportFindings(state),
    ...differences('the served page', serving.pages, state.served),
    ...differences('the served version', serving.versions, state.exported),
  ];
}

/** Each content has exactly one canonical page, of the highest rank. */
function clusterFindings({ forms, clusters, elected, ranks }: IndexState): readonly string[] {
  const expected = new Map<string, { canonical: string; members: readonly string[] }>();
  for (const [hash, group] of Map.groupBy(forms, ([, form]) => form)) {
    const members = group.map(([url]) => url).toSorted();
    const candidates = members.map((url) => ({ url, rank: ranks.get(url) ?? 0 }));
    expected.set(hash, { canonical: electCanonical(candidates) ?? '', members });
  }
  return [
    ...differences('the cluster', clusters, forms),
    ...differences('the election', elected, expected),
  ];
}

/** Each anchor is at the canonical page of its target, and nowhere else. */
function anchorFindings({ anchors, elected, texts }: IndexState): readonly string[] {
  const expected = new Map(
    [...elected.values()].map(({ canonical, members }) => [
      canonical,
      shownAnchors(mergeAnchors(members.map((url) => texts.get(url) ?? []))),
    ]),
  );
  return differences('the anchors', anchors, expected);
}

/** The served pages are exactly the canonical ones, and each entry was exported. */
function exportFindings({ elected, entries, served, exported }: IndexState): readonly string[] {
  const canonical = new Map([...elected.values()].map((one) => [one.canonical, one.canonical]));
  return [
    ...differences(
      'the canonical page',
      mapValues(served, ({ url }) => url),
      canonical,
    ),
    ...differences(
      'the exported version',
      exported,
      mapValues(entries, ({ version }) => version),
    ),
  ];
}

function mapValues<T, U>(map: ReadonlyMap<string, T>, change: (value: T) => U): Map<string, U> {
  return new Map([...map].map(([key, value]) => [key, change(value)]));
}

/** A list with thousands of equal findings helps no reader. */
const LISTED_MAX = 5;

/** One sentence for each of the first few keys whose values differ; a last one counts the rest. */
export function differences<T>(
  what: string,
  actual: ReadonlyMap<string, T>,
  expected: ReadonlyMap<string, T>,
): readonly string[] {
  const keys = new Set([...actual.keys(), ...expected.keys()]);
  const different = [...keys].filter(
    (key) => !isDeepStrictEqual(actual.get(key), expected.get(key)),
  );
  const sentences = different.slice(0, LISTED_MAX).map((key) => {
    const name = JSON.stringify(key.replace('\0', ' ← '));
    return `${what} of ${name} is ${inWords(actual.get(key))}, and should be ${inWords(expected.get(key))}`;
  });
  const more = different.length - sentences.length;
  return more > 0 ? [...sentences, `${what}: ${more} more`] : sentences;
}

function inWords(value: unknown): string {
  const text = JSON.stringify(value) ?? 'absent';
  return text.length > 300 ? `${text.slice(0, 300)}...` : text;
}

/* All tables of the web index as one snapshot sees them, in memory. */

/** A column by row. */
type CellsByRow<T> = ReadonlyMap<string, T>;

export interface IndexState {
  readonly captures: CellsByRow<Capture>;
  readonly documents: CellsByRow<PageDocument>;
  readonly links: CellsByRow<readonly OutgoingLink[]>;
  readonly resources: CellsByRow<Resource>;
  readonly redirects: CellsByRow<string>;
  readonly forms: CellsByRow<string>;
  readonly rendered: CellsByRow<RenderedPage>;
  readonly clusters: CellsByRow<string>;
  readonly sources: CellsByRow<readonly string[]>;
  readonly texts: CellsByRow<readonly Anchor[]>;
  readonly ranks: CellsByRow<number>;
  readonly shares: CellsByRow<readonly number[]>;
  readonly anchors: CellsByRow<readonly Anchor[]>;
  readonly elected: CellsByRow<Election>;
  readonly entries: CellsByRow<ExportEntry>;
  readonly served: CellsByRow<ServedPage>;
  readonly exported: CellsByRow<number>;
  /** What pages remember of the pairs that they have written. */
  readonly remembered: {
    readonly dependsOn: CellsByRow<readonly string[]>;
    readonly redirectsTo: CellsByRow<string>;
    readonly linksTo: CellsByRow<readonly OutgoingLink[]>;
  };
  /** By row, which joins the two halves of a pair (`pairRow`). */
  readonly pairs: {
    readonly dependents: CellsByRow<true>;
    readonly redirected: CellsByRow<true>;
    readonly linked: CellsByRow<readonly string[]>;
    readonly users: CellsByRow<true>;
    readonly members: CellsByRow<number>;
  };
}

async function readState(reader: Reader): Promise<IndexState> {
  const cells = <T>(column: TypedColumn<T>): Promise<CellsByRow<T>> => readColumn(reader, column);
  return {
    captures: await cells(CAPTURE),
    documents: await cells(DOCUMENT),
    links: await cells(LINKS),
    resources: await cells(RESOURCE),
    redirects: await cells(REDIRECT),
    forms: await cells(FORM),
    rendered: await cells(RENDERED),
    clusters: await cells(CLUSTER),
    sources: await cells(SOURCES),
    texts: await cells(TEXTS),
    ranks: await cells(RANK),
    shares: await cells(SHARES),
    anchors: await cells(ANCHORS),
    elected: await cells(ELECTED),
    entries: await cells(ENTRY),
    served: await cells(SERVED),
    exported: await cells(EXPORTED),
    remembered: {
      dependsOn: await cells(DEPENDS_ON),
      redirectsTo: await cells(REDIRECTS_TO),
      linksTo: await cells(LINKS_TO),
    },
    pairs: {
      dependents: await cells(DEPENDENTS),
      redirected: await cells(REDIRECTED),
      linked: await cells(LINKED),
      users: await cells(USERS),
      members: await cells(MEMBERS),
    },
  };
}

async function readColumn<T>(reader: Reader, column: TypedColumn<T>): Promise<CellsByRow<T>> {
  const { table, column: name } = cellOf(column, '');
  const cells = new Map<string, T>();
  for await (const { row, values } of reader.scan({ table, columns: [name] })) {
    const bytes = values.get(name);
    if (bytes !== undefined) cells.set(row, column.decode(bytes));
  }
  return cells;
}
