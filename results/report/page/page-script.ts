/**
 * The program of the page: reads the descriptions of the charts, draws them, and draws them again
 * when the reader switches a series or the reader's system turns dark. It obeys the two rules of
 * html-page.ts.
 */
import type { Chart } from '../charts/chart.ts';
import { chartConfiguration, type ChartJsConfiguration } from '../charts/draw-chart.ts';
import { chartTheme } from '../charts/theme.ts';

/**
 * The members of the browser that this file uses; the project is compiled without the browser's
 * types.
 */
interface PageElement {
  readonly textContent: string;
  readonly checked: boolean;
  readonly dataset: Readonly<Record<string, string>>;
  href: string;
  download: string;
  click(): void;
  addEventListener(event: 'change' | 'click', listener: () => void): void;
}
declare const document: {
  getElementById(id: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
  createElement(name: 'a'): PageElement;
  readonly fonts: { load(font: string): Promise<unknown> };
};
declare const matchMedia: (query: string) => {
  readonly matches: boolean;
  addEventListener(event: 'change', listener: () => void): void;
};
interface DrawnChart {
  destroy(): void;
  toBase64Image(): string;
}
declare const Chart: new (canvas: PageElement, configuration: ChartJsConfiguration) => DrawnChart;

export function startPage(): void {
  const text = document.getElementById('charts')?.textContent ?? '[]';
  const charts = JSON.parse(text) as readonly Chart[];
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const redraws = charts.map((chart) => startChart(chart, () => dark.matches));
  const redrawAll = (): void => {
    for (const redraw of redraws) redraw();
  };
  dark.addEventListener('change', redrawAll);
  // A canvas, unlike text, is not redrawn when a font arrives.
  void Promise.all(
    ['400 12px Inter', '600 12px Inter'].map((font) => document.fonts.load(font)),
  ).then(redrawAll);
}

/** Draws one chart, and returns the function that draws it again. */
export function startChart(chart: Chart, isDark: () => boolean): () => void {
  const canvas = document.getElementById(chart.name);
  if (canvas === null) return () => {};
  const boxes = [...document.querySelectorAll(`input[data-chart="${chart.name}"]`)];
  let drawn: DrawnChart | undefined;
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
  return draw;
}

/** Saves the picture as the reader sees it, with the chosen series. */
export function savePicture(name: string, address: string): void {
  const link = document.createElement('a');
  link.href = address;
  link.download = `${name}.png`;
  link.click();
}
