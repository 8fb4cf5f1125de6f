/**
 * The first chain: from captures to rendered pages, as the document processor and the rendering of
 * the incremental pipeline compute them.
 *
 *     read      at a URL: its latest capture, processed
 *     include   at a stylesheet or script: what the pages that include it need of it
 *     render    at a page: its form with all that it includes
 *
 * The bodies travel with their pages until they are rendered; what remains is text.
 */
import type { JobChain, MapReduceJob } from '#mapreduce';
// No job imports through the model's front door: each task of an outside engine loads all that is
// imported, and the door leads to the readers of crawls, too.
import {
  type Capture,
  decodeCapture,
  encodeCapture,
  kindOf,
  latestCaptures,
  redirectTarget,
} from '../model/capture.ts';
import { type OutgoingLink, type ProcessedPage, processPage } from '../model/process-page.ts';
import {
  describeResource,
  type RenderedPage,
  renderPage,
  type Resource,
} from '../model/render-page.ts';
import { type Addressed, messageJob } from './message-job.ts';

/** A capture as a message, in base64. */
export type CaptureLine = string;

/** The output. */
export type PageLine =
  | {
      readonly kind: 'page';
      readonly links: readonly OutgoingLink[];
      readonly rendered: RenderedPage;
      readonly capturedMs: number;
    }
  | RedirectLine;

interface RedirectLine {
  readonly kind: 'redirect';
  readonly target: string;
}

interface ReadPage {
  readonly kind: 'read';
  readonly capture: CaptureLine;
  readonly page: ProcessedPage;
}

type Read =
  | ReadPage
  | RedirectLine
  | { readonly kind: 'resource'; readonly resource: Resource }
  | { readonly kind: 'included'; readonly by: string };

type Included =
  | ReadPage
  | RedirectLine
  | { readonly kind: 'includes'; readonly url: string; readonly resource: Resource };

const JOBS = {
  read: () => messageJob<CaptureLine, CaptureLine, Read>(read),
  include: () => messageJob<Read, Read, Included>(include),
  render: () => messageJob<Included, Included, PageLine>(render),
} as const;

export const chain: readonly unknown[] = Object.keys(JOBS);
export const PAGE_JOBS: JobChain = { url: import.meta.url, parameters: chain };

export function createJob(parameters: unknown): MapReduceJob {
  return JOBS[parameters as keyof typeof JOBS]();
}

export function captureLine(capture: Capture): CaptureLine {
  return encodeCapture(capture).toString('base64');
}

function* read(url: string, lines: readonly CaptureLine[]): Generator<Addressed<Read>> {
  const captures = lines.map((line) => decodeCapture(Buffer.from(line, 'base64')));
  const latest = latestCaptures(captures).get(url);
  if (latest === undefined) return;
  const kind = kindOf(latest);
  if (kind === 'resource') yield [url, { kind, resource: describeResource(latest) }];
  if (kind === 'redirect') yield [url, { kind, target: redirectTarget(latest) ?? '' }];
  if (kind !== 'page') return;
  const page = processPage(latest);
  yield [url, { kind: 'read', capture: captureLine(latest), page }];
  for (const resource of [...page.stylesheets, ...page.scripts]) {
    yield [resource, { kind: 'included', by: url }];
  }
}

function* include(url: string, messages: readonly Read[]): Generator<Addressed<Included>> {
  const found = messages.find((message) => message.kind === 'resource');
  for (const message of messages) {
    if (message.kind === 'read' || message.kind === 'redirect') yield [url, message];
    if (message.kind !== 'included' || found === undefined) continue;
    yield [message.by, { kind: 'includes', url, resource: found.resource }];
  }
}

function* render(url: string, messages: readonly Included[]): Generator<Addressed<PageLine>> {
  const included = messages.filter((message) => message.kind === 'includes');
  const resources = new Map(included.map((message) => [message.url, message.resource]));
  for (const message of messages) {
    if (message.kind === 'redirect') yield [url, message];
    if (message.kind !== 'read') continue;
    const capture = decodeCapture(Buffer.from(message.capture, 'base64'));
    const rendered = renderPage(capture, message.page, (resource) => resources.get(resource));
    const { links } = message.page;
    yield [url, { kind: 'page', links, rendered, capturedMs: capture.timeMs }];
  }
}
