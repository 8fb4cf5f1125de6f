/**
 * The program of the page: reads the descriptions of the charts, draws them, and draws them again
 * when the reader switches a series or the reader's system turns dark. The page of a run that goes
 * on is replaced by what arrives (live-script.ts). It obeys the two rules of html-page.ts.
 */
import type { Chart } from '../charts/chart.ts';
import { chartConfiguration, type ChartJsConfiguration } from '../charts/draw-chart.ts';
import { chartTheme } from '../charts/theme.ts';
import { followRun, type PageContent } from './live-script.ts';

/**
 * The members of the browser that this file uses; the project is compiled without the browser's
 * types.
 */
interface PageElement {
  textContent: string;
  innerHTML: string;
  checked: boolean;
  open: boolean;
  readonly dataset: Readonly<Record<string, string>>;
  href: string;
  download: string;
  click(): void;
  getAttribute(name: 'href'): string | null;
  removeAttribute(name: 'href'): void;
  addEventListener(event: 'change' | 'click', listener: () => void): void;
}
declare const document: {
  getElementById(id: string): PageElement | null;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
  createElement(name: 'a'): PageElement;
  readonly fonts: { load(font: string): Promise<unknown> };
};
declare const matchMedia: (query: string) => {
  readonly matches: boolean;
  addEventListener(event: 'change', listener: () => void): void;
};
interface ChartOnCanvas {
  destroy(): void;
  toBase64Image(): string;
}
declare const Chart: new (
  canvas: PageElement,
  configuration: ChartJsConfiguration,
) => ChartOnCanvas;

/** A chart of the page. */
export interface PageChart {
  readonly chart: Chart;
  readonly draw: () => void;
  readonly remove: () => void;
}

export function startPage(): void {
  const text = document.getElementById('charts')?.textContent ?? '[]';
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const start = (charts: readonly Chart[]): readonly PageChart[] =>
    charts.map((chart) => startChart(chart, () => dark.matches));
  let drawn = start(JSON.parse(text) as readonly Chart[]);
  const redrawAll = (): void => {
    for (const { draw } of drawn) draw();
  };
  dark.addEventListener('change', redrawAll);
  // A canvas, unlike text, is not redrawn when a font arrives.
  void Promise.all(
    ['400 12px Inter', '600 12px Inter'].map((font) => document.fonts.load(font)),
  ).then(redrawAll);
  const line = document.getElementById('live');
  if (line === null) return;
  forgetFiles();
  followRun({
    charts: () => drawn.map(({ chart }) => chart),
    redraw: (names) => {
      for (const { chart, draw } of drawn) if (names.has(chart.name)) draw();
    },
    replace: (content) => {
      for (const { remove } of drawn) remove();
      replaceMain(content);
      forgetFiles();
      drawn = start(content.charts);
    },
    tell: (words) => {
      line.textContent = words;
    },
  });
}

/** The files are in the folder of the run, which the server of a live page does not show. */
export function forgetFiles(): void {
  for (const link of document.querySelectorAll('main a[href]')) {
    if (!/^(?:#|https?:)/.test(link.getAttribute('href') ?? '')) link.removeAttribute('href');
  }
}

/** Replaces the content of the page; what the reader has switched and unfolded stays so. */
export function replaceMain({ main }: PageContent): void {
  const foldName = (one: PageElement): string => one.dataset['fold'] ?? '';
  const switchName = ({ dataset }: PageElement): string =>
    `${dataset['chart']} ${dataset['series']}`;
  const folds = [...document.querySelectorAll('details')];
  const switches = [...document.querySelectorAll('input[data-chart]')];
  const unfolded = new Set(folds.filter(({ open }) => open).map(foldName));
  const switched = new Map(switches.map((box) => [switchName(box), box.checked]));
  const element = document.querySelector('main');
  if (element === null) return;
  element.innerHTML = main;
  for (const fold of document.querySelectorAll('details')) {
    if (unfolded.has(foldName(fold))) fold.open = true;
  }
  for (const box of document.querySelectorAll('input[data-chart]')) {
    box.checked = switched.get(switchName(box)) ?? box.checked;
  }
}

export function startChart(chart: Chart, isDark: () => boolean): PageChart {
  const canvas = document.getElementById(chart.name);
  if (canvas === null) return { chart, draw: () => {}, remove: () => {} };
  const boxes = [...document.querySelectorAll(`input[data-chart="${chart.name}"]`)];
  let drawn: ChartOnCanvas | undefined;
  const draw = (): void => {
    drawn?.destroy();
    const isHidden = (name: string): boolean =>
      boxes.some((box) => box.dataset['series'] === name && !box.checked);
    drawn = new Chart(canvas, chartConfiguration(chart, chartTheme(isDark()), isHidden));
  };
  for (const box of boxes) box.addEventListener('change', draw);
  for (const button of document.querySelectorAll(`button[data-chart="${chart.name}"]`)) {
    button.addEventListener('click', () => savePicture(chart.name, drawn?.toBase64Image() ?? ''));
  }
  draw();
  return { chart, draw, remove: () => drawn?.destroy() };
}

/** Saves the picture as the reader sees it, with the chosen series. */
export function savePicture(name: string, address: string): void {
  const link = document.createElement('a');
  link.href = address;
  link.download = `${name}.png`;
  link.click();
}
