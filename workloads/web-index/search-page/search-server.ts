/**
 * The search page, served to browsers of this machine.
 *
 *     GET /?q=words&page=2   the page, complete without its script
 *     GET /status            the state of loading, as server-sent events
 *     GET /style.css, /page.js
 *
 * Two kinds of strangers are kept out: other sites in the same browser (loopback-server.ts), and
 * the pages of a crawl. Whatever they hold is shown as text, the policy forbids scripts other than
 * /page.js, and only links to http and https are links.
 *
 * It changes nothing, knows no users, and keeps no history.
 */
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pageColors } from '#results';
import {
  beginEvents,
  type LoopbackServer,
  openLoopbackServer,
  send as sendContent,
} from '../../harness/loopback-server.ts';
import type { IndexReader } from '../serving/serving-index.ts';
import type { LoadProgress } from '../loading/load-status.ts';
import { errorPage, RESULTS_PER_PAGE, searchPage, startSearchPage } from './search-page.ts';

/** The time between two states of loading. Shorter: the browser is busy with its panel. */
const STATUS_MS = 250;

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

export type SearchServer = LoopbackServer;

export interface SearchServerOptions {
  readonly index: IndexReader;
  readonly progress: LoadProgress;
  /** 0 (default): a free one. */
  readonly port?: number | undefined;
}

/** @throws UsageError if the port is taken */
export async function openSearchServer(options: SearchServerOptions): Promise<SearchServer> {
  const site = new Site(options);
  return openLoopbackServer({
    port: options.port ?? 0,
    option: '--port',
    policy: POLICY,
    answer: (url, response) => site.answer(url, response),
    failed: (reason) => {
      return { status: 500, ...pageOf(errorPage('The search failed', reason)) };
    },
  });
}

class Site {
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

  answer(url: URL | null, response: ServerResponse): void {
    const path = url?.pathname ?? '';
    const [type, text] = this.#files.get(path) ?? [];
    if (type !== undefined) {
      return sendContent(response, { status: 200, type, text: text ?? '' });
    }
    if (path === '/status') return this.#tellStatus(response);
    if (path !== '/' || url === null) {
      return send(response, 404, errorPage('Not found', 'No such page is here.'));
    }
    return send(response, 200, this.#page(url.searchParams));
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
    if (!beginEvents(response)) return;
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

function send(response: ServerResponse, status: number, text: string): void {
  sendContent(response, { status, ...pageOf(text) });
}

function pageOf(text: string): { readonly type: string; readonly text: string } {
  return { type: 'text/html', text };
}
