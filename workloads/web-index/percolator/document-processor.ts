/**
 * The document processor: what a capture is, and what is in it.
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
  type Link,
  processPage,
  redirectTarget,
  type Resource,
} from '../model/index.ts';
import { cellOf, notify, read, readRow, update } from './columns.ts';
import { writePairs } from './pairs.ts';
import {
  AWAITED,
  CAPTURE,
  COLLECT,
  DEPENDENTS,
  DEPENDS_ON,
  DOCUMENT,
  LINKS,
  type PageDocument,
  PUBLISH,
  REDIRECT,
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
  readonly links?: readonly Link[];
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
export function hashOfContent({ contentType, body }: Capture): string {
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
