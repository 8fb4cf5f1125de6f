/** The top of a page: its place in the paper, the finding in words, facts, and links. */
import type { Html } from './html.ts';
import { html } from './html.ts';

export interface PageHeader {
  /** The place in the paper, or the subject. */
  readonly kicker: string;
  readonly title: string;
  /** The main finding in a sentence or two. */
  readonly headline: string;
  readonly chips: readonly string[];
  readonly links: readonly PageLink[];
}

export interface PageLink {
  readonly text: string;
  /** Relative to the page's folder, or an address. */
  readonly to: string;
}

/** The paper, as a PDF. */
export const PAPER_ADDRESS = 'https://www.usenix.org/legacy/event/osdi10/tech/full_papers/Peng.pdf';

export function pageHeader({ kicker, title, headline, chips, links }: PageHeader): Html {
  return html`<header>
    <p class="kicker">${kicker}</p>
    <h1>${title}</h1>
    <p class="headline">${headline}</p>
    ${chipList(chips)} ${linksTo(links, 'This page')}
  </header>`;
}

export function chipList(chips: readonly string[]): Html {
  return html`<ul class="chips">
    ${chips.map((chip) => html`<li>${chip}</li>`)}
  </ul>`;
}

/** @param label what the links are about, for readers who hear the page */
export function linksTo(links: readonly PageLink[], label: string): Html {
  return html`<nav aria-label="${label}">
    <ul class="links">
      ${links.map(({ text, to }) => html`<li><a href="${to}">${text}</a></li>`)}
    </ul>
  </nav>`;
}
