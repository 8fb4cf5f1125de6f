/**
 * Labels and lines drawn onto a chart, which chart.js cannot draw. Runs in Node and in the page.
 */
import type { Chart, Plugin } from 'chart.js';
import type { Theme } from './theme.ts';

export interface Annotations {
  readonly labels: readonly Label[];
  readonly walls: readonly Wall[];
}

/** Lines of text next to a point of the chart, centred on its height. */
export interface Label {
  readonly x: number;
  readonly y: number;
  readonly lines: readonly string[];
  readonly color: string;
  /** `left`: the text begins to the right of the point. */
  readonly align: 'left' | 'right';
  /** How many pixels lower than the point; none by default. */
  readonly below?: number;
}

/** A dashed vertical line with its text along it. */
export interface Wall {
  readonly x: number;
  readonly text: string;
  readonly color: string;
}

export function annotationPlugin(annotations: Annotations, theme: Theme): Plugin {
  return {
    id: 'annotations',
    beforeDatasetsDraw: (chart) => {
      for (const wall of annotations.walls) drawWall(chart, wall);
    },
    afterDatasetsDraw: (chart) => {
      // On a telephone the texts would overlap the curves; legend and tooltips remain.
      if (chart.width < 560) return;
      for (const wall of annotations.walls) drawWallText(chart, wall, theme);
      for (const label of annotations.labels) drawLabel(chart, label, theme);
    },
  };
}

export function drawWall(chart: Chart, wall: Wall): void {
  const { ctx, chartArea } = chart;
  const x = chart.scales['x']?.getPixelForValue(wall.x) ?? 0;
  ctx.save();
  ctx.strokeStyle = wall.color;
  ctx.lineWidth = 1.5;
  ctx.setLineDash([6, 5]);
  ctx.beginPath();
  ctx.moveTo(x, chartArea.top);
  ctx.lineTo(x, chartArea.bottom);
  ctx.stroke();
  ctx.restore();
}

export function drawWallText(chart: Chart, wall: Wall, theme: Theme): void {
  const { ctx, chartArea } = chart;
  ctx.save();
  ctx.translate((chart.scales['x']?.getPixelForValue(wall.x) ?? 0) + 10, chartArea.top + 64);
  ctx.rotate(-Math.PI / 2);
  drawHaloedText(chart, { text: wall.text, color: wall.color, align: 'right' }, theme);
  ctx.restore();
}

export function drawLabel(chart: Chart, label: Label, theme: Theme): void {
  const { ctx } = chart;
  const x = chart.scales['x']?.getPixelForValue(label.x) ?? 0;
  const y = chart.scales['y']?.getPixelForValue(label.y) ?? 0;
  ctx.save();
  ctx.translate(
    x + (label.align === 'left' ? 12 : -12),
    y + (label.below ?? 0) - 8 * (label.lines.length - 1),
  );
  for (const text of label.lines) {
    drawHaloedText(chart, { text, color: label.color, align: label.align }, theme);
    ctx.translate(0, 16);
  }
  ctx.restore();
}

/**
 * Text with an outline in the background's colour, so that a curve below does not strike it out.
 */
export function drawHaloedText(
  chart: Chart,
  words: { readonly text: string; readonly color: string; readonly align: 'left' | 'right' },
  theme: Theme,
): void {
  const { ctx } = chart;
  ctx.font = `12px ${theme.font}`;
  ctx.textAlign = words.align;
  ctx.textBaseline = 'middle';
  ctx.lineJoin = 'round';
  ctx.lineWidth = 4;
  ctx.strokeStyle = theme.background;
  ctx.strokeText(words.text, 0, 0);
  ctx.fillStyle = words.color;
  ctx.fillText(words.text, 0, 0);
}
