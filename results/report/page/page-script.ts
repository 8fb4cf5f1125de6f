/**
 * The program of the page: reads the data, draws the charts, and draws them again when the reader
 * ticks a box or the reader's system turns dark. It obeys the two rules of browser-source.ts.
 */
import type { ChartConfiguration } from 'chart.js';
import { backlogFigure } from '../charts/backlog.ts';
import type { ChartData, Visible } from '../charts/chart-data.ts';
import { costFigure } from '../charts/cost.ts';
import { distributionFigure } from '../charts/distribution.ts';
import { figure7, type LatencyMark } from '../charts/figure-7.ts';
import { normalisedFigure } from '../charts/normalised.ts';
import { chartTheme } from '../charts/theme.ts';

/**
 * The members of the browser that this file uses; the project is compiled without the browser's
 * types.
 */
interface PageElement {
  readonly textContent: string;
  readonly checked?: boolean;
  addEventListener(event: 'change', listener: () => void): void;
}
declare const document: {
  getElementById(id: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
  readonly fonts: { load(font: string): Promise<unknown> };
};
declare const matchMedia: (query: string) => {
  readonly matches: boolean;
  addEventListener(event: 'change', listener: () => void): void;
};
declare const Chart: new (
  canvas: PageElement,
  configuration: ChartConfiguration<'scatter', LatencyMark[]>,
) => { destroy(): void };

export function startPage(): void {
  const data = JSON.parse(document.getElementById('chart-data')?.textContent ?? '') as ChartData;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  let charts: { destroy(): void }[] = [];
  const draw = (): void => {
    for (const chart of charts) chart.destroy();
    charts = drawCharts(data, dark.matches);
  };
  dark.addEventListener('change', draw);
  for (const box of document.querySelectorAll('input[type=checkbox]')) {
    box.addEventListener('change', draw);
  }
  draw();
  // A canvas, unlike text, is not redrawn when a font arrives.
  void Promise.all(
    ['400 12px Inter', '600 12px Inter'].map((font) => document.fonts.load(font)),
  ).then(draw);
}

/** Draws every chart that has a canvas on the page. */
export function drawCharts(data: ChartData, dark: boolean): { destroy(): void }[] {
  const theme = chartTheme(dark);
  const visible = visibleCurves();
  const figures = {
    'figure-7': figure7(data, theme, visible),
    normalised: normalisedFigure(data, theme, visible),
    distribution: distributionFigure(data, theme),
    cost: costFigure(data, theme),
    backlog: backlogFigure(data, theme),
  };
  return Object.entries(figures).flatMap(([id, figure]) => {
    const canvas = document.getElementById(id);
    return canvas === null || figure === null ? [] : [new Chart(canvas, figure)];
  });
}

export function visibleCurves(): Visible {
  const ticked = (id: string): boolean => document.getElementById(id)?.checked ?? true;
  return {
    median: ticked('show-median'),
    p99: ticked('show-p99'),
    paper: ticked('show-paper'),
  };
}
