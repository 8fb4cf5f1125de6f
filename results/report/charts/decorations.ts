/**
 * What chart.js cannot draw itself: the background, intervals, bands and labels.
 * Runs in Node and in the page.
 */
import type { Chart as ChartJs, Plugin } from 'chart.js';
import {
  drawBarLabel,
  drawBars,
  drawGap,
  drawGapLabel,
  drawPeaks,
  drawSpanNames,
  drawSpans,
} from './backdrops.ts';
import type { Chart, ChartMark, ChartSeries } from './chart.ts';
import { type Box, drawHaloedText, type Ink, pixelOf, tracePath } from './drawing.ts';
import { seriesColor, type Theme } from './theme.ts';

/** Below this width, in pixels, texts would overlap the curves; legend and tooltips remain. */
export const LABELS_MIN_WIDTH = 560;

export function decorations(
  { series, spans = [], gap, y }: Pick<Chart, 'series' | 'spans' | 'gap' | 'y'>,
  theme: Theme,
): Plugin {
  const each = (chart: ChartJs, draw: (one: ChartSeries, color: string) => void): void => {
    for (const [index, one] of series.entries()) {
      if (chart.isDatasetVisible(index)) draw(one, seriesColor(one.color, theme));
    }
  };
  return {
    id: 'decorations',
    // A canvas is transparent, and a saved picture would be unreadable on a dark page.
    beforeDraw: ({ ctx, width, height }) => {
      ctx.save();
      ctx.fillStyle = theme.background;
      ctx.fillRect(0, 0, width, height);
      ctx.restore();
    },
    beforeDatasetsDraw: (chart) => {
      drawSpans(chart, spans, theme);
      if (gap !== undefined) drawGap(chart, gap, theme);
      each(chart, (one, color) => drawBars(chart, one, color));
      each(chart, (one, color) => {
        drawBand(chart, one.band ?? [], color);
        const ink = one.barWidth === undefined ? color : theme.text;
        for (const mark of one.marks) drawInterval(chart, mark, ink);
      });
    },
    afterDatasetsDraw: (chart) => {
      drawSpanNames(chart, spans, theme);
      if (gap !== undefined) drawGapLabel(chart, gap, theme);
      if (y.max !== undefined) each(chart, (one, color) => drawPeaks(chart, one, { color, theme }));
      if (chart.width < LABELS_MIN_WIDTH) return;
      const taken: Box[] = [];
      each(chart, (one, color) => {
        for (const mark of one.marks) drawLabel(chart, one, mark, { color, theme, taken });
      });
    },
  };
}

export function drawBand(
  chart: ChartJs,
  band: NonNullable<ChartSeries['band']>,
  color: string,
): void {
  const { ctx, chartArea: area } = chart;
  ctx.save();
  ctx.beginPath();
  ctx.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
  ctx.clip();
  const edges = [
    ...band.map(({ x, low }) => [x, low] as const),
    ...band.toReversed().map(({ x, high }) => [x, high] as const),
  ];
  tracePath(chart, edges);
  ctx.fillStyle = `${color}26`;
  ctx.fill();
  tracePath(
    chart,
    band.map(({ x, y }) => [x, y] as const),
  );
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.5;
  ctx.stroke();
  ctx.restore();
}

export function drawInterval(chart: ChartJs, { x, low, high }: ChartMark, color: string): void {
  if (low === null || low === undefined || high === null || high === undefined) return;
  const { ctx } = chart;
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.5;
  tracePath(chart, [
    [x, low],
    [x, high],
  ]);
  ctx.stroke();
  ctx.restore();
}

/**
 * Draws the label of a mark to the right of it, or to the left where it would leave the chart;
 * below the labels in `taken` that it would touch.
 */
export function drawLabel(
  chart: ChartJs,
  series: ChartSeries,
  mark: ChartMark,
  { color, theme, taken }: Ink & { readonly taken: Box[] },
): void {
  const { label: lines } = mark;
  if (lines === undefined) return;
  if (series.barWidth !== undefined) return drawBarLabel(chart, mark, { color, theme });
  const { ctx, chartArea: area } = chart;
  const width = 7 * Math.max(...lines.map((line) => line.length));
  const x = pixelOf(chart, 'x', mark.x);
  const y = series.isOnEdge === true ? area.top + 6 : pixelOf(chart, 'y', mark.y ?? 0);
  const align = x + 14 + width < area.right ? 'left' : 'right';
  const left = align === 'left' ? x + 14 : x - 14 - width;
  const box = belowAll(taken, {
    left,
    right: left + width,
    top: y - 8 * lines.length,
    bottom: y + 8 * lines.length,
  });
  taken.push(box);
  ctx.save();
  ctx.translate(x + (align === 'left' ? 14 : -14), box.top + 8);
  for (const line of lines) {
    drawHaloedText(chart, line, { color, theme, align });
    ctx.translate(0, 16);
  }
  ctx.restore();
}

/** The box, moved down until it touches none of those that are taken. */
export function belowAll(taken: readonly Box[], box: Box): Box {
  const touched = taken.find(
    (one) =>
      one.left < box.right && box.left < one.right && one.top < box.bottom && box.top < one.bottom,
  );
  if (touched === undefined) return box;
  const down = touched.bottom - box.top;
  return belowAll(taken, { ...box, top: box.top + down, bottom: box.bottom + down });
}
