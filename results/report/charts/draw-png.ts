/** Draws a chart as a file without a browser: chart.js on a canvas from an npm package. */
import { createRequire } from 'node:module';
import type * as Canvas from '@napi-rs/canvas';
import type * as ChartLibrary from 'chart.js';
import type { Chart } from './chart.ts';
import { chartConfiguration, legendItems, type ChartJsConfiguration } from './draw-chart.ts';
import { fontFiles } from './fonts.ts';
import { chartTheme, type Theme } from './theme.ts';

/** The canvas and chart.js are loaded by the first picture: most scripts draw none. */
const require = createRequire(import.meta.url);

/** In CSS pixels; the file has twice as many each way, for sharp print and screens. */
const SIZE = { width: 1000, height: 600 };

/**
 * @param subtitle where and when it was measured
 * @param dark for a page with a dark background
 */
export function drawPng(chart: Chart, subtitle: string, dark = false): Buffer {
  const { createCanvas } = require('@napi-rs/canvas') as typeof Canvas;
  const canvas = createCanvas(SIZE.width, SIZE.height);
  return draw(canvas, { chart, subtitle, dark, ratio: 2 }, () => canvas.toBuffer('image/png'));
}

/** The same as curves, for print and slides; its texts are curves, too, so it needs no font. */
export function drawSvg(chart: Chart, subtitle: string): string {
  const { createCanvas, SvgExportFlag } = require('@napi-rs/canvas') as typeof Canvas;
  const canvas = createCanvas(SIZE.width, SIZE.height, SvgExportFlag.ConvertTextToPaths);
  return draw(canvas, { chart, subtitle, dark: false, ratio: 1 }, () =>
    shorter(String(canvas.getContent())),
  );
}

/**
 * A tenth of a pixel is finer than a reader sees; six digits would double the file. The canvas
 * counts its names on from drawing to drawing; here the same chart is always the same file.
 */
function shorter(svg: string): string {
  const names = [...new Set(svg.match(/\bcl_[0-9a-f]+/g))];
  const named = svg.replaceAll(/\bcl_[0-9a-f]+/g, (name) => `clip-${names.indexOf(name)}`);
  return named.replaceAll(/\d+\.\d{2,}/g, (number) => String(Number(Number(number).toFixed(1))));
}

interface Drawing {
  readonly chart: Chart;
  readonly subtitle: string;
  readonly dark: boolean;
  /** Pixels of the file for each pixel of the drawing. */
  readonly ratio: number;
}

function draw<T>(
  canvas: Canvas.Canvas | Canvas.SvgCanvas,
  { chart, subtitle, dark, ratio }: Drawing,
  result: () => T,
): T {
  const { GlobalFonts } = require('@napi-rs/canvas') as typeof Canvas;
  const { Chart: ChartJs, registerables } = require('chart.js') as typeof ChartLibrary;
  registerFonts(GlobalFonts);
  ChartJs.register(...registerables);
  const theme = chartTheme(dark);
  const shown = { ...chart, series: chart.series.filter(({ isOff }) => isOff !== true) };
  const configuration = chartConfiguration(shown, theme, () => false);
  const drawn = new ChartJs(canvas as unknown as HTMLCanvasElement, {
    ...configuration,
    options: {
      ...configuration.options,
      responsive: false,
      devicePixelRatio: ratio,
      plugins: { ...configuration.options?.plugins, ...titles(shown, subtitle, theme) },
    },
  });
  try {
    return result();
  } finally {
    drawn.destroy();
  }
}

type Plugins = NonNullable<ChartJsConfiguration['options']>['plugins'];

function titles(chart: Chart, subtitle: string, theme: Theme): NonNullable<Plugins> {
  return {
    title: {
      display: true,
      text: chart.title,
      align: 'start',
      color: theme.text,
      font: { family: theme.font, size: 18, weight: 600 },
      padding: { top: 6, bottom: 4 },
    },
    subtitle: {
      display: true,
      text: subtitle,
      align: 'start',
      color: theme.muted,
      font: { family: theme.font, size: 13 },
      padding: { bottom: 14 },
    },
    legend: {
      position: 'bottom',
      labels: {
        font: { family: theme.font, size: 12 },
        usePointStyle: true,
        boxHeight: 9,
        padding: 16,
        generateLabels: () => legendItems(chart.series, theme),
      },
    },
  };
}

/**
 * A machine without fonts (a container, say) would draw no text at all, so the chart brings its own
 * font.
 */
function registerFonts(fonts: typeof Canvas.GlobalFonts): void {
  if (fonts.has('Inter')) return;
  for (const { bytes } of fontFiles()) fonts.register(Buffer.from(bytes), 'Inter');
}
