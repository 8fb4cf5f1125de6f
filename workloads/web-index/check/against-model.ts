/**
 * Compares the tables at rest with the model, page by page: what `indexOf` computes from the same
 * captures. This covers all invariants of the contents: no document is lost, no change of a
 * resource is missed, ranks are those of the graph.
 */
import {
  type Capture,
  finalRank,
  indexOf,
  latestCaptures,
  sharesOf,
  type WebIndex,
} from '../model/index.ts';
import { differences } from './differences.ts';
import type { IndexState } from './state.ts';

export function modelFindings(state: IndexState, captures: readonly Capture[]): readonly string[] {
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
