/**
 * The shell of every page: one self-contained file. Style, font, chart.js, the charts' data and the
 * program are inlined, and a content security policy forbids every request, so the file can be
 * mailed, archived and opened without a network. Links are followed only when the reader clicks
 * them.
 *
 * The page of a run (run-page.ts) is made of the functions of this folder, in the order of a
 * sceptical reader's questions: `pageHeader` (what was found in words), `limitationsSection`,
 * `chartSection` (a chart with its table folded below it), `tableSection`, and `linksTo` (the raw
 * data).
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Chart } from '../charts/chart.ts';
import { fontFiles } from '../charts/fonts.ts';
import { chartTheme, type Theme } from '../charts/theme.ts';
import { Html, html, inlineJson, inlineScript } from './html.ts';
import * as axes from '../charts/axes.ts';
import * as backdrops from '../charts/backdrops.ts';
import * as decorations from '../charts/decorations.ts';
import * as drawChart from '../charts/draw-chart.ts';
import * as drawing from '../charts/drawing.ts';
import * as format from '../charts/format.ts';
import * as theme from '../charts/theme.ts';
import * as timelineCharts from '../charts/timeline-charts.ts';
import * as liveScript from './live-script.ts';
import * as pageScript from './page-script.ts';

export interface HtmlPage {
  readonly title: string;
  /** The content of `main`. */
  readonly body: Html;
  /** The charts whose canvases are in the body. */
  readonly charts: readonly Chart[];
  /** The line above `main` of a page that follows its run (live-script.ts). */
  readonly liveLine?: string | undefined;
}

export function htmlPage({ title, body, charts, liveLine }: HtmlPage): string {
  const isLive = liveLine !== undefined;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="Content-Security-Policy" content="${contentPolicy(isLive)}" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        <style>
          ${new Html(fontFaces() + pageColors() + readFileSync(path.join(import.meta.dirname, 'style.css'), 'utf8'))}
        </style>
      </head>
      <body>
        ${isLive ? html`<p id="live" role="status">${liveLine}</p>` : null}
        <main>${body}</main>
        ${charts.length === 0 && !isLive ? null : scripts(charts)}
      </body>
    </html>`;
  return page.text;
}

/** A page that follows its run asks the server that it came from. */
function contentPolicy(isLive: boolean): string {
  return (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; " +
    `font-src data:; img-src data:${isLive ? "; connect-src 'self'" : ''}`
  );
}

function scripts(charts: readonly Chart[]): Html {
  return html`<script type="application/json" id="charts">
      ${inlineJson(charts)}
    </script>
    <script>
      ${inlineScript(chartLibrary())};
    </script>
    <script>
      ${inlineScript(browserSource())};
    </script>`;
}

function chartLibrary(): string {
  const entry = createRequire(import.meta.url).resolve('chart.js');
  const source = readFileSync(path.join(path.dirname(entry), 'chart.umd.min.js'), 'utf8');
  // The source map is in the folder of the library, not in that of the page.
  return source.replace(/\/\/# sourceMappingURL=.*$/m, '');
}

function fontFaces(): string {
  const faces = fontFiles().map(
    ({ weight, bytes }) =>
      `@font-face { font-family: Inter; font-weight: ${weight}; src: url(data:font/woff2;base64,` +
      `${Buffer.from(bytes).toString('base64')}) format('woff2'); }\n`,
  );
  return faces.join('');
}

/** The colours of the charts as properties of the page, for both colour schemes. */
export function pageColors(): string {
  const properties = ({ background, text, muted, grid, paper, series }: Theme): string => {
    const named = Object.entries({ background, text, muted, grid, paper });
    const all = [...named, ...series.map((color, i) => [`series-${i}`, color] as const)];
    return all.map(([name, color]) => `--${name}: ${color};`).join(' ');
  };
  return (
    `:root { ${properties(chartTheme(false))} }\n` +
    `@media (prefers-color-scheme: dark) { :root { ${properties(chartTheme(true))} } }\n`
  );
}

/* The top of a page: its place in the paper, the finding in words, facts, and links. */

export interface PageHeader {
  /** The place in the paper, or the subject. */
  readonly kicker: string;
  readonly title: string;
  /** The main finding in a sentence or two. */
  readonly headline: string;
  readonly chips?: readonly string[];
  readonly links?: readonly PageLink[];
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
    ${chips === undefined ? null : chipList(chips)}
    ${links === undefined ? null : linksTo(links, 'This page')}
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

/*
 * The program of the page, made from the same functions that draw the PNG.
 *
 * Node has already stripped the types when a module is loaded, so the text of a function is
 * JavaScript a browser can run. There is no bundler: the exports of each module below are written
 * one after the other into one scope. Hence two rules for these modules: everything at their top
 * level is exported under a name that no other module uses, and is a function or plain data.
 */

const MODULES: readonly object[] = [
  format,
  theme,
  axes,
  drawing,
  backdrops,
  decorations,
  drawChart,
  timelineCharts,
  liveScript,
  pageScript,
];

/** One expression statement. It needs `Chart` of chart.js, and runs at once. */
function browserSource(): string {
  const functions = MODULES.flatMap((module) => Object.entries(module)).map(([name, value]) => {
    if (typeof value !== 'function') return `const ${name} = ${JSON.stringify(value)};`;
    return String(value);
  });
  return `(() => {\n'use strict';\n${functions.join('\n')}\nstartPage();\n})();`;
}
