/**
 * The invariants of the web index, as sentences about what violates them.
 *
 * `liveFindings` is for any snapshot, also while a crawl is loading: a run of an observer is one
 * transaction, so what it writes together is there together. `restFindings` is for a snapshot in
 * which no observer has anything to do: then all that was derived is as it would be derived now.
 */
import { electCanonical, mergeAnchors, type ServedPage, shownAnchors } from '../model/index.ts';
import { pairRow } from '../percolator/pairs.ts';
import { differences } from './differences.ts';
import type { IndexState } from './state.ts';

/** What holds in every snapshot. */
export function liveFindings(state: IndexState): readonly string[] {
  const { pairs, remembered, clusters, sources } = state;
  const { dependsOn, redirectsTo, linksTo } = remembered;
  return [
    ...differences(
      'the membership',
      pairs.members,
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
export interface ServingState {
  readonly pages: ReadonlyMap<string, ServedPage>;
  /** The version of the last change, by URL; of removals, too. */
  readonly versions: ReadonlyMap<string, number>;
}

/** What holds at rest, as far as the tables alone can tell; the model says the rest. */
export function restFindings(state: IndexState, serving: ServingState): readonly string[] {
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
