/**
 * The search page, served to browsers of this machine.
 *
 *     GET /?q=words&page=2   the page, complete without its script
 *     GET /status            the state of loading, as server-sent events
 *     GET /style.css, /page.js
 *
 * Two kinds of strangers are kept out:
 *
 * - the pages of a crawl: whatever they hold is shown as text, the policy forbids scripts that are
 *   not /page.js, and only links to http and https are links;
 * - other sites in the same browser: the server listens on the loopback interface alone, and
 *   answers only if the request names it as its host, so that a name of another site that suddenly
 *   means this machine (DNS rebinding) reads nothing.
 *
 * It changes nothing, knows no users, and keeps no history.
 */
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pageColors, UsageError } from '#results';
import type { IndexReader } from '../serving/serving-index.ts';
import type { LoadProgress } from '../loading/load-status.ts';
import { errorPage, RESULTS_PER_PAGE, searchPage, startSearchPage } from './search-page.ts';

const HOST = '127.0.0.1';
/** A query is cut to a thousand characters; Node refuses a request with a longer head than this. */
const HEADER_BYTES_MAX = 64 * 1024;
/** The time between two states of loading. Shorter: the browser is busy with its panel. */
const STATUS_MS = 250;

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

export interface SearchServer extends AsyncDisposable {
  /** For a browser. */
  readonly url: string;
}

export interface SearchServerOptions {
  readonly index: IndexReader;
  readonly progress: LoadProgress;
  /** 0 (default): a free one. */
  readonly port?: number | undefined;
}

/** @throws UsageError if the port is taken */
export async function openSearchServer(options: SearchServerOptions): Promise<SearchServer> {
  const site = new Site(options);
  const server = createServer({ maxHeaderSize: HEADER_BYTES_MAX }, (request, response) =>
    site.answer(request, response),
  );
  server.on('clientError', (error, socket) => {
    const isTooLong = (error as NodeJS.ErrnoException).code === 'HPE_HEADER_OVERFLOW';
    const status = isTooLong ? '431 Request Header Fields Too Large' : '400 Bad Request';
    if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
  });
  const port = await listen(server, options.port ?? 0);
  site.hosts = hostsOf(port);
  return {
    url: `http://${HOST}:${port}/`,
    [Symbol.asyncDispose]: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections(); // The connections of panels stay open otherwise.
      await closed;
    },
  };
}

const NAMES = [HOST, 'localhost'];
/** A browser leaves this port out of the name of the host. */
const USUAL_PORT = 80;

/** What a request may name as its host. */
export function hostsOf(port: number): readonly string[] {
  return [...(port === USUAL_PORT ? NAMES : []), ...NAMES.map((name) => `${name}:${port}`)];
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, HOST);
  try {
    await once(server, 'listening');
  } catch (cause) {
    const reason =
      (cause as NodeJS.ErrnoException).code === 'EADDRINUSE' ? 'is in use' : 'cannot be used';
    throw new UsageError(`Port ${port} of ${HOST} ${reason}; --port names another.`, { cause });
  }
  return (server.address() as AddressInfo).port;
}

class Site {
  /** The names under which the server answers. */
  hosts: readonly string[] = [];
  readonly #index: IndexReader;
  readonly #progress: LoadProgress;
  readonly #files: ReadonlyMap<string, readonly [type: string, content: string]>;

  constructor({ index, progress }: SearchServerOptions) {
    this.#index = index;
    this.#progress = progress;
    const style = pageColors() + readFileSync(join(import.meta.dirname, 'style.css'), 'utf8');
    this.#files = new Map([
      ['/style.css', ['text/css', style]],
      // The text of a function is JavaScript: Node has stripped its types.
      ['/page.js', ['text/javascript', `(${String(startSearchPage)})();`]],
    ]);
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    try {
      this.#route(request, response);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (response.headersSent) response.destroy();
      else send(response, 500, 'text/html', errorPage('The search failed', reason));
    }
  }

  #route(request: IncomingMessage, response: ServerResponse): void {
    if (!this.hosts.includes(request.headers.host ?? '')) {
      return send(response, 421, 'text/plain', `This server answers only as ${this.hosts[0]}.\n`);
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return send(response, 405, 'text/plain', 'Only GET and HEAD are allowed.\n');
    }
    const asked = request.url ?? '';
    const url = asked.startsWith('/') ? URL.parse(asked, `http://${this.hosts[0]}`) : null;
    const path = url?.pathname ?? '';
    const [type, content] = this.#files.get(path) ?? [];
    if (type !== undefined) return send(response, 200, type, content ?? '');
    if (path === '/status') return this.#tellStatus(response);
    if (path !== '/' || url === null) {
      return send(response, 404, 'text/html', errorPage('Not found', 'No such page is here.'));
    }
    return send(response, 200, 'text/html', this.#page(url.searchParams));
  }

  #page(parameters: URLSearchParams): string {
    const query = parameters.get('q') ?? '';
    const given = parameters.get('page') ?? '';
    const page = /^[1-9]\d{0,8}$/.test(given) ? Number(given) : 1;
    const range = { limit: RESULTS_PER_PAGE, offset: (page - 1) * RESULTS_PER_PAGE };
    const startedMs = performance.now();
    const found = query.trim() === '' ? null : this.#index.search(query, range);
    const ms = performance.now() - startedMs;
    const { status } = this.#progress;
    return searchPage({ query, page, found, ms, documents: this.#index.count(), status });
  }

  /** The state now, and each later one, not more often than STATUS_MS. */
  #tellStatus(response: ServerResponse): void {
    response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' });
    if (response.req.method === 'HEAD') {
      response.end();
      return;
    }
    let timer: NodeJS.Timeout | undefined;
    const tell = (): void => {
      timer = undefined;
      response.write(`data: ${JSON.stringify(this.#progress.status)}\n\n`);
    };
    const unwatch = this.#progress.watch(() => {
      timer ??= setTimeout(tell, STATUS_MS);
    });
    response.on('close', () => {
      unwatch();
      clearTimeout(timer);
    });
    tell();
  }
}

function send(response: ServerResponse, status: number, type: string, content: string): void {
  const bytes = Buffer.from(content);
  const length = { 'content-type': `${type}; charset=utf-8`, 'content-length': bytes.length };
  response.writeHead(status, { ...HEADERS, ...length });
  response.end(response.req.method === 'HEAD' ? undefined : bytes);
}
