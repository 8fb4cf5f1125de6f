/**
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
      const pages = `${found.toLocaleString('en')} ${found === 1 ? 'page' : 'pages'}`;
      searchable.textContent = `${pages} can be searched${state === 'loading' ? ' so far' : ''}.`;
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
