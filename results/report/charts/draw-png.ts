/** Draws a chart as a PNG without a browser: chart.js on a canvas from an npm package. */
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
  const { createCanvas, GlobalFonts } = require('@napi-rs/canvas') as typeof Canvas;
  const { Chart: ChartJs, registerables } = require('chart.js') as typeof ChartLibrary;
  registerFonts(GlobalFonts);
  ChartJs.register(...registerables);
  const theme = chartTheme(dark);
  const configuration = chartConfiguration(chart, theme, () => false);
  const canvas = createCanvas(SIZE.width, SIZE.height);
  const drawn = new ChartJs(canvas as unknown as HTMLCanvasElement, {
    ...configuration,
    options: {
      ...configuration.options,
      responsive: false,
      devicePixelRatio: 2,
      plugins: { ...configuration.options?.plugins, ...titles(chart, subtitle, theme) },
    },
  });
  try {
    return canvas.toBuffer('image/png');
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
