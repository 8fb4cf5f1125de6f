/** Draws a chart as a PNG without a browser: chart.js on a canvas from an npm package. */
import { createCanvas, GlobalFonts } from '@napi-rs/canvas';
import { Chart, registerables, type ChartConfiguration } from 'chart.js';
import type { LatencyMark } from './figure-7.ts';
import { fontFiles } from './fonts.ts';
import type { Theme } from './theme.ts';

export interface PngOptions {
  /**
   * Width and height in CSS pixels; the file has twice as many each way, for sharp print and
   * screens.
   */
  readonly width: number;
  readonly height: number;
  readonly title: string;
  readonly subtitle: string;
}

export function drawPng(
  configuration: ChartConfiguration<'scatter', LatencyMark[]>,
  theme: Theme,
  options: PngOptions,
): Buffer {
  registerFonts();
  Chart.register(...registerables);
  const canvas = createCanvas(options.width, options.height);
  const chart = new Chart(canvas, {
    ...configuration,
    options: {
      ...configuration.options,
      responsive: false,
      devicePixelRatio: 2,
      plugins: { ...configuration.options?.plugins, ...titles(options, theme) },
    },
    plugins: [...(configuration.plugins ?? []), backgroundPlugin(theme)],
  });
  try {
    return canvas.toBuffer('image/png');
  } finally {
    chart.destroy();
  }
}

type Plugins = NonNullable<ChartConfiguration['options']>['plugins'];

function titles(options: PngOptions, theme: Theme): NonNullable<Plugins> {
  return {
    title: {
      display: true,
      text: options.title,
      align: 'start',
      color: theme.text,
      font: { family: theme.font, size: 18, weight: 600 },
      padding: { top: 6, bottom: 4 },
    },
    subtitle: {
      display: true,
      text: options.subtitle,
      align: 'start',
      color: theme.muted,
      font: { family: theme.font, size: 13 },
      padding: { bottom: 14 },
    },
  };
}

/** A canvas is transparent, and a transparent chart is unreadable on a dark page. */
function backgroundPlugin(theme: Theme): {
  id: string;
  beforeDraw: (chart: Chart) => void;
} {
  return {
    id: 'background',
    beforeDraw: ({ ctx, width, height }) => {
      ctx.save();
      ctx.fillStyle = theme.background;
      ctx.fillRect(0, 0, width, height);
      ctx.restore();
    },
  };
}

/**
 * A machine without fonts (a container, say) would draw no text at all, so the chart brings its own
 * font.
 */
function registerFonts(): void {
  if (GlobalFonts.has('Inter')) return;
  for (const { bytes } of fontFiles()) GlobalFonts.register(Buffer.from(bytes), 'Inter');
}
