/** What all drawings on a chart share. Runs in Node and in the page. */
import type { Chart as ChartJs } from 'chart.js';
import type { Theme } from './theme.ts';

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

/**
 * Text with an outline in the background's colour, so that a curve below does not strike it out.
 */
export function drawHaloedText(
  chart: ChartJs,
  text: string,
  {
    color,
    theme,
    align,
    size = 12,
  }: Ink & { readonly align: 'left' | 'right' | 'center'; readonly size?: number },
): void {
  const { ctx } = chart;
  ctx.font = `${size > 12 ? '600 ' : ''}${size}px ${theme.font}`;
  ctx.textAlign = align;
  ctx.textBaseline = 'middle';
  ctx.lineJoin = 'round';
  ctx.lineWidth = 4;
  ctx.strokeStyle = theme.background;
  ctx.strokeText(text, 0, 0);
  ctx.fillStyle = color;
  ctx.fillText(text, 0, 0);
}
