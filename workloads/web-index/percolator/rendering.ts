/**
 * Rendering: the case of the paper's introduction. The form of a page depends on other documents,
 * and when one of those changes, just the pages that include it are rendered again.
 *
 *     pages:resource ─▶ dependents ─ ─ weakly ─ ─▶ pages:document ─▶ pages:form
 *
 * The notifications are weak: a thousand pages that share a stylesheet are marked without a lock,
 * and their values are not written unless their form changes.
 */
import type { Observer } from '#engine';
import { kindOf, renderPage, type RenderedPage, type Resource } from '../model/index.ts';
import type { Transaction } from '#engine';
import { cellOf, notify, readMany, readRow, settle } from './columns.ts';
import { hashOfContent } from './document-processor.ts';
import { readPairs } from './pairs.ts';
import {
  AWAITED,
  CAPTURE,
  DEPENDENTS,
  DOCUMENT,
  FORM,
  type PageDocument,
  PUBLISH,
  RENDERED,
  RESOURCE,
} from './tables.ts';

export const resourceWatcher: Observer = {
  name: 'resource-watcher',
  table: RESOURCE.table,
  column: RESOURCE.name,
  run: async (transaction, { row: resource }) => {
    for (const [page] of await readPairs(transaction, DEPENDENTS, resource)) {
      notify(transaction, DOCUMENT, page);
    }
  },
};

export const renderer: Observer = {
  name: 'renderer',
  table: DOCUMENT.table,
  column: DOCUMENT.name,
  run: async (transaction, { row: url }) => {
    const rendered = await render(transaction, url);
    await settle(transaction, AWAITED, url, rendered === 'not yet' ? true : undefined);
    if (rendered === 'not yet') return;
    if (!(await settle(transaction, FORM, url, rendered?.hash))) {
      notify(transaction, PUBLISH, url); // For the time of the capture.
      return;
    }
    if (rendered === undefined) transaction.delete(cellOf(RENDERED, url));
    else transaction.set(cellOf(RENDERED, url), RENDERED.encode(rendered));
  },
};

/** 'Not yet' while the document is of an earlier capture: its processor runs the renderer again. */
async function render(
  transaction: Transaction,
  url: string,
): Promise<RenderedPage | 'not yet' | undefined> {
  const [capture, document] = await readRow(transaction, url, CAPTURE, DOCUMENT);
  if (capture === undefined || document === undefined) return undefined;
  if (kindOf(capture) !== 'page' || hashOfContent(capture) !== document.contentHash) {
    return 'not yet';
  }
  const resources = await readResources(transaction, document);
  return renderPage(capture, document, (resource) => resources.get(resource));
}

async function readResources(
  transaction: Transaction,
  { stylesheets, scripts }: PageDocument,
): Promise<ReadonlyMap<string, Resource | undefined>> {
  const urls = [...new Set([...stylesheets, ...scripts])];
  const resources = await readMany(transaction, RESOURCE, urls);
  return new Map(urls.map((url, i) => [url, resources[i]]));
}
