/**
 * The rendered form of a page: the text that a reader sees, given the stylesheets and scripts that
 * the page includes.
 *
 * "Rendering" is as simple as it can be and still depend on the resources: a stylesheet may hide
 * elements, by rules whose selector is one element name, class or id (`.menu { display: none }`);
 * scripts are not run, but pages with different scripts are different pages. A resource that was
 * not crawled counts as empty.
 *
 * Pages with the same rendered form are duplicates: the hash of the form names their cluster. The
 * form has the whole text, of which only the beginning is kept if it is very long. A page on which
 * nothing is to be seen is a duplicate only of pages with the same bytes; otherwise all empty pages
 * of the web would be one.
 */
import { hash } from 'node:crypto';
import { decodeText, isHidden } from '../../crawl-rate/documents/visible-text.ts';
import type { Capture } from './capture.ts';
import { HIDING_RULES_MAX, TEXT_LENGTH_MAX } from './limits.ts';
import { parsePage, type ProcessedPage, TextPieces } from './process-page.ts';

/** What pages need to know of a stylesheet or a script. */
export interface Resource {
  readonly hash: string;
  /** What a stylesheet says about selectors, in order: whether they are hidden. */
  readonly hides: readonly (readonly [selector: string, hidden: boolean])[];
}

export interface RenderedPage {
  /** Names the page's cluster. */
  readonly hash: string;
  readonly title: string;
  readonly language: string;
  readonly text: string;
}

/** @param resourceOf the crawled resource of a URL, if there is one */
export function renderPage(
  capture: Capture,
  page: Omit<ProcessedPage, 'links'>,
  resourceOf: (url: string) => Resource | undefined,
): RenderedPage {
  const hidden = new Map(page.stylesheets.flatMap((url) => resourceOf(url)?.hides ?? []));
  const scripts = page.scripts.map((url) => resourceOf(url)?.hash ?? '');
  const { title, language } = page;
  const text = visibleText(capture, hidden);
  const seen = title + text === '' ? hash('sha256', capture.body) : text;
  const form = JSON.stringify([title, language, seen, scripts]);
  const kept = text.slice(0, TEXT_LENGTH_MAX).toWellFormed();
  return { hash: hash('sha256', form, 'base64url'), title, language, text: kept };
}

export function describeResource(capture: Capture): Resource {
  const isStylesheet = /css/iu.test(capture.contentType);
  const text = isStylesheet ? decodeText(capture.body, capture.contentType) : '';
  return { hash: hash('sha256', capture.body, 'base64url'), hides: hidingRules(text) };
}

/** The text of the page, without its title. */
function visibleText(capture: Capture, hidden: ReadonlyMap<string, boolean>): string {
  const text = new TextPieces();
  /** For each open element, whether it or one around it is hidden. */
  const open: boolean[] = [];
  parsePage(capture, {
    onopentag(name, attributes) {
      const around = open.at(-1) ?? false;
      open.push(around || isHidden(name) || name === 'title' || hides(hidden, name, attributes));
      text.boundary(name);
    },
    ontext(piece) {
      if (open.at(-1) !== true) text.add(piece);
    },
    onclosetag(name) {
      open.pop();
      text.boundary(name);
    },
  });
  return text.take();
}

function hides(
  hidden: ReadonlyMap<string, boolean>,
  name: string,
  { class: classes = '', id }: Readonly<Record<string, string>>,
): boolean {
  if (hidden.size === 0) return false;
  const selectors = [name, ...(id === undefined ? [] : [`#${id}`])];
  for (const one of classes.split(/\s+/u)) selectors.push(`.${one}`);
  return selectors.some((selector) => hidden.get(selector) === true);
}

const SIMPLE = /^[.#]?[\w-]+$/u;
const DISPLAY = /(?:^|;)\s*display\s*:\s*([\w-]+)[^;]*$/iu;

/** The rules of a stylesheet that hide or show; those for some media only do not count. */
function hidingRules(stylesheet: string): Resource['hides'] {
  const rules: [string, boolean][] = [];
  const text = stylesheet.replaceAll(/\/\*[^]*?(?:\*\/|$)/gu, ' ');
  let depth = 0;
  let from = 0;
  let selectors = '';
  for (const { 0: brace, index } of text.matchAll(/[{}]/gu)) {
    if (brace === '{' && depth++ === 0) {
      selectors = text.slice(from, index).split(';').at(-1) ?? ''; // After `@charset "utf-8";`.
      from = index + 1;
    } else if (brace === '}' && depth > 0 && --depth === 0) {
      // Not as arguments of one `push`: a call with a million of them fails.
      for (const rule of rulesOf(selectors, text.slice(from, index))) rules.push(rule);
      from = index + 1;
    }
  }
  return rules.slice(0, HIDING_RULES_MAX);
}

function rulesOf(selectors: string, declarations: string): [string, boolean][] {
  if (selectors.includes('@')) return [];
  // The last declaration counts.
  const last = declarations.split(';').findLast((declaration) => DISPLAY.test(declaration.trim()));
  const display = DISPLAY.exec(last?.trim() ?? '')?.[1];
  if (display === undefined) return [];
  return selectors
    .split(',')
    .map((selector) => selector.trim())
    .filter((selector) => SIMPLE.test(selector))
    .map((selector) => [
      /^[.#]/u.test(selector) ? selector : selector.toLowerCase(),
      display.toLowerCase() === 'none',
    ]);
}
