/**
 * What gives the curves of a chart their meaning: spans of time, the gap between two curves, bars,
 * and the peaks above an axis that ends below them. Runs in Node and in the page.
 */
import type { Chart as ChartJs } from 'chart.js';
import type { ChartGap, ChartMark, ChartSeries, ChartSpan } from './chart.ts';
import { drawHaloedText, type Ink, pixelOf } from './drawing.ts';
import { formatDigits } from './format.ts';
import type { Theme } from './theme.ts';

/** Of so many spans, each has its whole name, in a row of its own if it does not fit. */
export const NAMED_SPANS_MAX = 6;

/** Spans alternate in a light shade; moments are lines. */
export function drawSpans(chart: ChartJs, spans: readonly ChartSpan[], theme: Theme): void {
  const { ctx, chartArea: area } = chart;
  ctx.save();
  for (const [i, { from, to }] of spans.entries()) {
    const { left, right } = spanEdges(chart, { from, to });
    if (left > area.right || right < area.left) continue;
    const isMoment = from === to;
    ctx.fillStyle = `${theme.muted}${isMoment ? 'cc' : i % 2 === 0 ? '0a' : '26'}`;
    ctx.fillRect(left, area.top, isMoment ? 1.5 : right - left, area.bottom - area.top);
  }
  ctx.restore();
}

export function spanEdges(
  chart: ChartJs,
  { from, to }: Pick<ChartSpan, 'from' | 'to'>,
): { readonly left: number; readonly right: number } {
  const { left, right } = chart.chartArea;
  return {
    left: Math.max(left, pixelOf(chart, 'x', from)),
    right: to === null ? right : Math.min(right, pixelOf(chart, 'x', to)),
  };
}

/**
 * Few spans have whole names, each in the first row that is free; of many, each has as much of its
 * name as fits. The names of moments are in rows below.
 */
export function drawSpanNames(chart: ChartJs, spans: readonly ChartSpan[], theme: Theme): void {
  const { ctx, chartArea: area } = chart;
  const isFew = spans.length <= NAMED_SPANS_MAX;
  const ends = isFew ? [0, 0, 0, 0, 0] : [Infinity, 0, 0, 0];
  for (const { from, to, label } of spans) {
    const { left, right } = spanEdges(chart, { from, to });
    if (left > area.right || right < area.left) continue;
    ctx.save();
    ctx.font = `11px ${theme.font}`;
    const isCut = from !== to && !isFew;
    const text = isCut ? cutText(chart, label, right - left - 8) : label;
    const width = ctx.measureText(text).width;
    const x = Math.max(area.left, Math.min(left + 5, area.right - width));
    const row = isCut ? 0 : ends.findIndex((end) => x >= end);
    if (row >= 0) {
      if (ends[row] !== Infinity) ends[row] = x + width + 8;
      ctx.translate(x, area.top + 10 + 15 * row);
      drawHaloedText(chart, text, { color: theme.text, theme, align: 'left', size: 11 });
    }
    ctx.restore();
  }
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

/** Whether the reader sees both of its series. */
export function isGapShown(chart: ChartJs, { upper, lower }: ChartGap): boolean {
  const names = chart.data.datasets.map(({ label }) => label);
  return [upper, lower].every((name) => chart.isDatasetVisible(names.indexOf(name)));
}

export function drawGap(chart: ChartJs, gap: ChartGap, theme: Theme): void {
  if (!isGapShown(chart, gap)) return;
  const { ctx } = chart;
  ctx.save();
  ctx.beginPath();
  for (const { x, high } of gap.edges) {
    ctx.lineTo(pixelOf(chart, 'x', x), pixelOf(chart, 'y', high));
  }
  for (const { x, low } of gap.edges.toReversed()) {
    ctx.lineTo(pixelOf(chart, 'x', x), pixelOf(chart, 'y', low));
  }
  ctx.fillStyle = `${theme.series[0] ?? theme.muted}1a`;
  ctx.fill();
  ctx.restore();
}

/** An arrow from one curve to the other, with what lies between. */
export function drawGapLabel(chart: ChartJs, gap: ChartGap, theme: Theme): void {
  const at = gap.labelled;
  if (at === undefined || !isGapShown(chart, gap)) return;
  const { ctx } = chart;
  const x = pixelOf(chart, 'x', at.x);
  const [top, bottom] = [pixelOf(chart, 'y', at.high) + 12, pixelOf(chart, 'y', at.low) - 12];
  ctx.save();
  ctx.strokeStyle = theme.text;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  for (const [from, to] of [
    [top, bottom],
    [bottom, top],
  ] as const) {
    const back = from < to ? 6 : -6;
    ctx.moveTo(x, to);
    ctx.lineTo(x, from);
    ctx.lineTo(x - 4, from + back);
    ctx.moveTo(x, from);
    ctx.lineTo(x + 4, from + back);
  }
  ctx.stroke();
  ctx.translate(x + 12, (top + bottom) / 2);
  const ink = { color: theme.text, theme, align: 'left', size: 22 } as const;
  drawHaloedText(chart, at.words, ink);
  ctx.restore();
}

export function drawBars(
  chart: ChartJs,
  { barWidth, marks, color: of }: ChartSeries,
  color: string,
): void {
  if (barWidth === undefined) return;
  const { ctx } = chart;
  const zero = pixelOf(chart, 'y', 0);
  ctx.save();
  for (const { x, y } of marks) {
    const left = pixelOf(chart, 'x', x - barWidth / 2);
    const width = pixelOf(chart, 'x', x + barWidth / 2) - left;
    const top = pixelOf(chart, 'y', y ?? 0);
    ctx.fillStyle = of === 'paper' ? `${color}55` : color;
    ctx.fillRect(left, top, width, zero - top);
    if (of !== 'paper') continue;
    ctx.strokeStyle = color;
    ctx.strokeRect(left, top, width, zero - top);
  }
  ctx.restore();
}

/** Above the bar, and above its interval. */
export function drawBarLabel(chart: ChartJs, { x, y, high, label }: ChartMark, ink: Ink): void {
  const { ctx } = chart;
  ctx.save();
  ctx.translate(pixelOf(chart, 'x', x), pixelOf(chart, 'y', Math.max(y ?? 0, high ?? 0)) - 10);
  drawHaloedText(chart, (label ?? []).join(' '), {
    ...ink,
    color: ink.theme.text,
    align: 'center',
  });
  ctx.restore();
}

/** Names the highest point of each stretch that goes on above the axis, where the stretch ends. */
export function drawPeaks(chart: ChartJs, { marks }: ChartSeries, ink: Ink): void {
  const { ctx, chartArea: area } = chart;
  for (const { highest, end } of peaksAbove(marks, chart.scales['y']?.max ?? Infinity)) {
    const text = `up to ${formatDigits(highest)}`;
    const at = pixelOf(chart, 'x', end);
    const isRight = at + 12 + 7 * text.length < area.right;
    ctx.save();
    ctx.translate(at + (isRight ? 10 : -10), area.top + PEAK_BELOW);
    drawHaloedText(chart, text, { ...ink, align: isRight ? 'left' : 'right' });
    ctx.restore();
  }
}

/** Pixels below the upper edge, where few names of spans are. */
export const PEAK_BELOW = 45;
/** A stretch above the edge ends when so many points lie below it. */
export const PEAK_QUIET = 15;

export function peaksAbove(
  marks: readonly ChartMark[],
  max: number,
): readonly { readonly highest: number; readonly end: number }[] {
  const peaks: { highest: number; end: number; last: number }[] = [];
  for (const [i, { x, y }] of marks.entries()) {
    const height = y ?? 0;
    if (height <= max) continue;
    const before = peaks.at(-1);
    if (before === undefined || i - before.last > PEAK_QUIET) {
      peaks.push({ highest: height, end: x, last: i });
    } else {
      Object.assign(before, { highest: Math.max(before.highest, height), end: x, last: i });
    }
  }
  return peaks;
}
