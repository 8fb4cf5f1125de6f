/**
 * The page as HTML: query box, state of loading, results, and the way to the next ones.
 *
 * `html` escapes every value. Escaping alone does not tame a page of the crawl. So a link leads
 * only to http and https, a text turns the direction of no text next to it, and what is long is
 * cut.
 */
import { counted, formatCount, type Html, html } from '#results';
import type { LoadStatus } from '../loading/load-status.ts';
import type { MarkedText, SearchResult, SearchResults } from '../serving/serving-index.ts';

export const RESULTS_PER_PAGE = 10;
/** A query box takes no more; the index looks at no more. */
const QUERY_CHARACTERS_MAX = 1_000;
const URL_CHARACTERS = 160;
const ANCHORS_SHOWN = 6;
const ANCHOR_CHARACTERS = 60;
const DUPLICATES_SHOWN = 20;

export interface SearchPage {
  readonly query: string;
  /** The number of the page of results, from 1 on. */
  readonly page: number;
  /** Null if nothing was asked. */
  readonly found: SearchResults | null;
  /** How long the search took. */
  readonly ms: number;
  /** The number of all pages that are served. */
  readonly documents: number;
  readonly status: LoadStatus;
}

export function searchPage(shown: SearchPage): string {
  const { query, found, documents, status } = shown;
  return shell(
    query.trim() === '' ? 'Search' : `${cut(query, 60)} - Search`,
    html`<header>
        <h1><a href="/">Search the crawl</a></h1>
        <form role="search" action="/" method="get">
          <label for="query">Words to search for</label>
          <input
            id="query"
            type="search"
            name="q"
            value="${query.slice(0, QUERY_CHARACTERS_MAX)}"
            maxlength="${QUERY_CHARACTERS_MAX}"
            autocomplete="off"
            autocapitalize="off"
            spellcheck="false"
            ${found === null ? html`autofocus` : null}
          />
          <button type="submit">Search</button>
        </form>
      </header>
      ${statusPanel(status)}
      <main>${found === null ? welcome(documents, status) : answer(shown, found)}</main>`,
  );
}

export function errorPage(title: string, reason: string): string {
  return shell(
    title,
    html`<header>
        <h1><a href="/">Search the crawl</a></h1>
      </header>
      <main>
        <h2>${title}</h2>
        <p class="isolated">${reason}</p>
        <p><a href="/">Back to the search</a></p>
      </main>`,
  );
}

function shell(title: string, body: Html): string {
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="/style.css" />
        <script src="/page.js" defer></script>
      </head>
      <body>
        ${body}
      </body>
    </html>`;
  return page.text;
}

/** Kept up to date by the program of the page; hidden in a page that is sent after the load. */
function statusPanel({ state, stages }: LoadStatus): Html {
  const most = Math.max(1, ...stages.map(({ documents }) => documents));
  const rows = stages.map(
    ({ name, documents }) =>
      html`<tr>
        <th scope="row">${name}</th>
        <td class="number">${formatCount(documents)}</td>
        <td class="bar">
          <progress max="${most}" value="${documents}" aria-label="${name}"></progress>
        </td>
      </tr>`,
  );
  const heading = { loading: 'Loading the crawl', ready: 'Loaded' };
  return html`<section
    id="status"
    data-state="${state}"
    aria-label="State of loading"
    ${state === 'ready' ? html`hidden` : null}
  >
    <h2 aria-live="polite">${heading[state]}</h2>
    <table>
      <caption class="unseen">
        Documents in each stage
      </caption>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </section>`;
}

function welcome(documents: number, { state }: LoadStatus): Html {
  const here =
    documents === 0
      ? 'No page can be searched yet.'
      : `${counted(documents, 'pages')} can be searched${state === 'loading' ? ' so far' : ''}.`;
  return html`<p id="searchable" class="note">${here}</p>`;
}

function answer(shown: SearchPage, found: SearchResults): Html {
  const { page, ms, query, status } = shown;
  const { total, results, haveAllWords } = found;
  const last = Math.max(1, Math.ceil(total / RESULTS_PER_PAGE));
  if (total === 0) return nothing(status);
  if (results.length === 0) {
    return html`<h2>There is no page ${formatCount(page)} of results</h2>
      <p><a href="${addressOf(query, last)}">To the last page, ${formatCount(last)}</a></p>`;
  }
  const first = (page - 1) * RESULTS_PER_PAGE + 1;
  const range =
    last === 1 ? null : `, ${formatCount(first)} to ${formatCount(first + results.length - 1)}`;
  return html`<h2 class="unseen">Results</h2>
    <p class="note">
      ${counted(total, 'pages')}${status.state === 'loading' ? ' so far' : ''}${range}
      (${ms.toFixed(ms < 10 ? 1 : 0)} ms)
      ${haveAllWords ? null : html`<br />No page has all of the words; these have some of them.`}
      ${query.length > QUERY_CHARACTERS_MAX ? html`<br />Only the first ${formatCount(QUERY_CHARACTERS_MAX)} characters of the query count.` : null}
    </p>
    <ol start="${first}">
      ${results.map(resultItem)}
    </ol>
    ${last === 1 ? null : pages(query, page, last)}`;
}

function nothing({ state }: LoadStatus): Html {
  const hint =
    state === 'loading'
      ? 'The crawl is still loading: the page may come.'
      : 'Fewer or other words may find more.';
  return html`<h2>No page found</h2>
    <p id="hint">${hint}</p>`;
}

function resultItem({
  url,
  title,
  snippet,
  language,
  anchors,
  duplicates,
  capturedMs,
}: SearchResult): Html {
  const heading = title.length === 0 ? html`${cut(url, 80)}` : marked(title);
  const address = linkOf(url);
  const link =
    address === null
      ? html`<span class="isolated">${heading}</span>`
      : html`<a class="isolated" href="${address}" rel="noopener noreferrer nofollow"
          >${heading}</a
        >`;
  const isLanguage = /^[a-z]{2,3}(-[a-z\d]{1,8})*$/i.test(language);
  return html`<li>
    <article ${isLanguage ? html`lang="${language}"` : null}>
      <h3>${link}</h3>
      <p class="url"><bdi dir="ltr">${cut(url, URL_CHARACTERS)}</bdi>${day(capturedMs)}</p>
      <p class="isolated">${marked(snippet)}</p>
      ${anchors.length === 0 ? null : anchorLine(anchors)}
      ${duplicates.length === 0 ? null : duplicatesFold(duplicates)}
    </article>
  </li>`;
}

function marked(text: MarkedText): Html {
  return html`${text.map((piece) => (piece.isHit ? html`<mark>${piece.text}</mark>` : html`${piece.text}`))}`;
}

function day(capturedMs: number): Html {
  const date = new Date(capturedMs).toISOString().slice(0, 10);
  return html`<time datetime="${date}">${date}</time>`;
}

function anchorLine(anchors: readonly string[]): Html {
  const shown = anchors
    .slice(0, ANCHORS_SHOWN)
    .map((text) => html`<li><bdi>${cut(text, ANCHOR_CHARACTERS)}</bdi></li>`);
  const more = anchors.length - ANCHORS_SHOWN;
  return html`<div class="anchors">
    <span>Linked as</span>
    <ul>
      ${shown} ${more > 0 ? html`<li>and ${formatCount(more)} more</li>` : null}
    </ul>
  </div>`;
}

function duplicatesFold(duplicates: readonly string[]): Html {
  const more = duplicates.length - DUPLICATES_SHOWN;
  return html`<details>
    <summary>The same content at ${counted(duplicates.length, 'other addresses')}</summary>
    <ul>
      ${duplicates.slice(0, DUPLICATES_SHOWN).map((url) => html`<li><bdi dir="ltr">${cut(url, URL_CHARACTERS)}</bdi></li>`)}
      ${more > 0 ? html`<li>and ${formatCount(more)} more</li>` : null}
    </ul>
  </details>`;
}

function pages(query: string, page: number, last: number): Html {
  const near = [page - 1, page, page + 1];
  const numbers = [...new Set([1, ...near, last])].filter((n) => n >= 1 && n <= last);
  const items = numbers.map((n, i) => {
    const hasGap = n - (numbers[i - 1] ?? 0) > 1;
    return html`${hasGap ? html`<li aria-hidden="true">…</li>` : null}${pageItem(query, n, page)}`;
  });
  return html`<nav aria-label="Pages of results">
    <ul>
      ${page > 1 ? html`<li><a rel="prev" href="${addressOf(query, page - 1)}">Previous</a></li>` : null}
      ${items}
      ${page < last ? html`<li><a rel="next" href="${addressOf(query, page + 1)}">Next</a></li>` : null}
    </ul>
  </nav>`;
}

function pageItem(query: string, n: number, page: number): Html {
  const shown = formatCount(n);
  if (n === page) return html`<li><strong aria-current="page">${shown}</strong></li>`;
  return html`<li><a href="${addressOf(query, n)}" aria-label="Page ${shown}">${shown}</a></li>`;
}

function addressOf(query: string, page: number): string {
  const q = query.slice(0, QUERY_CHARACTERS_MAX);
  return `/?${new URLSearchParams({ q, page: String(page) }).toString()}`;
}

/** Where a link to a crawled URL leads; null if it is not http or https, such as `javascript:`. */
function linkOf(url: string): string | null {
  const parsed = URL.parse(url);
  return parsed?.protocol === 'http:' || parsed?.protocol === 'https:' ? parsed.href : null;
}

function cut(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax).toWellFormed()}…`;
}

/*
 * The program of the search page: keeps the panel up to date while a crawl is loading, and puts the
 * cursor into the query box at a `/`. The page is complete without it.
 *
 * The server sends the text of the function, so everything that it needs is inside. It writes
 * texts, never HTML.
 */

/** The members of the browser that this file uses; the project is compiled without its types. */
interface PageElement {
  textContent: string | null;
  hidden: boolean;
  readonly dataset: Record<string, string>;
  readonly tagName: string;
  setAttribute(name: string, value: string): void;
  append(...children: PageElement[]): void;
  replaceChildren(...children: PageElement[]): void;
  querySelector(selector: string): PageElement | null;
  focus(): void;
  select(): void;
}
interface KeyEvent {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly target: PageElement | null;
  preventDefault(): void;
}
declare const document: {
  getElementById(id: string): PageElement | null;
  createElement(name: string): PageElement;
  addEventListener(event: 'keydown', listener: (event: KeyEvent) => void): void;
};
declare class EventSource {
  constructor(url: string);
  addEventListener(event: 'message', listener: (event: { readonly data: string }) => void): void;
  close(): void;
}

/** LoadStatus, as the browser gets it. */
interface Status {
  readonly state: 'loading' | 'ready';
  readonly stages: readonly { readonly name: string; readonly documents: number }[];
}

export function startSearchPage(): void {
  const panel = document.getElementById('status');
  const headings = { loading: 'Loading the crawl', ready: 'Loaded' };

  function element(
    name: string,
    text: string,
    attributes: Record<string, string> = {},
  ): PageElement {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  function rowOf(name: string, documents: number, most: number): PageElement {
    const row = document.createElement('tr');
    const bar = element('td', '', { class: 'bar' });
    const progress = { max: String(most), value: String(documents), 'aria-label': name };
    bar.append(element('progress', '', progress));
    row.append(element('th', name, { scope: 'row' }));
    row.append(element('td', documents.toLocaleString('en'), { class: 'number' }), bar);
    return row;
  }

  function show({ state, stages }: Status): void {
    if (panel === null) return;
    const most = Math.max(1, ...stages.map(({ documents }) => documents));
    panel.dataset['state'] = state;
    panel.hidden = false;
    const heading = panel.querySelector('h2');
    // A heading that is set again would be read aloud again.
    if (heading !== null && heading.textContent !== headings[state]) {
      heading.textContent = headings[state];
    }
    panel
      .querySelector('tbody')
      ?.replaceChildren(...stages.map(({ name, documents }) => rowOf(name, documents, most)));
    showBelow(state, stages.at(-1)?.documents ?? 0);
  }

  /** Corrects what the page says below the panel, which was right when the page was sent. */
  function showBelow(state: Status['state'], found: number): void {
    const searchable = document.getElementById('searchable');
    if (searchable !== null && found > 0) {
      const searched = `${found.toLocaleString('en')} ${found === 1 ? 'page' : 'pages'}`;
      searchable.textContent = `${searched} can be searched${state === 'loading' ? ' so far' : ''}.`;
    }
    const hint = document.getElementById('hint');
    if (hint === null || state === 'loading') return;
    hint.textContent = 'Loading has ended since: search again.';
  }

  if (panel !== null && panel.dataset['state'] === 'loading') {
    const events = new EventSource('/status');
    events.addEventListener('message', ({ data }) => {
      const status = JSON.parse(data) as Status;
      show(status);
      if (status.state !== 'loading') events.close();
    });
  }

  document.addEventListener('keydown', (event) => {
    const isTyping = event.target?.tagName === 'INPUT';
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const query = document.getElementById('query');
    query?.focus();
    query?.select();
  });
}
