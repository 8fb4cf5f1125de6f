/**
 * Documents, from the capture to the rendered form.
 *
 * The document processor finds out what a capture is, and what is in it:
 *
 *     pages:capture ─▶ document and links, if it is a page
 *                      resource, if it is a stylesheet or a script
 *                      redirect, if it leads elsewhere          nothing, if the page is gone
 *
 * A value that stays the same is not written. So after a recrawl of a page that has not changed,
 * only the time of the capture is served anew.
 *
 * It also registers the page with the resources that it includes. The renderer reads these in a
 * later transaction, and that order is what makes it sound: a resource that changes before the
 * registration is seen by the renderer, and one that changes after it finds the page registered.
 */
import { createHash } from 'node:crypto';
import type { Observer, Transaction } from '#engine';
import {
  type Capture,
  describeResource,
  kindOf,
  type OutgoingLink,
  processPage,
  redirectTarget,
  type RenderedPage,
  renderPage,
  type Resource,
} from '../model/index.ts';
import {
  cellOf,
  notify,
  read,
  readMany,
  readPairs,
  readRow,
  settle,
  update,
  writePairs,
} from '#engine/recipes';
import {
  AWAITED,
  CAPTURE,
  COLLECT,
  DEPENDENTS,
  DEPENDS_ON,
  DOCUMENT,
  FORM,
  LINKS,
  type PageDocument,
  PUBLISH,
  REDIRECT,
  RENDERED,
  RESOURCE,
} from './tables.ts';

export const documentProcessor: Observer = {
  name: 'document-processor',
  table: CAPTURE.table,
  column: CAPTURE.name,
  run: async (transaction, { row: url }) => {
    // One read of the row: the last three columns are for `update` and `register`.
    const [capture, before, redirectBefore, awaited] = await readRow(
      transaction,
      url,
      CAPTURE,
      DOCUMENT,
      REDIRECT,
      AWAITED,
      LINKS,
      RESOURCE,
      DEPENDS_ON,
    );
    if (capture === undefined) return;
    const { document, links, resource, redirect } = process(capture);
    const hasChanged = await update(transaction, DOCUMENT, url, document);
    await update(transaction, LINKS, url, links);
    await update(transaction, RESOURCE, url, resource);
    await update(transaction, REDIRECT, url, redirect);
    await register(transaction, url, document);
    const changesKind = (before === undefined) !== (document === undefined);
    if (changesKind || redirectBefore !== redirect) notify(transaction, COLLECT, url);
    // If more than the time of the capture has changed, the renderer goes on.
    if (document !== undefined && !hasChanged) await serveTime(transaction, url, awaited === true);
  },
};

/** Has the publisher serve the time of the capture, or the renderer run if that is waiting. */
async function serveTime(transaction: Transaction, url: string, isAwaited: boolean): Promise<void> {
  await transaction.lock(cellOf(AWAITED, url)); // A renderer that begins to wait now conflicts.
  notify(transaction, isAwaited ? DOCUMENT : PUBLISH, url);
}

interface Processed {
  readonly document?: PageDocument;
  readonly links?: readonly OutgoingLink[];
  readonly resource?: Resource;
  readonly redirect?: string | undefined;
}

function process(capture: Capture): Processed {
  const kind = kindOf(capture);
  if (kind === 'page') {
    const { links, ...document } = processPage(capture);
    return { document: { ...document, contentHash: hashOfContent(capture) }, links };
  }
  if (kind === 'resource') return { resource: describeResource(capture) };
  return kind === 'redirect' ? { redirect: redirectTarget(capture) } : {};
}

/** The hash of all that the renderer reads of a capture: the content type may name the charset. */
function hashOfContent({ contentType, body }: Capture): string {
  return createHash('sha256').update(`${contentType}\0`).update(body).digest('base64url');
}

async function register(
  transaction: Transaction,
  url: string,
  document: PageDocument | undefined,
): Promise<void> {
  const includes = new Set([...(document?.stylesheets ?? []), ...(document?.scripts ?? [])]);
  const before = (await read(transaction, DEPENDS_ON, url)) ?? [];
  const pairs = (resources: Iterable<string>): ReadonlyMap<string, true> =>
    new Map([...resources].map((resource) => [resource, true]));
  writePairs(transaction, DEPENDENTS, url, { before: pairs(before), after: pairs(includes) });
  await update(transaction, DEPENDS_ON, url, includes.size === 0 ? undefined : [...includes]);
}

/*
 * Rendering: the case of the paper's introduction. The form of a page depends on other documents,
 * and when one of those changes, just the pages that include it are rendered again.
 *
 *     pages:resource ─▶ dependents ─ ─ weakly ─ ─▶ pages:document ─▶ pages:form
 *
 * The notifications are weak: a thousand pages that share a stylesheet are marked without a lock,
 * and their values are not written unless their form changes.
 */

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
