/**
 * Changes of a table for browsers, as server-sent events: what `new EventSource(url)` reads.
 *
 *     id: 1/...cursor          a change, or the timestamp up to which all have been sent
 *     event: change
 *     data: {"row":"Bob", ...}
 *
 * Browsers connect again on their own, and send the id of the last event that they have: the
 * changes go on there, and none is sent twice. If the changes since then have been collected, the
 * answer is 410, after which a browser gives up: the page reads what is there, and connects anew.
 *
 * For whatever takes a `Request` and gives a `Response`; `sendChanges` is for servers of node:http.
 * Whether the caller may read the table is for the program to decide, before it calls this.
 */
import { PercolatorError, unlessAborted } from '../base/index.ts';
import type { ChangeEvent, ChangesOptions } from './changes.ts';
import { changeJson } from './json.ts';

/** A database, of which only this is needed. */
export interface WithChanges {
  changes(table: string, options?: ChangesOptions): AsyncGenerator<ChangeEvent, void, undefined>;
}

/** What is needed of a `Request`. */
export interface EventsRequest {
  readonly headers: { get(name: string): string | null };
  readonly signal: AbortSignal;
}

/**
 * Milliseconds between two resolved timestamps for programs outside, while nothing changes: what
 * they are for is the cursor, and a connection that is not idle.
 */
export const RESOLVED_MS = 10_000;

const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-store' };

/**
 * Resolves with an answer that goes on until the browser leaves, or the database is closed.
 * @param options as of `changes`; `from` counts only for the first connection of a page
 */
export async function changesResponse(
  percolator: WithChanges,
  table: string,
  request: EventsRequest,
  options: ChangesOptions = {},
): Promise<Response> {
  const left = new AbortController();
  const started = await start(percolator, table, options, {
    lastId: request.headers.get('last-event-id'),
    left: [request.signal, left.signal],
  });
  if ('status' in started) return new Response(started.sentence, { status: started.status });
  const { texts, signal } = started;
  // Nothing may read the body any more, and what waits for a change ends by the signal only.
  signal.addEventListener('abort', () => void texts.return());
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { value, done } = await texts.next();
      if (done === true) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    cancel: () => left.abort('left'),
  });
  return new Response(body, { headers: HEADERS });
}

/** What is needed of the `IncomingMessage` of node:http. */
export interface IncomingEvents {
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
}

/** What is needed of its `ServerResponse`. */
export interface OutgoingEvents {
  readonly destroyed: boolean;
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  write(text: string): boolean;
  end(text?: string): unknown;
  on(event: 'close', listener: () => void): unknown;
  once(event: 'drain', listener: () => void): unknown;
}

/**
 * Sends changes as the answer to a request; resolves when the browser has left, `options.signal`
 * says so, or the database is closed.
 */
export async function sendChanges(
  percolator: WithChanges,
  table: string,
  { request, response }: { readonly request: IncomingEvents; readonly response: OutgoingEvents },
  options: ChangesOptions = {},
): Promise<void> {
  const left = new AbortController();
  response.on('close', () => left.abort('left'));
  if (response.destroyed) return; // The browser left before: that is not said again.
  const lastId = request.headers['last-event-id'];
  const started = await start(percolator, table, options, {
    lastId: typeof lastId === 'string' ? lastId : null,
    left: [left.signal],
  });
  if ('status' in started) {
    response.writeHead(started.status, { 'content-type': 'text/plain' });
    response.end(started.sentence);
    return;
  }
  response.writeHead(200, HEADERS);
  try {
    for await (const text of started.texts) {
      if (response.write(text)) continue;
      // A browser that does not read must not fill the memory.
      const drained = new Promise<void>((resolve) => response.once('drain', resolve));
      await unlessAborted(drained, started.signal).catch(() => undefined);
    }
  } finally {
    response.end();
  }
}

type Started =
  | { readonly texts: AsyncGenerator<string, void, undefined>; readonly signal: AbortSignal }
  | { readonly status: number; readonly sentence: string };

/** Waits for the first event: once the answer has begun, its status cannot tell any more. */
async function start(
  percolator: WithChanges,
  table: string,
  options: ChangesOptions,
  { lastId, left }: { readonly lastId: string | null; readonly left: readonly AbortSignal[] },
): Promise<Started> {
  const signal = AbortSignal.any([...left, ...(options.signal ? [options.signal] : [])]);
  try {
    const from = lastId === null || lastId === '' ? options.from : lastId;
    const { resolvedMs = RESOLVED_MS } = options;
    const more = { from, follow: true, resolvedMs, signal };
    const events = percolator.changes(table, { ...options, ...more });
    const first = await events.next();
    return { texts: textsOf(first, events), signal };
  } catch (error) {
    if (!(error instanceof PercolatorError)) throw error;
    return { status: STATUS[error.code] ?? 503, sentence: error.message };
  }
}

/** All others may pass: a browser tries again only after an answer that has begun. */
const STATUS: Partial<Record<PercolatorError['code'], number>> = {
  STALE_SNAPSHOT: 410,
  WRONG_DATABASE: 410,
  TABLE_NOT_FOUND: 404,
  INVALID_ARGUMENT: 400,
};

async function* textsOf(
  first: IteratorResult<ChangeEvent, void>,
  events: AsyncGenerator<ChangeEvent, void, undefined>,
): AsyncGenerator<string, void, undefined> {
  try {
    for (let next = first; next.done !== true; next = await events.next()) {
      const { kind, cursor } = next.value;
      yield `id: ${cursor}\nevent: ${kind}\ndata: ${JSON.stringify(changeJson(next.value))}\n\n`;
    }
  } catch (error) {
    // The browser connects again, and hears what it is then.
    if (!(error instanceof PercolatorError)) throw error;
  } finally {
    await events.return();
  }
}
