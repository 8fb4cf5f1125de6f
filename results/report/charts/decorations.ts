/**
 * What chart.js cannot draw itself: the background, intervals, bands and labels.
 * Runs in Node and in the page.
 */
import type { Chart as ChartJs, Plugin } from 'chart.js';
import type { Chart, ChartMark, ChartSeries, ChartSpan } from './chart.ts';
import { seriesColor, type Theme } from './theme.ts';

/** Below this width, in pixels, texts would overlap the curves; legend and tooltips remain. */
export const LABELS_MIN_WIDTH = 560;

export function decorations(
  { series, spans = [] }: Pick<Chart, 'series' | 'spans'>,
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
      each(chart, (one, color) => {
        drawBand(chart, one.band ?? [], color);
        for (const mark of one.marks) drawInterval(chart, mark, color);
      });
    },
    afterDatasetsDraw: (chart) => {
      if (chart.width < LABELS_MIN_WIDTH) return;
      const taken: Box[] = [];
      each(chart, (one, color) => {
        for (const mark of one.marks) drawLabel(chart, one, mark, { color, theme, taken });
      });
    },
  };
}

/**
 * Spans alternate in a light shade, and each has its name at its top, as much of it as fits.
 * Moments are vertical lines; their names are below those of the spans, in three rows.
 */
export function drawSpans(chart: ChartJs, spans: readonly ChartSpan[], theme: Theme): void {
  const { ctx, chartArea: area } = chart;
  const ends = [0, 0, 0];
  ctx.save();
  ctx.font = `11px ${theme.font}`;
  ctx.textBaseline = 'top';
  for (const [i, { from, to, label }] of spans.entries()) {
    const left = Math.max(area.left, pixelOf(chart, 'x', from));
    const right = to === null ? area.right : Math.min(area.right, pixelOf(chart, 'x', to));
    if (left > area.right || right < area.left) continue;
    const isMoment = from === to;
    ctx.fillStyle = `${theme.muted}${isMoment ? 'cc' : i % 2 === 0 ? '1c' : '0a'}`;
    ctx.fillRect(left, area.top, isMoment ? 1.5 : right - left, area.bottom - area.top);
    ctx.fillStyle = theme.muted;
    if (!isMoment) {
      ctx.fillText(cutText(chart, label, right - left - 8), left + 4, area.top + 3);
      continue;
    }
    const width = ctx.measureText(label).width;
    const x = Math.min(left + 5, area.right - width);
    const row = ends.findIndex((end) => x >= end);
    if (row < 0) continue;
    ends[row] = x + width + 8;
    ctx.fillStyle = theme.text;
    ctx.fillText(label, x, area.top + 17 + 14 * row);
  }
  ctx.restore();
}

/** As much of a text as fits; nothing if that would be only a few letters. */
export function cutText({ ctx }: ChartJs, text: string, width: number): string {
  if (ctx.measureText(text).width <= width) return text;
  for (let length = text.length - 1; length >= 5; length--) {
    const cut = `${text.slice(0, length).trimEnd()}...`;
    if (ctx.measureText(cut).width <= width) return cut;
  }
  return '';
}

export interface Ink {
  readonly color: string;
  readonly theme: Theme;
}

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

export function pixelOf(chart: ChartJs, axis: 'x' | 'y', value: number): number {
  return chart.scales[axis]?.getPixelForValue(value) ?? 0;
}

/** A path through points, in the coordinates of the data. */
export function tracePath(chart: ChartJs, points: readonly (readonly [number, number])[]): void {
  chart.ctx.beginPath();
  for (const [x, y] of points) chart.ctx.lineTo(pixelOf(chart, 'x', x), pixelOf(chart, 'y', y));
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

/**
 * Text with an outline in the background's colour, so that a curve below does not strike it out.
 */
export function drawHaloedText(
  chart: ChartJs,
  text: string,
  { color, theme, align }: Ink & { readonly align: 'left' | 'right' },
): void {
  const { ctx } = chart;
  ctx.font = `12px ${theme.font}`;
  ctx.textAlign = align;
  ctx.textBaseline = 'middle';
  ctx.lineJoin = 'round';
  ctx.lineWidth = 4;
  ctx.strokeStyle = theme.background;
  ctx.strokeText(text, 0, 0);
  ctx.fillStyle = color;
  ctx.fillText(text, 0, 0);
}
