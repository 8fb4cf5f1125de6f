/**
 * The charts of a watched run, second by second. Runs in Node and in the page, which adds each
 * second to them.
 */
import type { Timeline, TimelinePanel, TimelinePoint } from '../run-record.ts';
import type { Chart, ChartMark, Marker } from './chart.ts';
import { formatDigits } from './format.ts';

export function timelineCharts({ panels, events }: Timeline): readonly Chart[] {
  return panels.map((panel) => ({ ...timelineChart(panel), spans: events }));
}

export function timelineChart({ name, title, unit, series }: TimelinePanel): Chart {
  const measured = series.filter(({ isTarget }) => !isTarget);
  return {
    name,
    title,
    caption: '',
    x: { title: 'Seconds since the run began', scale: 'linear', ticks: [] },
    y: { title: unit, scale: 'linear', ticks: [] },
    series: series.map((one) => ({
      name: one.name,
      color: one.isTarget ? 'paper' : measured.indexOf(one),
      marker: TIMELINE_MARKERS[measured.indexOf(one) % TIMELINE_MARKERS.length] ?? 'circle',
      line: one.isTarget ? 'dashed' : 'solid',
      markEvery: 0,
      marks: one.points.map(timelineMark),
    })),
  };
}

export const TIMELINE_MARKERS: readonly Marker[] = ['circle', 'rect', 'triangle', 'rectRot'];

export function timelineMark({ seconds, value }: TimelinePoint): ChartMark {
  const words = value === null ? [] : [`${formatDigits(value)} at ${formatDigits(seconds)} s`];
  return { x: seconds, y: value, words };
}
